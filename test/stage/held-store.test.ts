import { expect, it } from 'vitest';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { describeObjectStore } from '../contracts/object-store.ts';
import { openHeldStore } from './held-store.ts';

describeObjectStore('a store that a process holds', () => openHeldStore(Date.now), { changesAll: true });

it('a copy begins with the same versions, and from there on each store is its own', async () => {
  const [kept, changed] = ['kept' as ObjectKey, 'changed' as ObjectKey];
  const first = openHeldStore(() => 1);
  for (const key of [kept, changed]) await first.put(key, Uint8Array.of(1), { mode: 'create' });
  const copy = first.copy(() => 2);
  const before = await first.head(changed);
  expect(await copy.head(changed)).toEqual({ ...before, servedAt: 2 });
  await copy.put(changed, Uint8Array.of(2, 2), { mode: 'overwrite' });
  await copy.delete([{ key: kept }]);
  expect(await first.head(changed)).toEqual(before);
  expect(await first.get(kept)).toMatchObject({ body: Uint8Array.of(1) });
  expect(await copy.head(kept)).toBeUndefined();
});
