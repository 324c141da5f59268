import { unlessDamaged } from '../../errors.ts';
import { MAX_CONTENT_BYTES } from '../../format/sizes.ts';
import { readWholePast } from '../../history/past/read.ts';
import { ACTOR_IN_USE_MS, type ActorRecord, readActor, renewActor } from '../../history/save/actors.ts';
import { idOf, WHOLE_TREE } from '../../history/save/history-record.ts';
import type { ListedObject } from '../../store/port.ts';
import { DAY_MS } from '../../time.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { listDirectory } from '../../tree/list-directory.ts';
import { readListed } from '../../tree/read-file.ts';
import type { Work } from '../../tree/session.ts';
import { deleteListed } from './delete-listed.ts';
import { type ClassExpiry, listClass, writtenLongAgo } from './expiry-records.ts';

/** The least time between two looks, each of which costs a GET for each record. */
const BETWEEN_LOOKS_MS = 30 * DAY_MS;

/**
 * Deletes the records of actors that neither a file nor the history names any longer, and returns how many; in a dry run how many
 * it would delete. Records younger than `limitMs` stay, and so do those on which a process may rely. All stay while a file or a
 * record of the history cannot be opened, because it may name any of them. One LIST for each 1,000 actors; at most once in 30 days,
 * where some are that old, a GET for each of those, for each record of the history and for each file, and a PUT for each old one
 * that is still named, which makes it young again.
 */
export async function expireActors(work: Work, { migrated, limitMs, dryRun }: ClassExpiry): Promise<number> {
  const { objects, servedAt: now } = await listClass(work, 'actors');
  const isOld = writtenLongAgo(migrated, { now, limitMs });
  // The age of the stored object itself counts too: a process that names an actor takes what a migration wrote for new.
  const old = [...objects].filter(
    ([, object]) => isOld(object) && now - object.lastModified > ACTOR_IN_USE_MS,
  );
  const isDue = writtenLongAgo(migrated, { now, limitMs: limitMs + BETWEEN_LOOKS_MS });
  const known = old.some(([, object]) => isDue(object)) ? await readOpened(work, old) : [];
  // A record that cannot be opened is for `verify` to name, and no reason to look.
  if (!known.some(({ object }) => isDue(object))) return 0;
  const named = await readNamed(work);
  if (named === undefined) return 0;
  const unnamed = known.filter(({ record }) => !named.has(record.writer));
  if (dryRun) return unnamed.length;
  const left = await deleteListed(
    work,
    unnamed.map(({ object }) => object),
  );
  await eachConcurrently(work.session, known, async ({ record }) => {
    if (named.has(record.writer)) await renewActor(work, record);
  });
  return unnamed.length - left.size;
}

interface KnownActor {
  readonly object: ListedObject;
  readonly record: ActorRecord;
}

/** Reads the actors whose records can be opened and are still the versions listed. */
async function readOpened(
  work: Work,
  listed: readonly (readonly [id: string, ListedObject])[],
): Promise<readonly KnownActor[]> {
  const known: KnownActor[] = [];
  const readOne = async ([id, object]: (typeof listed)[number]): Promise<void> => {
    const record = await unlessDamaged(readActor(work, id));
    if (record?.etag === object.etag) known.push({ object, record });
  };
  await eachConcurrently(work.session, listed, readOne, ([, object]) => object.size);
  return known;
}

/** Collects the hashes (base64url) of all actors that files and history name. Undefined: one of these cannot be opened. */
async function readNamed({ session, ...rest }: Work): Promise<ReadonlySet<string> | undefined> {
  const work = { ...rest, session: { ...session, maxFileBytes: MAX_CONTENT_BYTES } };
  const { versions, leaves, files, damaged } = await readWholePast(work);
  let isWhole = damaged.files.length + damaged.records.length === 0;
  const named = new Set<string | undefined>(leaves.map(({ by }) => by));
  for (const { writer, redacted } of versions.values()) named.add(writer).add(redacted?.by);
  // A file that was renamed during the read may have been missed at both paths.
  const { files: listed } = await listDirectory(work, WHOLE_TREE);
  const late = listed.filter(({ path }) => !files.has(path));
  const readLate = async (entry: (typeof late)[number]): Promise<void> => {
    const file = await unlessDamaged(readListed(work, entry), () => {
      isWhole = false;
    });
    if (file !== undefined) named.add(idOf(file.writer));
  };
  await eachConcurrently(work.session, late, readLate, ({ size }) => size);
  return isWhole ? new Set([...named].filter((writer) => writer !== undefined)) : undefined;
}
