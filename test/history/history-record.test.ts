import { describe, expect, it } from 'vitest';
import { concat, lengthPrefixed } from '../../src/format/encoding.ts';
import { createNames } from '../../src/format/names.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { MAX_BOUND } from '../../src/format/wrap.ts';
import {
  decodeHistoryRecord,
  encodeHistoryRecord,
  type HistoryRecord,
  historyRecordId,
} from '../../src/history/history-record.ts';
import { at, bytes } from '../support/test-tree.ts';

await loadSodium();

const id = (first: number): Uint8Array => new Uint8Array(16).fill(first);
const version = {
  ...{ path: at('/memories/a'), id: id(1), mtime: 1_700_000_000_000, bound: MAX_BOUND },
  ...{ previous: id(0), writer: id(2), size: 4 },
};
const noted = { at: 1_700_000_000_001, by: id(3) };
const RECORDS: readonly HistoryRecord[] = [
  { ...noted, kind: 'replaced', version, text: bytes('text') },
  { ...noted, kind: 'replaced', version: { ...version, size: 0 }, text: bytes('') },
  { ...noted, kind: 'replaced', for: 'delete', version, text: bytes('text') },
  { ...noted, kind: 'redacted', version },
  { ...noted, kind: 'deleted', files: [] },
  {
    ...noted,
    kind: 'moved',
    from: at('/memories/a'),
    to: at('/memories/b'),
    files: [[at('/memories/a'), id(1), MAX_BOUND]],
  },
];

describe('a record of history', () => {
  it.each(RECORDS)('comes back as it was written: $kind', (record) => {
    expect(decodeHistoryRecord(encodeHistoryRecord(record))).toEqual(record);
  });

  it('is read for nothing that it is not', () => {
    const content = encodeHistoryRecord(RECORDS[0] as HistoryRecord);
    const fields = JSON.parse(new TextDecoder().decode(content.subarray(4, -4))) as Record<string, unknown>;
    const changed = (changes: Record<string, unknown>, text = 'text'): Uint8Array =>
      concat(lengthPrefixed(bytes(JSON.stringify({ ...fields, ...changes }))), bytes(text));
    expect(decodeHistoryRecord(changed({}))).toBeDefined();
    expect(decodeHistoryRecord(changed({ at: 8.64e15, mtime: 2 ** 53 - 1, more: 1 }))).toBeDefined();
    for (const changes of [
      ...[{ kind: 'other' }, { kind: 'deleted' }, { at: -1 }, { at: '1' }, { by: '' }, { path: 'a' }],
      ...[{ path: 7 }, { id: 'AA' }, { mtime: 0.5 }, { bound: 1 }, { bound: '01' }, { bound: '-1' }],
      ...[{ bound: String(MAX_BOUND + 1n) }, { previous: null }, { writer: 1 }, { size: 3 }, { size: 5 }],
      ...[{ at: 8.64e15 + 1 }, { mtime: 2 ** 53 }, { at: 0.5 }, { for: 'edit' }, { for: null }],
    ]) {
      expect(decodeHistoryRecord(changed(changes)), JSON.stringify(changes)).toBeUndefined();
    }
    expect(decodeHistoryRecord(changed({ kind: 'redacted' }))).toBeUndefined();
    for (const files of [
      undefined,
      'x',
      [1],
      [[]],
      [['/memories/a']],
      [['/memories/a', fields['by']]],
      [['/memories/a', 'AA', '1']],
      [['/memories/a', fields['by'], 1]],
      [['/memories/a', fields['by'], '01']],
      [['/memories/a', fields['by'], '1', '1']],
      [['a', fields['by'], '1']],
    ]) {
      expect(
        decodeHistoryRecord(changed({ kind: 'deleted', files }, '')),
        JSON.stringify(files),
      ).toBeUndefined();
    }
    const moved = { kind: 'moved', files: [], from: '/memories/a' };
    expect(decodeHistoryRecord(changed(moved, ''))).toBeUndefined();
    expect(decodeHistoryRecord(changed({ ...moved, to: '/memories/b' }, 'text'))).toBeUndefined();
    const from = (path: string): Uint8Array =>
      changed({ ...moved, to: '/memories/b', files: [[path, fields['by'], '1']] }, '');
    expect(['/memories/a', '/memories/a/b'].map((path) => decodeHistoryRecord(from(path))?.kind)).toEqual([
      'moved',
      'moved',
    ]);
    for (const path of ['/memories/ab', '/memories/c', '/memories'])
      expect(decodeHistoryRecord(from(path)), path).toBeUndefined();
    for (let end = 0; end < content.length; end++) {
      expect(decodeHistoryRecord(content.subarray(0, end))).toBeUndefined();
    }
    expect(decodeHistoryRecord(Uint8Array.of(0xff, 0xff, 0xff, 0xff))).toBeUndefined();
  });

  it('has an id of 64 characters, which sorts by the bound among those of its path', () => {
    const keyring = {
      names: createNames({ mode: 'encrypted', nameKey: new Uint8Array(32).fill(7) }),
    } as never;
    const bounds = [0n, 1n, 63n, 64n, 65_535n, 65_536n, 1_700_000_000_000n << 16n, MAX_BOUND];
    const ids = bounds.map((bound) =>
      historyRecordId({ keyring }, { path: at('/memories/a'), bound, id: id(255) }),
    );
    for (const each of ids) expect(each).toMatch(/^[A-Za-z0-9_-]{43}_[A-Za-z0-9_-]{11}__{8}$/);
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids.map((each) => each.slice(0, 43))).size).toBe(1);
    const other = historyRecordId({ keyring }, { path: at('/memories/b'), bound: 0n, id: id(255) });
    expect(other.slice(0, 43)).not.toBe(ids[0]?.slice(0, 43));
  });
});
