import { randomBytes } from 'node:crypto';
import { createHarness } from '../../../src/cli/serve/harness.ts';
import { openTenant } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import type { MemoryResult } from '../../../src/tool/memory-tool.ts';
import type { Dump, OpenDriver, Outcome } from './driver.ts';

export type StoreSettings = Pick<MemoryOptions, 'store' | 's3' | 'credentials' | 'history' | 'policy'>;

/** Drives `openMemory(…).execute`. */
export function libraryDriver(settings: () => StoreSettings): OpenDriver {
  const rootKey = new Uint8Array(randomBytes(32));
  return async (options = {}) => {
    const { tenant = freshTenant(), maxFileBytes, ...others } = options;
    const { parts, close } = await openTenant({
      ...settings(),
      ...others,
      rootKey,
      tenant,
      limits: { fileBytes: maxFileBytes },
    });
    const memory = parts.openMemory(close);
    const harness = createHarness(parts.tree);
    const run = async (input: unknown): Promise<Outcome> => outcomeOf(await memory.execute(input));
    return {
      run,
      runAll: (inputs) => Promise.all(inputs.map(run)),
      async put(path, bytes) {
        await harness({ harness: 'put', path, base64: Buffer.from(bytes).toString('base64') });
      },
      async dump() {
        const answer = await harness({ harness: 'dump' });
        if (!answer.ok) throw new Error(answer.content);
        return answer.files as Dump;
      },
      async reset() {
        await harness({ harness: 'reset' });
      },
      close: () => memory.close(),
    };
  };
}

export function freshTenant(): string {
  return `t-${randomBytes(8).toString('hex')}`;
}

function outcomeOf(result: MemoryResult): Outcome {
  return result.isError
    ? { ok: false, content: result.content, code: result.error.code }
    : { ok: true, content: result.content };
}
