// Emitted as dist/index.cjs: what `require('sealed-memory')` gives.
import type * as library from './index.ts' with { 'resolution-mode': 'import' };

export type * from './index.ts' with { 'resolution-mode': 'import' };
export type MemoryError = library.MemoryError;
export declare const MemoryError: typeof library.MemoryError;
export declare const openMemory: typeof library.openMemory;
export declare const openAdmin: typeof library.openAdmin;
export declare const optionsFromEnvironment: typeof library.optionsFromEnvironment;
export declare const createMemoryPool: typeof library.createMemoryPool;

const esm = require('./index.js') as typeof library;

/** The copy of the SDK that a host loads which is CommonJS itself: its tool runner knows this class and no other. */
function ownToolError(): Pick<library.MemoryOptions, 'toolError'> {
  try {
    const { ToolError: toolError } =
      require('@anthropic-ai/sdk/lib/tools/ToolError') as typeof import('@anthropic-ai/sdk/lib/tools/ToolError');
    return { toolError };
  } catch {
    return {};
  }
}

exports.MemoryError = esm.MemoryError;
exports.openAdmin = esm.openAdmin;
exports.optionsFromEnvironment = esm.optionsFromEnvironment;
exports.openMemory = (options: library.MemoryOptions) => esm.openMemory({ ...ownToolError(), ...options });
exports.createMemoryPool = (options: library.PoolOptions) =>
  esm.createMemoryPool({ ...ownToolError(), ...options });
