import { expect, it } from 'vitest';
import { concat, lengthPrefixed, toBase64url } from '../../../../src/format/encoding.ts';
import { createNames } from '../../../../src/format/names.ts';
import { loadSodium } from '../../../../src/format/sodium.ts';
import { MAX_BOUND, NO_ID } from '../../../../src/format/wrap.ts';
import {
  boundOfRecord,
  decodeHistoryRecord,
  historyRecordId,
  idBytes,
  idOf,
  isHistoryName,
  isRecordOf,
  pathHashOfRecord,
} from '../../../../src/history/save/history-record.ts';
import { encodeText } from '../../../../src/language/text.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
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
  expect(ids.map(boundOfRecord)).toEqual(bounds);
  for (const each of ids) {
    expect(pathHashOfRecord(each)).toBe(each.slice(0, 43));
    expect(isHistoryName(`/history/${each}` as never)).toBe(true);
    expect([isRecordOf(each, '_'.repeat(22)), isRecordOf(each, `a${'_'.repeat(21)}`)]).toEqual([true, false]);
  }
});

const [HASH, BOUND, ID] = ['h'.repeat(43), 'b'.repeat(11), 'i'.repeat(8)];

it.each([
  [`/history/${HASH}_${BOUND}_${ID}`, true],
  [`x/history/${HASH}_${BOUND}_${ID}`, false],
  [`/actors/${HASH}_${BOUND}_${ID}`, false],
  [`/history/${HASH}_${BOUND}_${ID}i`, false],
  [`/history/${HASH}_${BOUND}`, false],
])('%s is the name of a record of history: %j', (name, isOne) => {
  expect(isHistoryName(name as never)).toBe(isOne);
});

it('an id of zeros, and a text that is none, stand for no id', () => {
  const id = new Uint8Array(16).fill(7);
  expect(idBytes(idOf(id) ?? '')).toEqual(id);
  expect(idOf(NO_ID)).toBeUndefined();
  expect(idBytes('?')).toEqual(NO_ID);
});

it.each([
  ['another kind', { kind: 'other' }],
  ['a rename from nowhere', { from: undefined }],
  ['a rename to nowhere', { to: undefined }],
  ['no files', { files: undefined }],
])('a record is refused that has %s, and read without', (_, fields) => {
  const [from, to] = ['/memories/a', '/memories/b'];
  const moved = { kind: 'moved', at: 1, by: toBase64url(NO_ID), from, to, files: [] };
  const decode = (record: object, rest = '') =>
    decodeHistoryRecord(concat(lengthPrefixed(encodeFields({ ...record })), encodeText(rest)));
  expect(decode(moved)).toEqual({ ...moved, by: NO_ID });
  expect(decode({ ...moved, ...fields })).toBeUndefined();
  expect(decode(moved, 'x')).toBeUndefined();
});
