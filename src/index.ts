export { MemoryError, type MemoryErrorCode, type RetryAdvice } from './errors.ts';
export type { RootKey } from './keys/root-key.ts';
export type { Logger } from './logger.ts';
export type { MemoryOptions, RootKeyInput } from './memory-options.ts';
export { createMemoryPool, type MemoryPool, type PoolOpenOptions } from './memory-pool.ts';
export type { ObjectStore } from './objects/object-store.ts';
export { openMemory } from './open-memory.ts';
export type { ExecuteOptions, Memory, MemoryResult } from './tool/memory-tool.ts';
