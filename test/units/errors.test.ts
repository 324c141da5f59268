import { describe, expect, it } from 'vitest';
import { hasCode, hasReason, isDamaged, MemoryError } from '../../src/errors.ts';

const error = new MemoryError('integrity', 'refused', { details: { reason: 'unknown_key' } });

describe('hasCode', () => {
  it('knows the codes of memory errors and of nothing else', () => {
    expect(hasCode(error, 'integrity')).toBe(true);
    expect(hasCode(error, 'unavailable', 'integrity')).toBe(true);
    expect(hasCode(error, 'unavailable')).toBe(false);
    expect(hasCode(error)).toBe(false);
    expect(hasCode(Object.assign(new Error('other'), { code: 'integrity' }), 'integrity')).toBe(false);
    expect(hasCode(undefined, 'integrity')).toBe(false);
  });
});

describe('isDamaged', () => {
  it('is true of what is not what was sealed there, or is too large, and not of what the library or the store lacks', () => {
    expect([error, new MemoryError('limit_exceeded', 'too large')].map(isDamaged)).toEqual([true, true]);
    expect(isDamaged(new MemoryError('unsupported_format', 'of a later version'))).toBe(false);
    expect(isDamaged(new MemoryError('unavailable', 'no answer'))).toBe(false);
    expect(isDamaged(Object.assign(new Error('other'), { code: 'integrity' }))).toBe(false);
  });
});

describe('hasReason', () => {
  it('knows the reason of memory errors and of nothing else', () => {
    expect(hasReason(error, 'unknown_key')).toBe(true);
    expect(hasReason(error, 'root')).toBe(false);
    expect(hasReason(new MemoryError('integrity', 'refused'), 'unknown_key')).toBe(false);
    expect(hasReason({ details: { reason: 'unknown_key' } }, 'unknown_key')).toBe(false);
  });
});
