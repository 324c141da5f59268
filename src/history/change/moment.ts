import { MemoryError } from '../../errors.ts';

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/;
const MINUTE_MS = 60_000;

/**
 * Reads a moment of the past, a `Date` or ISO 8601 with its distance from UTC, as milliseconds since the epoch.
 * Fractions of a millisecond are cut off.
 *
 * @throws MemoryError `invalid_command` for another text or type, for a day that no calendar has, and for the future.
 */
export function momentOf(time: unknown, now: number): number {
  const moment = time instanceof Date ? time.getTime() : typeof time === 'string' ? parsed(time) : Number.NaN;
  if (Number.isNaN(moment)) {
    throw refused(
      'The time must be ISO 8601 with Z or its distance from UTC, such as 2026-11-17T09:30:00Z or 2026-11-17T10:30+01:00.',
    );
  }
  if (moment > now) throw refused('The time lies in the future: give one that has passed.');
  return moment;
}

function parsed(text: string): number {
  const parts = ISO.exec(text);
  if (parts === null) return Number.NaN;
  const [, year, month, day, hour, minute, second = '00', fraction = '', sign, hours, minutes] = parts;
  const asUtc = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const moment = new Date(asUtc);
  // An impossible day, such as 30 February, comes out as another day or as none.
  if (Number.isNaN(moment.getTime()) || moment.toISOString() !== asUtc) return Number.NaN;
  const distance = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  return moment.getTime() - (sign === '-' ? -distance : distance);
}

function refused(message: string): MemoryError {
  return new MemoryError('invalid_command', message);
}
