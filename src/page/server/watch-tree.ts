import { KEYS_PER_REQUEST } from '../../store/port.ts';
import { pause } from '../../time.ts';
import { countFor, createCounts } from '../../tool/call-counts.ts';
import { filesIn } from '../../tree/list-directory.ts';
import { openWork, type Tenant } from '../../tree/tenant.ts';
import type { StoredFile, TreeChange } from '../protocol.ts';
import type { Asking } from './answer-questions.ts';

/** The time from the end of a look to the next one: an edit is seen within a second. */
const PAUSE_MS = 800;
/**
 * The LISTs that a look may cost in that time. A memory that costs more is looked at less often: about one LIST a
 * second.
 */
const LISTS_PER_PAUSE = 1;

/** The findings of one look at the whole tree. */
interface TreeLook {
  readonly files: ReadonlyMap<string, StoredFile>;
  readonly foreign: number;
}

/**
 * Sends the whole tree, and then whatever changed in it, until the page no longer waits. One LIST per 1,000 objects a
 * look.
 *
 * @param nudge resolves when there is a reason to look at once.
 */
export async function watchTree(
  tenant: Tenant,
  { signal, send }: Asking<TreeChange>,
  nudge: () => Promise<void>,
): Promise<never> {
  let before: TreeLook | undefined;
  for (;;) {
    const counts = createCounts();
    let sent = 0;
    // Each page of the first look is shown as it comes.
    const onPage = async ({ files, foreign }: TreeLook): Promise<void> => {
      const changed = [...files.values()].slice(sent);
      const part = { whole: sent === 0, changed, removed: [], foreign, isPartial: true };
      sent = files.size;
      await send({ ...part, requests: {}, everyMs: 0 });
    };
    const options = { before, signal, ...(before === undefined && { onPage }) };
    const now: TreeLook = await countFor(counts, () => look(tenant, options));
    const { list = 0 } = counts.requests;
    const everyMs = PAUSE_MS * Math.max(1, Math.ceil(list / LISTS_PER_PAUSE));
    const difference = differenceOf(before, now, sent);
    await send({ ...difference, isPartial: false, requests: counts.requests, everyMs });
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

async function look(
  tenant: Tenant,
  {
    before,
    signal,
    onPage,
  }: {
    readonly before: TreeLook | undefined;
    readonly signal: AbortSignal;
    /** Called with what was found so far, where there may be more. */
    readonly onPage?: (found: TreeLook) => Promise<void>;
  },
): Promise<TreeLook> {
  const work = await openWork(tenant, { signal });
  const files = new Map<string, StoredFile>();
  let foreign = 0;
  if (work === undefined) return { files, foreign };
  const prefix = tenant.layout.data;
  for await (const { objects } of tenant.store.list({ prefix, signal })) {
    for (const object of objects) {
      const known = before?.files.get(object.key);
      if (known?.version === object.etag) {
        files.set(object.key, known);
        continue;
      }
      const [entry] = filesIn(work, [object]);
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
    if (objects.length >= KEYS_PER_REQUEST) await onPage?.({ files, foreign });
  }
  return { files, foreign };
}

/** `sent`: so many files of a first look were sent already. */
function differenceOf(
  before: TreeLook | undefined,
  now: TreeLook,
  sent: number,
): Pick<TreeChange, 'whole' | 'changed' | 'removed' | 'foreign'> {
  const { foreign } = now;
  const all = [...now.files];
  if (before === undefined) {
    return { whole: sent === 0, changed: all.slice(sent).map(([, file]) => file), removed: [], foreign };
  }
  const changed = all.filter(([key, file]) => before.files.get(key) !== file).map(([, file]) => file);
  const removed = [...before.files].filter(([key]) => !now.files.has(key)).map(([, { path }]) => path);
  return { whole: false, changed, removed, foreign };
}
