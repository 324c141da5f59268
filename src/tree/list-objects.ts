import pLimit from 'p-limit';
import { KEYS_PER_REQUEST, type ListedObject, type ListOptions, type ListPage } from '../store/port.ts';
import { letOthersRun } from '../time.ts';
import type { Work } from './session.ts';

/** A part is made a little smaller than a page, so that it nearly always fits into one. */
const PART_OBJECTS = 900;
const CONCURRENT_PARTS = 8;
const MOST_PARTS = 128;

/** The characters of base64url in byte order. */
export const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const DIGITS = 3;
const SPAN = ALPHABET.length ** DIGITS;

interface ObjectListing<T> {
  /** What `read` made of each object. */
  readonly objects: readonly T[];
  /** There were more than `maxObjects`. */
  readonly truncated: boolean;
}

interface ListRequest<T> {
  /** Takes some microseconds; asked for the objects of a page while other pages are on their way. */
  readonly read: (object: ListedObject) => T;
  readonly prefix: string;
  readonly maxObjects: number;
  /** Fetch the pages after the first together. Only encrypted names are spread evenly enough for that. */
  readonly concurrent: boolean;
}

/**
 * The objects below a prefix in key order. Encrypted names are spread evenly, so how far the first full page reaches
 * tells where the others begin: they can be fetched at once, each from its own starting key. The answer is the
 * same however badly that guess fits; a bad one only costs further pages.
 */
export async function listObjects<T>(work: Work, request: ListRequest<T>): Promise<ObjectListing<T>> {
  const collector = createCollector(request);
  const splits = request.concurrent && work.keyring.names.mode === 'encrypted';
  const { prefix } = request;
  for await (const page of pagesBelow(work, { prefix, maxKeys: KEYS_PER_REQUEST })) {
    await collector.take(0, page.objects);
    if (collector.full()) break;
    if (splits && page.objects.length === KEYS_PER_REQUEST) {
      await listParts(work, { prefix, bounds: partBounds(page.objects), collector });
      break;
    }
  }
  return collector.listing();
}

/** The pages of a LIST. */
export function pagesBelow(work: Work, request: ListOptions): AsyncIterable<ListPage> {
  return work.session.store.list({ ...request, signal: work.call.signal });
}

async function listParts(
  work: Work,
  tail: {
    readonly prefix: string;
    readonly bounds: readonly string[];
    readonly collector: Pick<Collector<unknown>, 'take' | 'full'>;
  },
): Promise<void> {
  const { prefix, bounds, collector } = tail;
  const limit = pLimit(CONCURRENT_PARTS);
  const listPart = async (after: string, index: number): Promise<void> => {
    const end = bounds[index + 1];
    if (collector.full()) return;
    for await (const page of pagesBelow(work, { prefix, startAfter: after })) {
      const within = end === undefined ? page.objects : page.objects.filter(({ key }) => key <= end);
      await collector.take(index + 1, within);
      if (within.length < page.objects.length || collector.full()) return;
    }
  };
  await Promise.all(bounds.map((after, index) => limit(() => listPart(after, index))));
}

interface Collector<T> {
  /** Resolves when the objects of a page have been read. */
  take(part: number, objects: readonly ListedObject[]): Promise<void>;
  full(): boolean;
  listing(): ObjectListing<T>;
}

/** So many are read before everything else in the process has its turn: a few milliseconds. */
const READ_BETWEEN_TURNS = 250;

/** Gathers the objects of all parts, in the order of the parts, up to the limit. */
function createCollector<T>({ maxObjects, read }: ListRequest<T>): Collector<T> {
  const parts: T[][] = [];
  /** All parts share their turns, or those of eight would come together. */
  const inTurn = pLimit(1);
  let sinceTurn = 0;
  let count = 0;

  const readSome = async (part: T[], objects: readonly ListedObject[]): Promise<void> => {
    if (sinceTurn + objects.length > READ_BETWEEN_TURNS) {
      await letOthersRun();
      sinceTurn = 0;
    }
    sinceTurn += objects.length;
    for (const object of objects) part.push(read(object));
  };

  return {
    async take(index, objects) {
      parts[index] ??= [];
      const part = parts[index];
      count += objects.length;
      const reading: Promise<void>[] = [];
      for (let start = 0; start < objects.length; start += READ_BETWEEN_TURNS) {
        const some = objects.slice(start, start + READ_BETWEEN_TURNS);
        reading.push(inTurn(() => readSome(part, some)));
      }
      await Promise.all(reading);
    },
    full: () => count > maxObjects,
    listing() {
      const objects = parts.flat();
      return { objects: objects.slice(0, maxObjects), truncated: count > maxObjects };
    },
  };
}

/** The keys after which the parts begin, ascending; the first is the last key of the page. */
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

/** Where the characters of `key` from `start` on lie among all that could stand there, 0 to SPAN − 1. */
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
