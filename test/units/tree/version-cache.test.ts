import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ETag } from '../../../src/store/port.ts';
import { createVersionCaches, type HeldVersion } from '../../../src/tree/version-cache.ts';
import { at } from '../../stage/test-tree.ts';

const KEYS = ['a', 'b', 'c'].map((key) => key as ObjectKey) as [ObjectKey, ObjectKey, ObjectKey];
const [A, B, C] = KEYS;

const version = (etag: string, length = 1_000): HeldVersion => ({
  etag: etag as ETag,
  body: new Uint8Array(length).fill(7),
});

describe('the cache of versions', () => {
  it('gives what was held last, in bytes of the caller’s own', () => {
    const cache = createVersionCaches(10_000)();
    const given = version('1');
    cache.hold(A, given);
    given.body.fill(0);
    cache.find(A)?.body.fill(1);
    expect(cache.find(A)).toEqual(version('1'));
    cache.hold(A, version('2'));
    expect(cache.find(A)).toEqual(version('2'));
    cache.drop(A);
    expect(cache.find(A)).toBeUndefined();
  });

  it('holds no more than its bytes, and lets go first what was used longest ago', () => {
    const open = createVersionCaches(3_000);
    const [one, other] = [open(), open()];
    one.hold(A, version('a'));
    other.hold(B, version('b'));
    one.find(A);
    one.hold(C, version('c'));
    expect([one.find(A), other.find(B), one.find(C)].map((found) => found?.etag)).toEqual([
      'a',
      undefined,
      'c',
    ]);
    one.hold(A, version('large', 3_000));
    expect(one.find(A)).toBeUndefined();
    expect(one.find(C)?.etag).toBe('c');
  });

  it.each([
    ['one below its bytes', -1, ['large']],
    ['exactly its bytes', 0, ['large']],
    ['one above its bytes', 1, ['small']],
  ])('holds a version of %s, or what was there before', (_, more, held) => {
    const cache = createVersionCaches(3_000)();
    cache.hold(A, version('small', 1));
    // A session's name and a key take three bytes.
    cache.hold(B, version('large', 3_000 - 256 - 3 + more));
    expect([A, B].flatMap((key) => cache.find(key)?.etag ?? [])).toEqual(held);
  });

  it('shows no session what another one holds', () => {
    const open = createVersionCaches(10_000);
    const sessions = Array.from({ length: 12 }, () => open());
    sessions[1]?.hold(A, version('1'));
    expect(sessions.map((session) => session.find(A)?.etag).filter((etag) => etag !== undefined)).toEqual([
      '1',
    ]);
    sessions[1]?.close();
    sessions[11]?.hold(A, version('11'));
    expect(sessions[1]?.find(A)).toBeUndefined();
    expect(sessions[11]?.find(A)?.etag).toBe('11');
  });

  it('holds nothing after a close, and what others hold stays', () => {
    const open = createVersionCaches(10_000);
    const [one, other] = [open(), open()];
    one.hold(A, version('1'));
    other.hold(A, version('2'));
    one.close();
    one.hold(B, version('late'));
    expect([one.find(A), one.find(B), other.find(A)?.etag]).toEqual([undefined, undefined, '2']);
  });

  it.each(['drop', 'close', 'hold', 'eviction'] as const)('overwrites what it lets go: %s', (how) => {
    const cache = createVersionCaches(1_500)();
    const slices: Uint8Array[] = [];
    const held = version('1');
    const slice = held.body.slice.bind(held.body);
    held.body.slice = () => {
      slices.push(slice());
      return slices[0] as Uint8Array<ArrayBuffer>;
    };
    cache.hold(A, held);
    expect(slices[0]?.every((byte) => byte === 7)).toBe(true);
    if (how === 'drop') cache.drop(A);
    if (how === 'close') cache.close();
    if (how === 'hold') cache.hold(A, version('2'));
    if (how === 'eviction') cache.hold(B, version('2'));
    expect(slices[0]?.every((byte) => byte === 0)).toBe(true);
  });

  it('remembers directories until nothing is seen below them, for the session that saw them', () => {
    const open = createVersionCaches(10_000);
    const [one, other] = [open(), open()];
    const [d, e] = [at('/memories/d'), at('/memories/e')];
    for (const path of [d, e]) one.noteDirectory(path, 'files');
    one.noteDirectory(e, 'nothing');
    expect([one.isDirectory(d), one.isDirectory(e), other.isDirectory(d)]).toEqual([true, false, false]);
    one.close();
    one.noteDirectory(e, 'files');
    expect([one.isDirectory(d), one.isDirectory(e)]).toEqual([false, false]);
  });

  it('knows when each held version was confirmed last, until another one is held', () => {
    const cache = createVersionCaches(10_000)();
    const [first, second] = [
      { wall: 1, steady: 1 },
      { wall: 2, steady: 2 },
    ];
    cache.confirm(A, first);
    for (const key of [A, B]) cache.hold(key, version('1'));
    expect([A, B, C].map((key) => cache.confirmedAt(key))).toEqual([undefined, undefined, undefined]);
    cache.confirm(A, first);
    cache.confirm(B, second);
    expect([A, B].map((key) => cache.confirmedAt(key))).toEqual([first, second]);
    cache.confirm(A, second);
    cache.hold(B, version('2'));
    expect([A, B].map((key) => cache.confirmedAt(key))).toEqual([second, undefined]);
  });

  it('of no bytes holds nothing', () => {
    const cache = createVersionCaches(0)();
    cache.hold(A, version('1', 0));
    cache.noteDirectory(at('/memories/d'), 'files');
    expect([cache.find(A), cache.isDirectory(at('/memories/d'))]).toEqual([undefined, false]);
    cache.confirm(A, { wall: 1, steady: 1 });
    expect(cache.confirmedAt(A)).toBeUndefined();
    cache.drop(A);
    cache.close();
  });
});
