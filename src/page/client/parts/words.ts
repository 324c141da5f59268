import { formatSize } from '../../../language/listing.ts';
import { DAY_MS, isoOf } from '../../../time.ts';
import type { Requests } from '../../protocol.ts';

export function sizeWords(bytes: number): string {
  return formatSize(bytes)
    .replace(/[KMG]$/, '$&B')
    .replace(/(?=[KMG]?B$)/, ' ');
}

const STEPS: readonly (readonly [ms: number, unit: string])[] = [
  [DAY_MS * 365, 'y'],
  [DAY_MS, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
];

/** Says how long ago it was, in the largest unit that fits. */
export function ageWords(modified: number, now: number): string {
  const age = Math.max(0, now - modified);
  const [ms, unit] = STEPS.find(([step]) => age >= step) ?? [1_000, 's'];
  const count = Math.floor(age / ms);
  return unit === 's' && count < 5 ? 'now' : `${count} ${unit}`;
}

/** Says for a sentence how long ago a moment was. */
export function agoWords(moment: number, now: number): string {
  if (moment > now) return 'in the future';
  const age = ageWords(moment, now);
  return age === 'now' ? age : `${age} ago`;
}

/** Counts the days in UTC until a moment. */
export function daysUntil(moment: number): number {
  return Math.floor(moment / DAY_MS);
}

/** Days by how many days ago they were. */
const NEAR_DAYS = ['today', 'yesterday'];

/** Says when it was: `3 min ago`, `today 09:30 UTC`, `yesterday 14:02 UTC`, and the whole time before that. */
export function momentWords(moment: number, now: number): string {
  if (now - moment < 3_600_000) return agoWords(moment, now);
  const age = daysUntil(now) - daysUntil(moment);
  const [date = '', time = '', zone = ''] = timeWords(moment).split(' ');
  return `${NEAR_DAYS[age] ?? date} ${time.slice(0, 5)} ${zone}`;
}

let wholeDays: Intl.DateTimeFormat | undefined;

/** Says the day of a moment in UTC: `Today, Tuesday 17 November 2026`. */
export function dayWords(moment: number, now: number): string {
  const age = daysUntil(now) - daysUntil(moment);
  wholeDays ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' });
  const day = wholeDays.format(moment).replace(',', '');
  return age === 0 ? `Today, ${day}` : age === 1 ? `Yesterday, ${day}` : day;
}

export function timeWords(modified: number): string {
  return isoOf(modified)
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

/**
 * The moment that a field for date and time holds, read as UTC, as every time on the page is; undefined where it is
 * empty.
 */
export function momentIn(field: string): Date | undefined {
  const moment = new Date(`${field}Z`);
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}

/** `1 file`, `2 files`. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

/** `3 GET, 1 LIST`; `no request` for none. */
export function requestWords(requests: Requests): string {
  const parts = Object.entries(requests).filter(([, count]) => count > 0);
  return parts.length === 0
    ? 'no request'
    : parts.map(([kind, count]) => `${count.toLocaleString('en')} ${kind.toUpperCase()}`).join(', ');
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}
