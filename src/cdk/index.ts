export type { BundledFunction, Network } from './bundled-function.ts';
export type { Queues } from './queues.ts';
export { SealedMemory } from './sealed-memory.ts';
export type { SealedMemoryProps } from './sealed-memory-props.ts';
export type { WorkerSettings } from './worker-settings.ts';
