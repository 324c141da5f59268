import { MEMORY_ROOT } from '../language/path.ts';
import { pause } from '../time.ts';
import { countFor, createCounts } from '../tool/call-counts.ts';
import { decodeEntry } from '../tree/list-directory.ts';
import { openWork, type Session } from '../tree/session.ts';
import type { ListedFile, TreeChange } from './protocol.ts';
import type { Asking } from './questions.ts';

/** From the end of a look to the next one: an edit is seen within a second. */
const PAUSE_MS = 800;
/** Beyond so many LISTs a look, the looks are fewer: about one LIST a second, however large the memory is. */
const LISTS_PER_PAUSE = 1;

/** What one look at the whole tree found. */
interface Look {
  readonly files: ReadonlyMap<string, ListedFile>;
  readonly foreign: number;
}

/**
 * Sends the whole tree, and then whatever changed in it, until the page no longer waits. One LIST per 1,000 objects a look.
 *
 * @param nudge resolves when there is a reason to look at once.
 */
export async function watchTree(
  session: Session,
  { signal, send }: Asking,
  nudge: () => Promise<void>,
): Promise<never> {
  let before: Look | undefined;
  for (;;) {
    const counts = createCounts();
    const now: Look = await countFor(counts, () => look(session, before, signal));
    const { list = 0 } = counts.requests;
    const everyMs = PAUSE_MS * Math.max(1, Math.ceil(list / LISTS_PER_PAUSE));
    const change: TreeChange = { ...differenceOf(before, now), requests: counts.requests, everyMs };
    await send(change);
    before = now;
    await pauseOr(nudge(), everyMs, signal);
  }
}

async function pauseOr(nudged: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const paused = pause(ms, AbortSignal.any([signal, ending.signal]));
  try {
    await Promise.race([paused, nudged]);
  } finally {
    paused.catch(() => {});
    ending.abort();
  }
}

async function look(session: Session, before: Look | undefined, signal: AbortSignal): Promise<Look> {
  const work = await openWork(session, { signal });
  const files = new Map<string, ListedFile>();
  let foreign = 0;
  if (work === undefined) return { files, foreign };
  const prefix = session.layout.data;
  for await (const { objects } of session.store.list({ prefix, signal })) {
    for (const object of objects) {
      const known = before?.files.get(object.key);
      if (known?.version === object.etag) {
        files.set(object.key, known);
        continue;
      }
      const entry = decodeEntry(work, { directory: MEMORY_ROOT, prefix, object });
      if (entry === undefined) foreign += 1;
      else {
        files.set(object.key, {
          path: entry.path,
          size: entry.size,
          stored: object.size,
          modified: object.lastModified,
          version: object.etag,
          key: object.key.slice(prefix.length),
        });
      }
    }
  }
  return { files, foreign };
}

function differenceOf(
  before: Look | undefined,
  now: Look,
): Pick<TreeChange, 'whole' | 'changed' | 'removed' | 'foreign'> {
  const { foreign } = now;
  const all = [...now.files];
  if (before === undefined) {
    return { whole: true, changed: all.map(([, file]) => file), removed: [], foreign };
  }
  const changed = all.filter(([key, file]) => before.files.get(key) !== file).map(([, file]) => file);
  const removed = [...before.files].filter(([key]) => !now.files.has(key)).map(([, { path }]) => path);
  return { whole: false, changed, removed, foreign };
}
