import { KEYS_PER_REQUEST, type ListedObject, type ListOptions, type ListPage } from '../store/port.ts';
import { letOthersRun } from '../time.ts';
import type { PartCollector } from './list-parts.ts';
import type { Work } from './tenant.ts';

interface ObjectListing<T> {
  /** The answers of `read`, one for each object. */
  readonly objects: readonly T[];
  /** True where there were more than `maxObjects`. */
  readonly truncated: boolean;
}

interface ListRequest<T> {
  /**
   * Turns one object into an answer in some microseconds; called for the objects of a page while other pages are on
   * their way.
   */
  readonly read: (object: ListedObject) => T;
  readonly prefix: string;
  readonly maxObjects: number;
  /** True to fetch the pages after the first together. Only encrypted names are spread evenly enough for that. */
  readonly concurrent: boolean;
}

/**
 * Lists the objects below a prefix in key order. Encrypted names are spread evenly, so the reach of the first full page
 * tells where the others begin: they can be fetched at once, each from its own starting key. The answer is the same
 * however badly that guess fits; a bad one only costs further pages.
 */
export async function listObjects<T>(work: Work, request: ListRequest<T>): Promise<ObjectListing<T>> {
  const collector = createCollector(request);
  const splits = request.concurrent && work.keyring.names.mode === 'encrypted';
  const { prefix } = request;
  for await (const page of pagesBelow(work, { prefix, maxKeys: KEYS_PER_REQUEST })) {
    await collector.take(0, page.objects);
    if (collector.full()) break;
    if (splits && page.objects.length === KEYS_PER_REQUEST) {
      const { listParts } = await import('./list-parts.ts');
      const pagesAfter = (startAfter: string) => pagesBelow(work, { prefix, startAfter });
      await listParts({ page: page.objects, pagesAfter, collector });
      break;
    }
  }
  return collector.listing();
}

/** Lists the pages of a request, under the call's signal. */
export function pagesBelow(work: Work, request: ListOptions): AsyncIterable<ListPage> {
  return work.tenant.store.list({ ...request, signal: work.call.signal });
}

interface ListingCollector<T> extends PartCollector {
  listing(): ObjectListing<T>;
}

/** The number of objects that are read, in a few milliseconds, before everything else in the process has its turn. */
const READ_BETWEEN_TURNS = 250;

/** Gathers the objects of all parts, in the order of the parts, up to the limit. */
function createCollector<T>({ maxObjects, read }: ListRequest<T>): ListingCollector<T> {
  const parts: T[][] = [];
  /** The turn of all parts together: eight parts with turns of their own would take eight at once. */
  let turns = Promise.resolve();
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
        turns = turns.then(() => readSome(part, some));
        reading.push(turns);
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
