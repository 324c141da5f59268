import { randomBytes } from 'node:crypto';
import { createHarness } from '../../../src/cli/serve/harness.ts';
import { openTenant } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import type { MemoryResult } from '../../../src/tool/memory-tool.ts';
import type { Dump, MemoryDriver, OpenDriver, Outcome } from './driver.ts';

export type StoreSettings = Pick<MemoryOptions, 'store' | 's3' | 'credentials' | 'history' | 'policy'> &
  Partial<Pick<MemoryOptions, 'rootKey'>>;

/** Drives `openMemory(…).execute`. */
export function libraryDriver(settings: () => StoreSettings): OpenDriver {
  const ownKey = new Uint8Array(randomBytes(32));
  return async (options = {}) => {
    const { tenant = freshTenant(), maxFileBytes, ...others } = options;
    const { rootKey = ownKey, ...store } = settings();
    const { parts, close } = await openTenant({
      ...store,
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

/** Memories of one tenant that share nothing but their store: each command goes to the next one of them. */
export function inTurn(...opens: readonly OpenDriver[]): OpenDriver {
  return async ({ tenant = freshTenant(), ...options } = {}) => {
    const drivers = await Promise.all(opens.map((open) => open({ ...options, tenant })));
    let asked = 0;
    const next = (): MemoryDriver => {
      const driver = drivers[asked++ % drivers.length];
      if (driver === undefined) throw new Error('there is no memory');
      return driver;
    };
    return {
      run: (input) => next().run(input),
      runAll: (inputs) => next().runAll(inputs),
      put: (path, bytes) => next().put(path, bytes),
      dump: () => next().dump(),
      reset: () => next().reset(),
      async close() {
        for (const driver of drivers) await driver.close();
      },
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
