import { unlessDamaged } from '../../errors.ts';
import { keyOfAny } from '../../format/object-keys.ts';
import { encodeText } from '../../language/text.ts';
import type { ListedEntry } from '../../tree/list-directory.ts';
import { listIds } from '../../tree/records/list-ids.ts';
import type { Work } from '../../tree/tenant.ts';
import { type CheckpointEntry, numberOfHead, runOfPart } from './checkpoint-record.ts';
import { readHead, readParts } from './read-checkpoint.ts';

/**
 * Finds the known entry of a file. Callers ask in the order of a listing. Checkpoints that cannot be read are passed
 * over.
 */
export type FindEntry = (file: ListedEntry) => Promise<CheckpointEntry | undefined>;

/** The parts of one checkpoint, finished or cut off. */
interface CheckpointRun {
  readonly run: string;
  readonly parts: number;
}

/**
 * Opens the entries of the last checkpoint, and of one that was cut off after it. Each entry is true of the object with
 * its ETag, whoever wrote it. One LIST for each 1,000 records, and a GET for the last head; parts are read when they
 * are needed.
 */
export async function openEarlier(
  work: Work,
): Promise<{ readonly newest: number; readonly find: FindEntry }> {
  const listed = await listIds(work, 'checkpoints');
  const heads = listed.filter(({ id }) => numberOfHead(id) !== undefined);
  const newest = numberOfHead(heads.at(-1)?.id ?? '') ?? 0;
  const last = newest === 0 ? undefined : await readIfWhole(work, readHead(work, newest));
  const finishedAt = heads.at(-1)?.object.lastModified ?? 0;
  const later = listed.flatMap(({ id, object }) => {
    const run = runOfPart(id);
    const isLater = run !== undefined && run !== last?.run && object.lastModified >= finishedAt;
    return isLater ? [{ run, at: object.lastModified }] : [];
  });
  const cutOff = later.toSorted((a, b) => b.at - a.at)[0];
  const parts = later.filter(({ run }) => run === cutOff?.run).length;
  const known = [cutOff && { run: cutOff.run, parts }, last];
  const runs = known.flatMap((run) => (run === undefined ? [] : [openEntries(work, run)]));
  return {
    newest,
    async find(file) {
      let found: CheckpointEntry | undefined;
      for (const find of runs) {
        const entry = await find(file);
        if (found?.etag !== file.etag) found = entry ?? found;
      }
      return found;
    },
  };
}

export function openEntries(work: Work, run: CheckpointRun): FindEntry {
  const entries = entriesOf(work, run);
  const { tenant, keyring } = work;
  let next: { readonly entry: CheckpointEntry; readonly key: Uint8Array } | undefined;
  const advance = async (): Promise<void> => {
    const { done, value: entry } = await entries.next();
    const keyOf = ({ path }: CheckpointEntry) => encodeText(keyOfAny(tenant.layout, keyring.names, path));
    next = done === true ? undefined : { entry, key: keyOf(entry) };
  };
  let begun = false;
  return async ({ key, path }) => {
    if (!begun) await advance();
    begun = true;
    const wanted = encodeText(key);
    while (next !== undefined && isBefore(next.key, wanted)) await advance();
    return next?.entry.path === path ? next.entry : undefined;
  };
}

async function* entriesOf(work: Work, run: CheckpointRun): AsyncGenerator<CheckpointEntry, void, undefined> {
  const parts = readParts(work, run);
  for (;;) {
    const part = await readIfWhole(work, parts.next());
    if (part === undefined || part.done === true) return;
    yield* part.value.entries;
  }
}

function readIfWhole<T>({ tenant: { logger } }: Work, reading: Promise<T>): Promise<T | undefined> {
  return unlessDamaged(reading, ({ code }): undefined => {
    logger.warn('an earlier checkpoint cannot be read; its files are read instead', { code });
  });
}

function isBefore(left: Uint8Array, right: Uint8Array): boolean {
  const at = left.findIndex((byte, index) => byte !== right[index]);
  return at === -1 ? left.length < right.length : (left[at] ?? 0) < (right[at] ?? -1);
}
