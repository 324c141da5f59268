import { hasReason, unlessDamaged } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import { objectRefused } from '../../format/object.ts';
import { classKey } from '../../format/object-keys.ts';
import { NO_ID } from '../../format/wrap.ts';
import { ageOf, type ETag } from '../../store/port.ts';
import { createAges, DAY_MS, dateOf, type Instant, oncePerKey } from '../../time.ts';
import { attempts, eachConcurrently, throwing } from '../../tree/concurrency.ts';
import { type ListedId, listIds } from '../../tree/records/list-ids.ts';
import { decodeFields, encodeFields, readRecord } from '../../tree/records/sealed-record.ts';
import { checkActor, uncancelled, type Work } from '../../tree/tenant.ts';
import { writeKept } from './write-kept.ts';

/** The time for which a process relies on having named an actor, by whichever of its clocks ran faster. */
const NAMED_FOR_MS = DAY_MS;
/**
 * The age, by the server's clock, from which a process that names an actor writes its record again: a record in use
 * stays young.
 */
const RENEWED_AFTER_MS = 7 * DAY_MS;
/**
 * The age beyond which processes no longer rely on a record, in milliseconds by the server's clock: `RENEWED_AFTER_MS`,
 * and as much again for requests on their way and for clocks.
 */
export const ACTOR_IN_USE_MS: number = 2 * RENEWED_AFTER_MS;

interface NamedActors {
  readonly since: Instant;
  readonly actors: Map<string, Promise<void>>;
}

/** The actors that this process has named in the store, for each opened tenant: its keyring cache lives as long. */
const named = new WeakMap<Work['tenant']['keyrings'], NamedActors>();
/** The most actors that a process remembers; then it forgets all, and names each again. */
const MOST_NAMED = 10_000;

/**
 * Writes down who the actor of the call is, unless this process has done so in the last day. `before` a delete, the
 * record may take the room that a full store keeps for deletes.
 */
export async function nameActor(work: Work, before?: 'delete'): Promise<void> {
  const { actor } = work.call;
  if (actor === undefined) return;
  checkActor(actor, 'actor');
  try {
    // Several commands may wait for this write: cancelling one of them must not cancel the write for the others.
    await oncePerKey(namedBy(work), actor, () => putActor(uncancelled(work), actor));
  } catch (error) {
    // The commands that share the write may not take the room that is kept for deletes.
    const isForDelete = before === 'delete' && work.tenant.store.changeAll !== undefined;
    if (!isForDelete || !hasReason(error, 'disk_full')) throw error;
    await putActor(uncancelled(work), actor, before);
  }
}

function namedBy({ tenant }: Work): Map<string, Promise<void>> {
  const ages = createAges(tenant);
  const known = named.get(tenant.keyrings);
  const isRecent = known !== undefined && ages.isWithin(known.since, NAMED_FOR_MS);
  if (isRecent && known.actors.size < MOST_NAMED) return known.actors;
  const fresh = { since: ages.now(), actors: new Map<string, Promise<void>>() };
  named.set(tenant.keyrings, fresh);
  return fresh.actors;
}

/** The most attempts; each may meet an old record that another process writes or deletes meanwhile. */
const ROUNDS = 8;

/**
 * Writes the record of an actor unless a young one is there. An old one is replaced: an expiry run may be about to
 * delete it.
 */
async function putActor(work: Work, actor: string, before?: 'delete'): Promise<void> {
  const id = work.keyring.names.keyedHash('actors', actor);
  const record = { cls: 'actors', id, content: encodeFields({ actor }), before } as const;
  const { store, layout } = work.tenant;
  let base: ETag | undefined;
  const attempt = async (): Promise<'named' | 'again'> => {
    if ((await writeKept(work, { ...record, base })) === 'written') return 'named';
    const found = await store.head(classKey(layout, 'actors', id));
    if (found !== undefined && ageOf(found) <= RENEWED_AFTER_MS) return 'named';
    base = found?.etag;
    return 'again';
  };
  const overtaken = throwing('unavailable', 'Other processes wrote who the actor is at every attempt.');
  await attempts(ROUNDS, attempt, overtaken);
}

const MOST_ACTOR_BYTES = 4_096;

export interface ActorRecord {
  readonly id: string;
  readonly actor: string;
  /** The keyed hash that stands for the actor in a wrap, base64url. */
  readonly writer: string;
  readonly etag: ETag;
}

/**
 * Reads the record of an actor; undefined when it is missing.
 *
 * @throws MemoryError `integrity`, also for malformed content.
 */
export async function readActor(work: Work, id: string): Promise<ActorRecord | undefined> {
  const record = await readRecord(work, { cls: 'actors', id, maxBytes: MOST_ACTOR_BYTES });
  if (record === undefined) return undefined;
  const actor = decodeActor(record.content);
  return { id, actor, writer: toBase64url(work.keyring.names.writerId(actor)), etag: record.etag };
}

/** Decodes the record of an actor. @throws MemoryError `integrity` for malformed content. */
export function decodeActor(content: Uint8Array): string {
  const actor = decodeFields(content)?.['actor'];
  if (typeof actor === 'string' && actor !== '' && actor.isWellFormed()) return actor;
  throw objectRefused();
}

/** Writes the record of an actor again, unless another process has: it counts as new from then on. */
export async function renewActor(work: Work, { id, actor, etag }: ActorRecord): Promise<void> {
  await writeKept(work, { cls: 'actors', id, content: encodeFields({ actor }), base: etag });
}

/**
 * Reads the actors, by the hash that stands for each in a wrap (base64url). Damaged records are passed over: `verify`
 * names them. A LIST for each 1,000 and a GET for each.
 *
 * @param read the ids of records that the caller has read before, which are passed over; those that are read now are
 * added.
 */
export async function readActors(
  work: Work,
  read: Set<string> = new Set(),
): Promise<ReadonlyMap<string, string>> {
  const actors = new Map<string, string>();
  const readOne = async ({ id }: ListedId): Promise<void> => {
    const found = await unlessDamaged(readActor(work, id));
    if (found !== undefined) actors.set(found.writer, found.actor);
    read.add(id);
  };
  const listed = await listIds(work, 'actors');
  const waiting = listed.filter(({ id }) => !read.has(id));
  await eachConcurrently(work.tenant, waiting, readOne, () => MOST_ACTOR_BYTES);
  return actors;
}

/** Makes the hash that stands for the actor of the call in a wrap; undefined without an actor. */
export function writerOf({ call: { actor }, keyring }: Work): Uint8Array | undefined {
  return actor === undefined ? undefined : keyring.names.writerId(actor);
}

/** Notes the present time (at most the last moment that a `Date` holds) and the actor of the call. */
export function noted(work: Work): { readonly at: number; readonly by: Uint8Array } {
  return { at: dateOf(work.tenant.stamps.now()).getTime(), by: writerOf(work) ?? NO_ID };
}
