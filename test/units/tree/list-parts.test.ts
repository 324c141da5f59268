import { describe, expect, it } from 'vitest';
import { BASE64URL_IN_BYTE_ORDER as ALPHABET } from '../../../src/format/encoding.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ETag, ListedObject, ListPage } from '../../../src/store/port.ts';
import { listParts } from '../../../src/tree/list-parts.ts';

/** The key whose names begin at that sixty-fourth of all. */
const keyAt = (digit: number, rest = '--'): string => `p/${ALPHABET.charAt(digit)}${rest}`;

const objectAt = (key: string): ListedObject => ({
  key: key as ObjectKey,
  etag: '"1"' as ETag,
  size: 1,
  lastModified: 0,
});

/** A page of so many objects, which reaches from the first key to the last. */
function pageOf(length: number, first: string, last: string): readonly ListedObject[] {
  return Array.from({ length }, (_, index) => objectAt(index === 0 ? first : last));
}

/** Lists behind a page, on a store with these pages behind each key; answers where parts began, and what they took. */
async function listing(
  page: readonly ListedObject[],
  pages: readonly (readonly string[])[] = [],
  most = 1e6,
) {
  const begins: string[] = [];
  const taken: [number, readonly string[]][] = [];
  let count = 0;
  await listParts({
    page,
    async *pagesAfter(key): AsyncGenerator<ListPage> {
      begins.push(key);
      for (const keys of pages) {
        const objects = keys.filter((each) => each > key).map(objectAt);
        if (objects.length > 0) yield { objects, servedAt: 0 };
      }
    },
    collector: {
      async take(part, objects) {
        count += objects.length;
        taken.push([part, objects.map(({ key }) => key)]);
      },
      full: () => count >= most,
    },
  });
  return { begins, taken };
}

describe('the parts of a listing', () => {
  it.each([
    ['half of all names in a page of 900: one part', 900, 0, 32, [32]],
    ['half of them in a page of 901: two parts', 901, 0, 32, [32, 48]],
    ['an eighth from the eighth on in a page of 900: six parts', 900, 8, 16, [16, 24, 32, 40, 48, 56]],
    ['an eighth from the middle on in a page of 300: one part', 300, 32, 40, [40]],
    ['an eighth from the middle on in a page of 301: two parts', 301, 32, 40, [40, 52]],
  ] as const)('begin where the reach of the first page says so, %s', async (_, length, from, to, digits) => {
    const { begins } = await listing(pageOf(length, keyAt(from), keyAt(to)));
    expect(begins).toEqual(digits.map((digit) => keyAt(digit)));
  });

  it('are 128 at most, each behind the one before', async () => {
    const { begins } = await listing(pageOf(2_000, 'p/----', 'p/0---'));
    expect(begins).toHaveLength(128);
    expect(begins).toEqual([...new Set(begins)].sort());
    expect(begins.every((key) => key.length <= 6 && key.startsWith('p/'))).toBe(true);
  });

  it.each([
    ['a page without objects', []],
    ['a page of one name', pageOf(1, keyAt(8), keyAt(8))],
    ['a page whose names are all the same', pageOf(1_000, keyAt(8), keyAt(8))],
    ['a first name with too few characters', pageOf(1_000, 'p/--', 'p/0---')],
    ['a last name with too few characters', pageOf(1_000, 'p/---', 'p/0-')],
    ['a first name with another character', pageOf(1_000, 'p/-.-', 'p/0--')],
    ['a last name with another character', pageOf(1_000, 'p/---', 'p/0~-')],
  ])('are one for %s', async (_, page) => {
    expect((await listing(page)).begins).toEqual([page.at(-1)?.key ?? '']);
  });

  it('each end with the key at which the next one begins', async () => {
    const [end, behind] = [keyAt(48), keyAt(48, '-0')];
    const pages = [
      [keyAt(33), keyAt(34)],
      [keyAt(47), end, behind],
      [keyAt(50), keyAt(60)],
    ];
    const { taken } = await listing(pageOf(901, keyAt(0), keyAt(32)), pages);
    const of = (part: number) => taken.filter(([each]) => each === part).map(([, keys]) => keys);
    expect(of(1)).toEqual([
      [keyAt(33), keyAt(34)],
      [keyAt(47), end],
    ]);
    expect(of(2)).toEqual([[behind], [keyAt(50), keyAt(60)]]);
  });

  it('ask for no page behind their end, nor once there is enough', async () => {
    const keys = [[keyAt(33)], [keyAt(34)], [keyAt(35)]];
    const { taken } = await listing(pageOf(900, keyAt(0), keyAt(32)), keys, 2);
    expect(taken).toEqual([
      [1, [keyAt(33)]],
      [1, [keyAt(34)]],
    ]);
    expect((await listing(pageOf(900, keyAt(0), keyAt(32)), keys, 0)).begins).toEqual([]);
  });
});
