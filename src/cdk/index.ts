export type { BundledFunction } from './bundled-function.ts';
export type { Queues } from './queues.ts';
export { SealedMemory, type SealedMemoryProps } from './sealed-memory.ts';
export type { WorkerSettings } from './worker-settings.ts';
