export type { ExpiryOptions, ExpiryReport, TenantExpiry } from './admin/expire.ts';
export type { KeyStatus, KeyVersion } from './admin/key-status.ts';
export type { KeyVersionUse, MigrationProgress, MigrationReport } from './admin/migrate.ts';
export type { RestoreReport, RestoreRequest } from './admin/restore.ts';
export type { RewrapOptions, Rewrapping, RotateOptions, Rotation } from './admin/rotate.ts';
export type { ShredOptions, ShredProgress, ShredReport } from './admin/shred.ts';
export type { Verification, VerifyOptions } from './admin/verify.ts';
export { MemoryError, type MemoryErrorCode, type MemoryErrorOptions, type RetryAdvice } from './errors.ts';
export type { RootKey } from './keys/root-key.ts';
export type { Logger } from './logger.ts';
export { type Environment, optionsFromEnvironment } from './open/environment.ts';
export { type AdminMigrateOptions, openAdmin, type TenantAdmin } from './open/open-admin.ts';
export { openMemory } from './open/open-memory.ts';
export type { MemoryOptions } from './open/options.ts';
export { createMemoryPool, type MemoryPool, type PoolOpenOptions, type PoolOptions } from './open/pool.ts';
export type { RootKeyInput } from './open/root-keys.ts';
export type { AwsCredentials, S3Options } from './open/store.ts';
export type { ObjectStore } from './store/port.ts';
export type {
  ExecuteOptions,
  Memory,
  MemoryFiles,
  MemoryResult,
  MemoryToolProps,
  ToolErrorClass,
} from './tool/memory-tool.ts';
export type { Finding } from './tree/findings.ts';
export type { Call, Progress } from './tree/session.ts';
