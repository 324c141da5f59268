import { describe, expect, it } from 'vitest';
import { hasCode, hasReason, MemoryError } from '../src/errors.ts';

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

describe('hasReason', () => {
  it('knows the reason of memory errors and of nothing else', () => {
    expect(hasReason(error, 'unknown_key')).toBe(true);
    expect(hasReason(error, 'root')).toBe(false);
    expect(hasReason(new MemoryError('integrity', 'refused'), 'unknown_key')).toBe(false);
    expect(hasReason({ details: { reason: 'unknown_key' } }, 'unknown_key')).toBe(false);
  });
});
