import pLimit from 'p-limit';
import { BASE64URL_IN_BYTE_ORDER as ALPHABET } from '../format/encoding.ts';
import type { ListedObject, ListPage } from '../store/port.ts';

/** A part is made a little smaller than a page, so that it nearly always fits into one. */
const PART_OBJECTS = 900;
const CONCURRENT_PARTS = 8;
const MOST_PARTS = 128;

const DIGITS = 3;
const SPAN = ALPHABET.length ** DIGITS;

/** The receiver of each part's objects, until it has enough. */
export interface PartCollector {
  /** Resolves when the objects of a page have been read. */
  take(part: number, objects: readonly ListedObject[]): Promise<void>;
  full(): boolean;
}

interface ListTail {
  /** The first page, which is part 0. */
  readonly page: readonly ListedObject[];
  /** Lists the pages after this key. */
  pagesAfter(key: string): AsyncIterable<ListPage>;
  readonly collector: PartCollector;
}

/**
 * Lists everything after the first full page, in parts at once. The reach of that page tells where the parts begin; a
 * bad guess costs further pages alone.
 */
export async function listParts({ page, pagesAfter, collector }: ListTail): Promise<void> {
  const bounds = partBounds(page);
  const limit = pLimit(CONCURRENT_PARTS);
  const listPart = async (after: string, index: number): Promise<void> => {
    const end = bounds[index + 1];
    if (collector.full()) return;
    for await (const { objects } of pagesAfter(after)) {
      const within = end === undefined ? objects : objects.filter(({ key }) => key <= end);
      await collector.take(index + 1, within);
      if (within.length < objects.length || collector.full()) return;
    }
  };
  await Promise.all(bounds.map((after, index) => limit(() => listPart(after, index))));
}

/** Answers the keys after which the parts begin, ascending; the first is the last key of the page. */
function partBounds(page: readonly ListedObject[]): readonly string[] {
  const first = page.at(0)?.key ?? '';
  const last = page.at(-1)?.key ?? '';
  let common = 0;
  while (common < last.length && first[common] === last[common]) common++;
  const from = positionOf(first, common);
  const reached = positionOf(last, common);
  if (from === undefined || reached === undefined || reached <= from) return [last];
  const expected = (page.length * (SPAN - reached)) / (reached - from);
  const parts = Math.min(MOST_PARTS, Math.max(1, Math.ceil(expected / PART_OBJECTS)));
  const step = (SPAN - reached) / parts;
  const inner = Array.from({ length: parts - 1 }, (_, index) => Math.floor(reached + step * (index + 1)));
  return [
    last,
    ...inner.map((position) => last.slice(0, common) + textAt(position)).filter((key) => key > last),
  ];
}

/** Finds the position of the characters of `key` from `start` on among all that could stand there, 0 to SPAN − 1. */
function positionOf(key: string, start: number): number | undefined {
  let position = 0;
  for (let index = start; index < start + DIGITS; index++) {
    const digit = ALPHABET.indexOf(key.charAt(index));
    if (digit === -1 || index >= key.length) return undefined;
    position = position * ALPHABET.length + digit;
  }
  return position;
}

function textAt(position: number): string {
  let text = '';
  for (let rest = position, digits = 0; digits < DIGITS; digits++) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
