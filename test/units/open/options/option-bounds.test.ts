import { describe, expect, it } from 'vitest';
import type { MemoryOptions } from '../../../../src/open/options/options.ts';
import { readSettings } from '../../../../src/open/options/settings.ts';

const rootKey = new Uint8Array(32).fill(1);

/** The options with that number under that dotted name. */
function having(option: string, value: number): Partial<MemoryOptions> {
  const [group = '', name] = option.split('.');
  return { store: 'memory:', rootKey, [group]: name === undefined ? value : { [name]: value } };
}

describe('a number among the options', () => {
  it.each([
    ['concurrency', 1, 256],
    ['limits.fileBytes', 1, 1_073_741_823],
    ['limits.files', 1, 100_000_000],
    ['limits.tenantBytes', 1, 100_000_000_000_000],
    ['cache.bytes', 0, 1_073_741_824],
    ['keyring.ttlMs', 0, 900_000],
    ['keyring.minimumEpoch', 1, 4_294_967_295],
    ['expireAfterDays', 1, 3_650],
  ])('%s is taken from %i to %i, and not beyond', (option, least, most) => {
    for (const value of [least, most]) expect(() => readSettings(having(option, value))).not.toThrow();
    for (const value of [least - 1, most + 1, least + 0.5, Number.NaN]) {
      expect(() => readSettings(having(option, value))).toThrow(
        expect.objectContaining({ code: 'misconfigured', message: expect.stringContaining(option) }),
      );
    }
  });

  it('stands for what is not given', () => {
    expect(readSettings({ store: 'memory:', rootKey })).toMatchObject({
      concurrency: 32,
      limits: { fileBytes: 1_048_576 },
      cache: { bytes: 16_777_216 },
      keyring: {},
      expireAfterDays: undefined,
      wording: 'doc',
      onExists: 'error',
      lazy: false,
      readOnly: false,
      eventPaths: false,
    });
  });
});
