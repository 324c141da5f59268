import { describe, expect, it } from 'vitest';
import { createConsoleLogger } from '../../../src/open/console-logger.ts';

describe('createConsoleLogger', () => {
  it('tells each code once a minute, and what the model may read never', () => {
    const lines: string[] = [];
    let now = 1_000;
    const logger = createConsoleLogger({ write: (line) => lines.push(line), monotonic: () => now });
    const fail = (code: string) => logger.error('a memory command failed', { code, reason: `${code}: act.` });
    fail('unavailable');
    fail('unavailable');
    fail('access_denied');
    logger.warn('objects were passed over', { foreign: 3 });
    logger.warn('objects were passed over', { foreign: 4 });
    logger.debug('a memory command was refused', { code: 'not_found' });
    logger.info('said in passing');
    expect(lines).toEqual([
      'sealed-memory: a memory command failed (unavailable): unavailable: act.',
      'sealed-memory: a memory command failed (access_denied): access_denied: act.',
      'sealed-memory: objects were passed over',
    ]);
    now += 59_999;
    fail('unavailable');
    expect(lines).toHaveLength(3);
    now += 1;
    fail('unavailable');
    expect(lines).toHaveLength(4);
  });

  it('tells of the operator’s key although a key of a tenant’s has just failed with the same code', () => {
    const lines: string[] = [];
    const logger = createConsoleLogger({ write: (line) => lines.push(line), monotonic: () => 0 });
    const fields = { code: 'key_unavailable', reason: 'act.' };
    for (const held of [{ keyHolder: 'tenant' }, {}, { keyHolder: 'tenant' }, {}]) {
      logger.error('a memory command failed', { ...fields, ...held });
    }
    expect(lines).toHaveLength(2);
  });
});
