import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BOUNDS, checkBounds, checkMemory } from '../../../src/cdk/bounds.ts';
import { optionsFromEnvironment } from '../../../src/open/options/environment.ts';
import { DEFAULT_CACHE_BYTES } from '../../../src/tree/version-cache.ts';
import { readWorkerConfig } from '../../../src/worker/settings.ts';

const WORKER = {
  SEALED_MEMORY_WORKER_QUEUE_URL: 'https://sqs.invalid/turns',
  SEALED_MEMORY_WORKER_MODEL: 'a-model',
};

describe('the bounds of a deployment', () => {
  it.each(Object.entries(BOUNDS))('hold for %s, at both ends', (name, { least, most }) => {
    expect(() => checkBounds({ [name]: least })).not.toThrow();
    expect(() => checkBounds({ [name]: most })).not.toThrow();
    for (const value of [least - 1, most + 1, least + 0.5, Number.NaN]) {
      expect(() => checkBounds({ [name]: value })).toThrow(`${name} must be a whole number from`);
    }
  });

  it.each([
    ['maxTokens', 'SEALED_MEMORY_WORKER_MAX_TOKENS', readWorkerConfig],
    ['tokensPerDay', 'SEALED_MEMORY_WORKER_TOKENS_PER_DAY', readWorkerConfig],
    ['expireAfterDays', 'SEALED_MEMORY_EXPIRE_AFTER_DAYS', optionsFromEnvironment],
  ] as const)('of %s are those of the functions', (name, variable, read) => {
    const { least, most } = BOUNDS[name];
    const readOf = (value: number) => () => read({ ...WORKER, [variable]: String(value) });
    for (const value of [least, most]) expect(readOf(value)).not.toThrow();
    for (const value of [least - 1, most + 1]) expect(readOf(value)).toThrow(variable);
  });

  it('leave room for the warm tenants that docs/performance.md tells of, and for a larger cache', () => {
    const [told] =
      /took (\d+) MiB, with the default cache of 16 MiB/
        .exec(readFileSync('docs/performance.md', 'utf8'))
        ?.slice(1) ?? [];
    const least = Number(told);
    expect(BOUNDS.memorySize.least).toBe(least);
    for (const [memorySize, cacheMiB] of [
      [least, undefined],
      [least, 0],
      [least, 16],
      [least + 1, 17],
      [least + 240, 256],
    ] as const) {
      const cacheBytes = cacheMiB === undefined ? undefined : cacheMiB * 1_048_576;
      expect(() => checkMemory({ memorySize, cacheBytes })).not.toThrow();
      expect(() => checkMemory({ memorySize: memorySize - 1, cacheBytes })).toThrow(
        `memorySize must be at least ${memorySize} MiB`,
      );
    }
    expect(DEFAULT_CACHE_BYTES).toBe(16 * 1_048_576);
  });

  it('leave a turn time to be answered, and the queue to hide its message', () => {
    // Ten seconds are for its end, and a message is hidden six times as long, twelve hours at most.
    expect(BOUNDS.timeoutSeconds.least).toBeGreaterThan(2 * 10);
    expect(6 * BOUNDS.timeoutSeconds.most).toBeLessThanOrEqual(43_200);
  });
});
