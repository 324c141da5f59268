import { expect, it } from 'vitest';
import { createNames } from '../../../../src/format/names.ts';
import { loadSodium } from '../../../../src/format/sodium.ts';
import { MAX_BOUND } from '../../../../src/format/wrap.ts';
import { historyRecordId } from '../../../../src/history/save/history-record.ts';
import { at } from '../../../stage/test-tree.ts';

await loadSodium();

it('a record of history has an id of 64 characters, which sorts by the bound among those of its path', () => {
  const keyring = {
    names: createNames({ mode: 'encrypted', nameKey: new Uint8Array(32).fill(7) }),
  } as never;
  const bounds = [0n, 1n, 63n, 64n, 65_535n, 65_536n, 1_700_000_000_000n << 16n, MAX_BOUND];
  const ids = bounds.map((bound) =>
    historyRecordId({ keyring }, { path: at('/memories/a'), bound, id: new Uint8Array(16).fill(255) }),
  );
  for (const each of ids) expect(each).toMatch(/^[A-Za-z0-9_-]{43}_[A-Za-z0-9_-]{11}__{8}$/);
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids.map((each) => each.slice(0, 43))).size).toBe(1);
  const other = historyRecordId(
    { keyring },
    { path: at('/memories/b'), bound: 0n, id: new Uint8Array(16).fill(255) },
  );
  expect(other.slice(0, 43)).not.toBe(ids[0]?.slice(0, 43));
});
