import { unlessDamaged } from '../../errors.ts';
import type { ObjectClass } from '../../format/object-keys.ts';
import { readNamedWriters } from '../../history/past/named-writers.ts';
import { ACTOR_IN_USE_MS, type ActorRecord, readActor, renewActor } from '../../history/save/actors.ts';
import { parsePageId } from '../../sessions/session-key.ts';
import { isMissing, isTooLate, type ListedObject, type SendBound } from '../../store/port.ts';
import { createAges, DAY_MS } from '../../time.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { deleteObjects } from '../../tree/confirmed-put.ts';
import { type ListedId, pagesOfIds } from '../../tree/records/list-ids.ts';
import type { Work } from '../../tree/tenant.ts';
import { readHead as readConversation } from '../../turns/conversation-head.ts';
import { parseConversationId } from '../../turns/conversation-id.ts';
import { numberOfHead, partsOf } from '../checkpoints/checkpoint-record.ts';
import { readHead as readCheckpointHead } from '../checkpoints/read-checkpoint.ts';
import type { MigratedVersions } from '../keys/migrated-versions.ts';
import { parseAccessRecordId } from './access-records.ts';
import { noteExpired } from './history-note.ts';

/** The classes whose records expire, in the order of a run. `listReadsAndTurns` has listed the first three already. */
const CLASSES: readonly RecordClass[] = [
  { cls: 'access', days: ({ afterDays }) => afterDays ?? Number.POSITIVE_INFINITY, guard: idleReads },
  // Receipts go before their answers, so that every receipt that stays has its answer.
  { cls: 'receipts', follows: 'access', days: ({ recordDays }) => recordDays },
  { cls: 'answers', follows: 'receipts', days: ({ recordDays }) => recordDays, guard: answersWithoutReceipt },
  {
    cls: 'sessions',
    days: ({ afterDays }) => afterDays,
    grouping: sessionOf,
    headHoldsMs: 30_000,
    isSparedLikeFiles: true,
    counts: 'sessions',
  },
  {
    cls: 'conversations',
    days: ({ conversationDays }) => conversationDays,
    grouping: conversationOf,
    guard: conversationsAndRemains,
  },
  {
    cls: 'checkpoints',
    // Checkpoints stay for as long as the history where that is longer.
    days: ({ historyDays = 0 }) => Math.max(90, historyDays),
    guard: checkpointsButNewest,
  },
  { cls: 'history', days: ({ historyDays }) => historyDays, guard: historyWithNote, counts: 'history' },
  // After the history, because an expired record no longer names an actor.
  {
    cls: 'actors',
    days: ({ historyDays, isBusy }) => (isBusy ? undefined : historyDays),
    guard: unnamedActors,
    counts: 'history',
  },
];

/** A row of the table `CLASSES`: how the records of one class expire. */
interface RecordClass {
  readonly cls: ObjectClass;
  /**
   * The days after which a record goes, from its last write by a process, by the server's clock. Undefined: all stay.
   */
  readonly days: (settings: ExpirySettings) => number | undefined;
  /**
   * Tells the place of a record; undefined: it belongs to no group, and stays. Absent: each record is a group by
   * itself.
   */
  readonly grouping?: (id: string) => GroupPlace | undefined;
  /** Chooses the groups that go. Absent: all old groups go. */
  readonly guard?: (look: ClassView) => Chosen | Promise<Chosen>;
  /**
   * A class earlier in the table. Where one of its old records could not be deleted, all records of this class stay.
   */
  readonly follows?: ObjectClass;
  /** The longest time from the listing to the sending of the delete of heads, in milliseconds; after it all stay. */
  readonly headHoldsMs?: number;
  /** True: a dry run of files spares this class too. */
  readonly isSparedLikeFiles?: true;
  /** The number of the report that grows: for sessions by each group, else by each object. Absent: `records`. */
  readonly counts?: keyof RecordCounts;
}

/** A record's place among the groups of its class. */
interface GroupPlace {
  readonly group: string;
  readonly isHead: boolean;
}

/** Objects that go together. */
interface RecordGroup {
  /** The time of the last write to one of them, by the server's clock; milliseconds since the epoch. */
  written: number;
  /**
   * The object that a process changes when it uses the group; of several the last one. The run deletes it first: a head
   * that has changed since the listing stays, and the rest stays with it. Undefined: the group has none.
   */
  head: ListedId | undefined;
  readonly rest: ListedId[];
}

type Going = Pick<RecordGroup, 'head' | 'rest'>;

/** The choice of a guard. */
interface Chosen {
  readonly going: readonly Going[];
  /** Runs before the first delete, where a group goes; not in a dry run. */
  readonly before?: () => Promise<void>;
  /** Runs after the deletes; not in a dry run. */
  readonly after?: () => Promise<void>;
}

/** A class as a guard sees it. */
interface ClassView {
  readonly work: Work;
  readonly run: RecordRun;
  readonly objects: ReadonlyMap<string, ListedObject>;
  /** The groups by name, and those of them that are old. */
  readonly groups: ReadonlyMap<string, RecordGroup>;
  readonly old: readonly RecordGroup[];
  /** The time of the listing, by the server's clock; milliseconds since the epoch. */
  readonly now: number;
  readonly limitMs: number;
  /**
   * Returns the time since a process wrote an object, in milliseconds; a migration of keys does not count as a write.
   */
  ageOf(object: ListedObject): number;
}

/** The days of one run, and its state. */
interface ExpirySettings {
  readonly afterDays: number | undefined;
  readonly historyDays: number | undefined;
  readonly recordDays: number;
  readonly conversationDays: number;
  /** True: a directory is being renamed. */
  readonly isBusy: boolean;
}

/** One run for a tenant. */
interface RecordRun {
  readonly settings: ExpirySettings;
  readonly listed: ReadsAndTurns;
  readonly migrated: MigratedVersions;
  readonly dryRun: boolean | 'files';
}

/** The numbers of the report. */
interface RecordCounts {
  readonly records: number;
  readonly sessions: number;
  readonly history: number;
}

/**
 * Deletes the records that are old, class by class, and counts them; in a dry run it counts those that it would delete.
 * One LIST for each 1,000 records of a class that is not in `run.listed`, what the guards read, and the deletes.
 */
export async function expireRecords(work: Work, run: RecordRun): Promise<RecordCounts> {
  const counts = { records: 0, sessions: 0, history: 0 };
  const cleared = new Set<ObjectClass>();
  for (const row of CLASSES) {
    const days = row.days(run.settings);
    const isDry = run.dryRun === true || (run.dryRun === 'files' && row.isSparedLikeFiles === true);
    if (days === undefined || (!isDry && row.follows !== undefined && !cleared.has(row.follows))) continue;
    const sendBy =
      row.headHoldsMs === undefined ? undefined : createAges(work.tenant).boundIn(row.headHoldsMs);
    const look = await lookAt(work, run, { row, limitMs: days * DAY_MS });
    const chosen = (await row.guard?.(look)) ?? { going: look.old };
    const gone = isDry ? sizeOf(chosen.going) : await deleteGroups(work, chosen, sendBy);
    if (gone.objects === sizeOf(chosen.going).objects) cleared.add(row.cls);
    counts[row.counts ?? 'records'] += row.counts === 'sessions' ? gone.groups : gone.objects;
  }
  return counts;
}

/** Lists a class, unless that is done, and forms its groups. */
async function lookAt(
  work: Work,
  run: RecordRun,
  { row, limitMs }: { readonly row: RecordClass; readonly limitMs: number },
): Promise<ClassView> {
  const { grouping = (id) => ({ group: id, isHead: false }) } = row;
  const { objects, servedAt: now } = run.listed.classes.get(row.cls) ?? (await listClass(work, row.cls));
  const writtenAt = (object: ListedObject): number => run.migrated.writtenVersion(object).lastModified;
  const groups = new Map<string, RecordGroup>();
  for (const [id, object] of objects) {
    const place = grouping(id);
    if (place === undefined) continue;
    const found = groups.get(place.group) ?? { written: 0, head: undefined, rest: [] };
    groups.set(place.group, found);
    found.written = Math.max(found.written, writtenAt(object));
    const earlier = place.isHead ? found.head : { id, object };
    if (earlier !== undefined) found.rest.push(earlier);
    if (place.isHead) found.head = { id, object };
  }
  const old = [...groups.values()].filter(({ written }) => now - written > limitMs);
  return { work, run, objects, groups, old, now, limitMs, ageOf: (object) => now - writtenAt(object) };
}

/** Numbers of groups and of the objects in them. A group counts from the time at which its head is gone. */
interface Size {
  readonly groups: number;
  readonly objects: number;
}

function sizeOf(groups: readonly Going[]): Size {
  const objects = groups.reduce((sum, { head, rest }) => sum + rest.length + (head === undefined ? 0 : 1), 0);
  return { groups: groups.length, objects };
}

/**
 * Deletes the heads of groups, then the rest of those whose head is gone, and counts the groups and objects that went.
 */
async function deleteGroups(
  work: Work,
  { going, before, after }: Chosen,
  sendBy: SendBound | undefined,
): Promise<Size> {
  if (going.length > 0) await before?.();
  const inUse = await deleteListed(
    work,
    going.flatMap(({ head }) => head?.object ?? []),
    sendBy,
  );
  const ended = going.filter(({ head }) => head === undefined || !inUse.has(head.object.key));
  const left = await deleteListed(
    work,
    ended.flatMap(({ rest }) => rest.map(({ object }) => object)),
  );
  await after?.();
  const { groups, objects } = sizeOf(ended);
  return { groups, objects: objects - left.size };
}

/**
 * Deletes exactly the versions that were listed, and returns the keys of those that stay: all of them past the bound.
 */
async function deleteListed(
  work: Work,
  objects: readonly ListedObject[],
  sendBy?: SendBound,
): Promise<ReadonlySet<string>> {
  const targets = objects.map(({ key, etag }) => ({ key, ifMatch: etag }));
  if (targets.length === 0) return new Set();
  try {
    const failures = await deleteObjects(work, targets, { signal: work.call.signal, sendBy });
    return new Set(failures.flatMap((failure) => (isMissing(failure) ? [] : [failure.key])));
  } catch (error) {
    if (!isTooLate(error)) throw error;
    return new Set(targets.map(({ key }) => key));
  }
}

/** A class as it was listed. */
interface ListedClass {
  /** Its objects by id. */
  readonly objects: ReadonlyMap<string, ListedObject>;
  /** The time of the listing, by the server's clock; milliseconds since the epoch. */
  readonly servedAt: number;
}

/** Lists a class. One LIST for each 1,000 objects. */
async function listClass(work: Work, cls: ObjectClass): Promise<ListedClass> {
  const objects = new Map<string, ListedObject>();
  let servedAt = 0;
  for await (const page of pagesOfIds(work, cls)) {
    servedAt = page.servedAt;
    for (const { id, object } of page.ids) objects.set(id, object);
  }
  return { objects, servedAt };
}

/** The reads of files, and the classes that are judged at the same time as the files. */
interface ReadsAndTurns {
  /** The time of the listings, by the server's clock; milliseconds since the epoch. */
  readonly now: number;
  /** The end of the last day on which a file was read, by the hash of its path. */
  readonly lastRead: ReadonlyMap<string, number>;
  /** True: a receipt or an answer is stored. */
  readonly hasTurns: boolean;
  readonly classes: ReadonlyMap<ObjectClass, ListedClass>;
}

/** Lists the records of reads, the receipts and the answers. One LIST for each 1,000 records of each class. */
export async function listReadsAndTurns(work: Work): Promise<ReadsAndTurns> {
  const [access, receipts, answers] = await Promise.all([
    listClass(work, 'access'),
    listClass(work, 'receipts'),
    listClass(work, 'answers'),
  ]);
  const lastRead = new Map<string, number>();
  for (const id of access.objects.keys()) {
    const read = parseRead(id);
    if (read !== undefined) lastRead.set(read.file, Math.max(read.dayEnds, lastRead.get(read.file) ?? 0));
  }
  const { servedAt } = access;
  const classes = new Map<ObjectClass, ListedClass>([
    ['access', access],
    // One clock reading serves both classes, so that an answer is at most as old as its receipt.
    ['receipts', { ...receipts, servedAt }],
    ['answers', { ...answers, servedAt }],
  ]);
  return { now: servedAt, lastRead, hasTurns: receipts.objects.size + answers.objects.size > 0, classes };
}

/** Reads the id of a record of a read: the file's hash, and the end of the day in milliseconds since the epoch. */
function parseRead(id: string): { readonly file: string; readonly dayEnds: number } | undefined {
  const { file, day } = parseAccessRecordId(id) ?? {};
  const dayEnds = Date.parse(`${day}T00:00:00Z`) + DAY_MS;
  return file === undefined || Number.isNaN(dayEnds) ? undefined : { file, dayEnds };
}

/**
 * Chooses the records of reads that a newer one of the same file makes idle, and those of days too long ago to matter.
 */
function idleReads({ run, objects, now, limitMs }: ClassView): Chosen {
  const idle = [...objects].filter(([id]) => {
    const read = parseRead(id);
    if (read === undefined) return false;
    return now - read.dayEnds > limitMs || read.dayEnds < (run.listed.lastRead.get(read.file) ?? 0);
  });
  return { going: alone(idle) };
}

/** Makes a group of each object. */
function alone(listed: readonly (readonly [id: string, ListedObject])[]): readonly Going[] {
  return listed.map(([id, object]) => ({ head: undefined, rest: [{ id, object }] }));
}

/** Chooses the old answers whose receipt is old as well, or missing: an answer stays as long as its receipt does. */
function answersWithoutReceipt({ run, old, ageOf, limitMs }: ClassView): Chosen {
  const receipts = run.listed.classes.get('receipts')?.objects;
  const stays = (id: string): boolean => {
    const receipt = receipts?.get(id);
    return receipt !== undefined && ageOf(receipt) <= limitMs;
  };
  return { going: old.filter(({ rest }) => !rest.some(({ id }) => stays(id))) };
}

/**
 * Groups pages by session, with those of its subagents. The head is the last page of the main transcript, where appends
 * begin. Where that page was full, an append goes to a new page, and it may be that only the new page stays.
 */
function sessionOf(id: string): GroupPlace | undefined {
  const page = parsePageId(id);
  return page && { group: page.session, isHead: page.isMain };
}

/** Groups the bodies of a conversation with its head, which a turn changes first. Prompts belong to turns. */
function conversationOf(id: string): GroupPlace | undefined {
  const parsed = parseConversationId(id);
  if (parsed === undefined || parsed.kind === 'prompt') return undefined;
  return { group: parsed.head, isHead: parsed.kind === 'head' };
}

/** The age at which a body goes that no head names: until then it may belong to a turn that is at work. */
const AT_WORK_MS = DAY_MS;

/**
 * Chooses old conversations, prompts whose turn no queue delivers any longer, and bodies that turns left behind. A GET
 * for each younger conversation with several bodies.
 */
async function conversationsAndRemains({
  work,
  run,
  objects,
  groups,
  old,
  ageOf,
}: ClassView): Promise<Chosen> {
  const promptMs = run.settings.recordDays * DAY_MS;
  const idle = [...objects].filter(
    ([id, object]) => parseConversationId(id)?.kind === 'prompt' && ageOf(object) > promptMs,
  );
  const ended = new Set(old);
  for (const [head, group] of groups) {
    // A single body counts as named.
    if (ended.has(group) || group.rest.length < 2) continue;
    const left = group.rest.filter(({ object }) => ageOf(object) > AT_WORK_MS);
    if (left.length === 0) continue;
    const { content } = await readConversation(work, head);
    const named = content !== undefined && 'record' in content ? content.record : undefined;
    for (const { id, object } of left) if (id !== named) idle.push([id, object]);
  }
  return { going: [...old, ...alone(idle)] };
}

/**
 * Chooses old checkpoints, and the parts that a process left when it died before it wrote their head. The newest
 * checkpoint stays with its parts; all stay while its head cannot be opened. One GET where any is old.
 */
async function checkpointsButNewest({ work, objects, old }: ClassView): Promise<Chosen> {
  if (old.length === 0) return { going: [] };
  const newest = Math.max(0, ...[...objects.keys()].map((id) => numberOfHead(id) ?? 0));
  const head =
    newest === 0
      ? undefined
      : await unlessDamaged(readCheckpointHead(work, newest), () => 'damaged' as const);
  if (head === 'damaged') return { going: [] };
  const isOfNewest = (id: string): boolean =>
    numberOfHead(id) === newest || (head !== undefined && id.startsWith(partsOf(head.run)));
  return { going: old.filter(({ rest }) => !rest.some(({ id }) => isOfNewest(id))) };
}

/**
 * Chooses the old records of the history; the current texts of files are no part of it. Before they go, the run notes
 * up to when the history has expired, so that verification does not report them as missing: a GET and a PUT.
 */
function historyWithNote({ work, old, now, limitMs }: ClassView): Chosen {
  const leaving = old.flatMap(({ rest }) => rest.map(({ object }) => object));
  return { going: old, before: () => noteExpired(work, Math.floor(now - limitMs), leaving) };
}

/** The least time between two searches for named actors (milliseconds), each of which costs a GET for each record. */
const BETWEEN_LOOKS_MS = 30 * DAY_MS;

/**
 * Chooses the old actors that neither a file nor the history names any longer. Those stay on which a process may rely.
 * All stay while a file or a record of the history cannot be opened, because it may name any of them. At most once in
 * 30 days, where some are that old: a GET for each of those, for each record of the history and for each file, and a
 * PUT for each old one that is still named, which makes it young again.
 */
async function unnamedActors({ work, old, ageOf, now, limitMs }: ClassView): Promise<Chosen> {
  const isDue = (object: ListedObject): boolean => ageOf(object) > limitMs + BETWEEN_LOOKS_MS;
  // The age of the stored object itself counts too: a process that names an actor takes the object that a migration
  // wrote for new.
  const late = old.flatMap(({ rest }) =>
    rest.filter(({ object }) => now - object.lastModified > ACTOR_IN_USE_MS),
  );
  const known = late.some(({ object }) => isDue(object)) ? await readActors(work, late) : [];
  // Such a record is for `verify` to name; the search here needs records that open.
  if (!known.some(({ object }) => isDue(object))) return { going: [] };
  const named = await readNamedWriters(work);
  if (named === undefined) return { going: [] };
  const unnamed = known.filter(({ record }) => !named.has(record.writer));
  return {
    going: alone(unnamed.map(({ id, object }) => [id, object])),
    async after() {
      await eachConcurrently(work.tenant, known, async ({ record }) => {
        if (named.has(record.writer)) await renewActor(work, record);
      });
    },
  };
}

interface KnownActor extends ListedId {
  readonly record: ActorRecord;
}

/** Reads the actors whose records can be opened and are still the versions listed. */
async function readActors(work: Work, listed: readonly ListedId[]): Promise<readonly KnownActor[]> {
  const known: KnownActor[] = [];
  const readOne = async ({ id, object }: ListedId): Promise<void> => {
    const record = await unlessDamaged(readActor(work, id));
    if (record?.etag === object.etag) known.push({ id, object, record });
  };
  await eachConcurrently(work.tenant, listed, readOne, ({ object }) => object.size);
  return known;
}
