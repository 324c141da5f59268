import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { DeleteFailure, DeleteOptions, ETag } from '../../../src/store/port.ts';
import { deleteObjects } from '../../../src/tree/confirmed-put.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { createVersionCaches } from '../../../src/tree/version-cache.ts';

const TARGETS = ['gone', 'missing', 'changed', 'failed'].map((key) => ({ key: key as ObjectKey }));
const FAILURES: readonly DeleteFailure[] = [
  { key: 'missing' as ObjectKey, conflict: 'missing' },
  { key: 'changed' as ObjectKey, conflict: 'changed' },
  { key: 'failed' as ObjectKey, error: new MemoryError('access_denied', 'no') },
];

describe('deleting objects', () => {
  function start(answer: () => Promise<readonly DeleteFailure[]>) {
    const events: unknown[] = [];
    const store = {
      delete: (_: unknown, options?: DeleteOptions) => {
        events.push(['sent', options]);
        return answer();
      },
    };
    const sightings = {
      begin: () => events.push('begun'),
      sawNothing: ({ key, since }: { key: string; since: number }) => events.push(['gone', key, since]),
    };
    const cache = createVersionCaches(10_000)();
    for (const { key } of TARGETS) cache.hold(key, { etag: '1' as ETag, body: new Uint8Array(1) });
    const held = () => TARGETS.filter(({ key }) => cache.find(key) !== undefined);
    return { events, held, work: { tenant: { store, sightings, cache }, call: {} } as unknown as Work };
  }

  it('tells the sightings what is certainly gone, as of the time before it was sent', async () => {
    const { events, work } = start(async () => FAILURES);
    const options = { signal: new AbortController().signal };
    expect(await deleteObjects(work, TARGETS, options)).toBe(FAILURES);
    expect(events).toEqual(['begun', ['sent', options], ['gone', 'gone', 1], ['gone', 'missing', 1]]);
  });

  it('tells the sightings nothing when no answer came', async () => {
    const { events, held, work } = start(() =>
      Promise.reject(new MemoryError('outcome_unknown', 'no answer')),
    );
    await expect(deleteObjects(work, TARGETS)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(held()).toEqual([]);
    expect(events).toEqual(['begun', ['sent', undefined]]);
  });
});
