import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ListOptions } from '../../../../src/store/port.ts';
import { keyBytes, listingStart } from '../../../../src/store/sqlite/listing.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { closedBehindEach } from '../../../stage/closed-behind.ts';

describe('a listing begins', () => {
  it.each([
    ['with the prefix', 'a/', undefined, 'a/'],
    ['with the least key where all are listed', '', undefined, '\0'],
    ['with the least key behind none', '', '', '\0'],
    ['behind the key that was listed last', 'a/', 'a/b', 'a/b\0'],
    ['behind that key where it is the prefix', 'a', 'a', 'a\0'],
    ['with the prefix where that key comes before it', 'b', 'a/z', 'b'],
    ['with the prefix where that key is its beginning', 'a/b', 'a/', 'a/b'],
    ['behind that key where it comes after all of the prefix', 'a', 'b', 'b\0'],
    ['in the order of bytes, which is not that of UTF-16', '\u{ff61}', '\u{1f600}', '\u{1f600}\0'],
  ])('%s', (_, prefix, after, first) => {
    expect(listingStart(prefix, after)).toEqual(keyBytes(first));
  });
});

describe('the pages of a listing', () => {
  const closed = closedBehindEach();
  const KEYS = ['Z', 'a', 'a-', 'a/', 'a/b', 'a/b/c', 'a/ÿ', 'a0', 'ab', 'b'];

  async function pagesOf(options: ListOptions): Promise<readonly (readonly string[])[]> {
    const store = closed(openSqliteObjectStore({ path: ':memory:' }));
    for (const key of KEYS.toReversed())
      await store.put(key as ObjectKey, new Uint8Array(1), { mode: 'create' });
    const pages: string[][] = [];
    for await (const { objects } of store.list(options)) pages.push(objects.map(({ key }) => key));
    return pages;
  }

  it.each<readonly [string, ListOptions, readonly (readonly string[])[]]>([
    ['hold all keys in their order', { prefix: '' }, [KEYS]],
    ['hold the keys of the prefix alone', { prefix: 'a/' }, [['a/', 'a/b', 'a/b/c', 'a/ÿ']]],
    ['hold so many keys at most', { prefix: 'a/', maxKeys: 3 }, [['a/', 'a/b', 'a/b/c'], ['a/ÿ']]],
    ['end with the last key, be the page full', { prefix: 'a/', maxKeys: 4 }, [KEYS.slice(3, 7)]],
    ['hold a key each', { prefix: 'a/b', maxKeys: 1 }, [['a/b'], ['a/b/c']]],
    [
      'go on behind a key',
      { prefix: 'a', startAfter: 'a/b', maxKeys: 2 },
      [
        ['a/b/c', 'a/ÿ'],
        ['a0', 'ab'],
      ],
    ],
    ['are one without keys where there are none', { prefix: 'c' }, [[]]],
  ])('%s', async (_, options, pages) => {
    expect(await pagesOf(options)).toEqual(pages);
  });
});
