import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  agoWords,
  dayWords,
  momentIn,
  momentWords,
  timeWords,
} from '../../../src/page/client/parts/words.ts';

afterEach(() => vi.unstubAllEnvs());

describe('a moment that is typed into the page', () => {
  it.each(['UTC', 'Europe/Berlin', 'America/Los_Angeles', 'Asia/Kolkata'])(
    'is read as UTC, as it is shown, in %s',
    (zone) => {
      vi.stubEnv('TZ', zone);
      for (const [field, moment] of [
        ['2026-11-17T09:30', '2026-11-17T09:30:00.000Z'],
        ['2026-11-17T09:30:15', '2026-11-17T09:30:15.000Z'],
        ['2026-11-17T09:30:15.123', '2026-11-17T09:30:15.123Z'],
        // An hour that is skipped, and one that comes twice, in Berlin.
        ['2026-03-29T02:30', '2026-03-29T02:30:00.000Z'],
        ['2026-10-25T02:30', '2026-10-25T02:30:00.000Z'],
      ] as const) {
        const read = momentIn(field);
        expect(read?.toISOString()).toBe(moment);
        expect(timeWords(read?.getTime() ?? 0)).toBe(`${moment.slice(0, 19).replace('T', ' ')} UTC`);
      }
    },
  );

  it('is none where the field is empty', () => {
    expect(momentIn('')).toBeUndefined();
    expect(momentIn('2026-02-30T')).toBeUndefined();
  });

  it.each(['UTC', 'America/Los_Angeles', 'Asia/Kolkata'])(
    'is told as people say it, in UTC, in %s',
    (zone) => {
      vi.stubEnv('TZ', zone);
      const now = Date.parse('2026-11-17T09:30:00Z');
      const said = {
        '2026-11-17T09:30:01Z': 'in the future',
        '2026-11-17T09:29:58Z': 'now',
        '2026-11-17T09:29:48Z': '12 s ago',
        '2026-11-17T08:30:01Z': '59 min ago',
        '2026-11-17T08:30:00Z': 'today 08:30 UTC',
        '2026-11-17T00:00:00Z': 'today 00:00 UTC',
        '2026-11-16T23:59:59Z': 'yesterday 23:59 UTC',
        '2026-11-16T00:00:00Z': 'yesterday 00:00 UTC',
        '2026-11-15T23:59:59Z': '2026-11-15 23:59 UTC',
      };
      for (const [moment, words] of Object.entries(said))
        expect(momentWords(Date.parse(moment), now)).toBe(words);
      const days = {
        '2026-11-17T00:00:00Z': 'Today, Tuesday 17 November 2026',
        '2026-11-16T23:59:59Z': 'Yesterday, Monday 16 November 2026',
        '2026-11-15T23:59:59Z': 'Sunday 15 November 2026',
      };
      for (const [moment, words] of Object.entries(days))
        expect(dayWords(Date.parse(moment), now)).toBe(words);
      const midnight = Date.parse('2026-11-17T00:10:00Z');
      expect(momentWords(midnight - 20 * 60_000, midnight)).toBe('20 min ago');
    },
  );

  it('is told by its age', () => {
    const now = Date.parse('2026-11-17T09:30:00Z');
    const told = [now, now - 3_600_000, now + 1].map((moment) => agoWords(moment, now));
    expect(told).toEqual(['now', '1 h ago', 'in the future']);
  });
});
