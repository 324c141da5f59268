import type { ObjectClass } from '../format/object-keys.ts';
import type { ListedObject } from '../store/port.ts';
import { parseAccessRecordId } from '../tree/access-records.ts';
import type { Work } from '../tree/session.ts';
import type { MigratedVersions } from './migrated-versions.ts';

export const DAY_MS = 86_400_000;

/** What lies beside a tenant's tree, as far as expiry looks at it. */
export interface ReadsAndTurns {
  /** The server's clock, milliseconds since the epoch. */
  readonly now: number;
  /** The end of the last day on which a file was read, by what stands for the file. */
  readonly lastRead: ReadonlyMap<string, number>;
  readonly access: readonly AccessRecord[];
  /** By id. */
  readonly receipts: ReadonlyMap<string, ListedObject>;
  readonly answers: ReadonlyMap<string, ListedObject>;
}

interface AccessRecord {
  readonly object: ListedObject;
  readonly file: string;
  /** When the recorded day ends, milliseconds since the epoch. */
  readonly dayEnds: number;
}

/** One LIST per 1,000 records of each class. */
export async function listReadsAndTurns(work: Work): Promise<ReadsAndTurns> {
  const [access, receipts, answers] = await Promise.all([
    listClass(work, 'access'),
    listClass(work, 'receipts'),
    listClass(work, 'answers'),
  ]);
  const read = [...access.objects].flatMap(([id, object]) => {
    const parsed = parseAccessRecordId(id);
    const dayEnds = parsed === undefined ? Number.NaN : Date.parse(`${parsed.day}T00:00:00Z`) + DAY_MS;
    return parsed === undefined || Number.isNaN(dayEnds) ? [] : [{ object, file: parsed.file, dayEnds }];
  });
  const lastRead = new Map<string, number>();
  for (const { file, dayEnds } of read) lastRead.set(file, Math.max(dayEnds, lastRead.get(file) ?? 0));
  return {
    now: access.servedAt,
    lastRead,
    access: read,
    receipts: receipts.objects,
    answers: answers.objects,
  };
}

/**
 * Records that a newer one of the same file makes idle, and those of days too long ago to matter; where files do not
 * expire only the former.
 */
export function outdatedAccess(
  { access, lastRead, now }: ReadsAndTurns,
  afterDays: number = Number.POSITIVE_INFINITY,
): readonly ListedObject[] {
  return access
    .filter(({ file, dayEnds }) => {
      return now - dayEnds > afterDays * DAY_MS || dayEnds < (lastRead.get(file) ?? 0);
    })
    .map(({ object }) => object);
}

/** Receipts and answers of turns that no queue can deliver again. An answer stays as long as its receipt does. */
export function outdatedTurns(
  { receipts, answers, now }: ReadsAndTurns,
  afterDays: number,
  { writtenVersion }: MigratedVersions,
): { readonly receipts: readonly ListedObject[]; readonly answers: readonly ListedObject[] } {
  const isOld = (object: ListedObject): boolean =>
    now - writtenVersion(object).lastModified > afterDays * DAY_MS;
  const oldAnswers = [...answers].filter(([id, answer]) => {
    const receipt = receipts.get(id);
    return isOld(answer) && (receipt === undefined || isOld(receipt));
  });
  return {
    receipts: [...receipts.values()].filter(isOld),
    answers: oldAnswers.map(([, answer]) => answer),
  };
}

async function listClass(
  work: Work,
  cls: ObjectClass,
): Promise<{ readonly objects: ReadonlyMap<string, ListedObject>; readonly servedAt: number }> {
  const prefix = `${work.session.layout.tenantPrefix}${cls}/`;
  const objects = new Map<string, ListedObject>();
  let servedAt = 0;
  for await (const page of work.session.store.list({ prefix, signal: work.call.signal })) {
    servedAt = page.servedAt;
    for (const object of page.objects) objects.set(object.key.slice(prefix.length), object);
  }
  return { objects, servedAt };
}
