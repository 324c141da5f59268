import { expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import {
  type DeleteFailure,
  isMissing,
  isResentConflict,
  isTooLate,
  knowsNoVersions,
  lateness,
  noVersions,
  resentConflict,
} from '../../../src/store/port.ts';

const key = 'data/file' as ObjectKey;

it.each<[string, DeleteFailure, boolean]>([
  ['that met nothing', { key, conflict: 'missing' }, true],
  ['that met another version', { key, conflict: 'changed' }, false],
  ['that failed', { key, error: new Error('no') }, false],
])('a delete %s found its object missing: %s', (_, failure, told) => {
  expect(isMissing(failure)).toBe(told);
});

it('a request is late once its bound has passed, and never without one', () => {
  expect(lateness(undefined)).toBeUndefined();
  expect(lateness({ isPast: () => false })).toBeUndefined();
  expect(lateness({ isPast: () => true })).toMatchObject({
    code: 'unavailable',
    details: { reason: 'too_late' },
  });
});

const late = lateness({ isPast: () => true });
const reason = (code: 'unavailable' | 'outcome_unknown' | 'misconfigured', word: string) =>
  new MemoryError(code, 'no', { details: { reason: word } });

it.each([
  ['a request that came too late', late, 'late'],
  ['a conflict of a request that was sent again', resentConflict(), 'resent'],
  ['a server without requests for versions', noVersions(new Error('why')), 'no versions'],
  ['an outage', new MemoryError('unavailable', 'no'), undefined],
  ['an unknown outcome', new MemoryError('outcome_unknown', 'no'), undefined],
  ['a wrong setting', new MemoryError('misconfigured', 'no'), undefined],
  ['another failure for the first reason', reason('misconfigured', 'too_late'), undefined],
  ['another failure for the second reason', reason('unavailable', 'resent'), undefined],
  ['another failure for the third reason', reason('outcome_unknown', 'no_versions'), undefined],
  ['what is no failure of a store', new Error('no'), undefined],
])('%s is told apart from the others', (_, error, kind) => {
  const told = {
    late: isTooLate(error),
    resent: isResentConflict(error),
    'no versions': knowsNoVersions(error),
  };
  expect(told).toEqual({ late: false, resent: false, 'no versions': false, ...(kind && { [kind]: true }) });
});

it('the failure of a server without requests for versions keeps its cause', () => {
  const cause = new Error('why');
  expect(noVersions(cause).cause).toBe(cause);
});
