import { describe, expect, it } from 'vitest';
import { momentOf } from '../../../../src/history/change/moment.ts';

describe('a moment', () => {
  const now = Date.UTC(2026, 10, 22);
  it.each([
    ['2026-11-17T09:30:00Z', '2026-11-17T09:30:00.000Z'],
    ['2026-11-17T09:30Z', '2026-11-17T09:30:00.000Z'],
    ['2026-11-17T09:30:00.1239+01:00', '2026-11-17T08:30:00.123Z'],
    ['2026-11-17T09:30:00-05:30', '2026-11-17T15:00:00.000Z'],
    ['2024-02-29T00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2026-11-17T09:30:00.123456789Z', '2026-11-17T09:30:00.123Z'],
    ['2026-11-17T09:30:00.1+19:59', '2026-11-16T13:31:00.100Z'],
    ['2026-11-17T09:30:00+23:00', '2026-11-16T10:30:00.000Z'],
    ['2026-11-22T00:00:00Z', '2026-11-22T00:00:00.000Z'],
  ])('%s is %s', (text, moment) => {
    expect(new Date(momentOf(text, now)).toISOString()).toBe(moment);
    expect(momentOf(new Date(moment), now)).toBe(Date.parse(moment));
  });

  it.each([
    '2026-11-17',
    '2026-11-17T09:30:00',
    '2026-11-17 09:30:00Z',
    '2026-11-17T24:00:00Z',
    '2026-11-17T09:60:00Z',
    '2026-02-29T00:00:00Z',
    '2026-11-17T09:30:00+24:00',
    '2026-11-17T09:30:00+01:60',
    '2026-11-17T09:30:00.Z',
    '2026-11-17T09:30:00.1234567890Z',
    'x2026-11-17T09:30:00Z',
    '2026-11-17T09:30:00Zx',
    '2026-11-22T00:00:00.001Z',
    'yesterday',
    '',
    1_000,
    new Date(Number.NaN),
    undefined,
  ])('is never %j', (time) => {
    expect(() => momentOf(time, now)).toThrow(expect.objectContaining({ code: 'invalid_command' }));
  });
});
