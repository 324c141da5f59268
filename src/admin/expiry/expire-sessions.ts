import { parsePageId } from '../../sessions/session-key.ts';
import type { ListedObject } from '../../store/port.ts';
import { createAges } from '../../time.ts';
import type { Work } from '../../tree/session.ts';
import { deleteListed } from './delete-listed.ts';
import { type ClassExpiry, listClass } from './expiry-records.ts';

/** The longest time from the listing to the sending of a delete of a transcript's end. */
const LOOK_HOLDS_MS = 30_000;

/** A session with its subagents, as a listing shows it. */
interface StoredSession {
  /** The time of the last write to one of its pages, by the server's clock; milliseconds since the epoch. */
  written: number;
  /** The last page of the main transcript: appends begin there. */
  mainEnd: ListedObject | undefined;
  readonly pages: ListedObject[];
}

/**
 * Deletes the sessions to which no process appended for `limitMs`, with their subagents, and returns how many; in a dry run how
 * many it would delete. One LIST for each 1,000 pages. A session that is appended to meanwhile stays. Where its last page was
 * full, the append goes to a new page, and it may be that only this page stays.
 */
export async function expireSessions(
  work: Work,
  { migrated, limitMs, dryRun }: ClassExpiry,
): Promise<number> {
  const look = createAges(work.session).boundIn(LOOK_HOLDS_MS);
  const { objects, servedAt } = await listClass(work, 'sessions');
  const sessions = new Map<string, StoredSession>();
  for (const [id, object] of objects) {
    const page = parsePageId(id);
    if (page === undefined) continue;
    const found = sessions.get(page.session) ?? { written: 0, mainEnd: undefined, pages: [] };
    sessions.set(page.session, found);
    found.pages.push(object);
    found.written = Math.max(found.written, migrated.writtenVersion(object).lastModified);
    if (page.isMain) found.mainEnd = object;
  }
  const old = [...sessions.values()].filter(({ written }) => servedAt - written > limitMs);
  if (dryRun) return old.length;

  const ends = old.flatMap(({ mainEnd }) => mainEnd ?? []);
  const inUse = await deleteListed(work, ends, look);
  const unused = old.filter(({ mainEnd }) => mainEnd === undefined || !inUse.has(mainEnd.key));
  const others = unused.flatMap(({ mainEnd, pages }) => pages.filter((page) => page !== mainEnd));
  await deleteListed(work, others);
  return unused.length;
}
