import { MemoryError } from '../../errors.ts';
import { directoryPrefix, fileKey } from '../../format/object-keys.ts';
import { ancestorsOf, directoriesOf, type MemoryPath } from '../../language/path.ts';
import { ageOf } from '../../store/port.ts';
import { beginWait } from '../../waits.ts';
import { type ListedEntry, listDirectory } from '../list-directory.ts';
import { pagesBelow } from '../list-objects.ts';
import { readFile, STAYS_AFTER_MS } from '../read-file.ts';
import type { Work } from '../tenant.ts';

/** A create younger than this may still be about to take itself back (milliseconds, the server's clock). */
const TAKEN_BACK_WITHIN_MS = 3_000;
const LOOK_AGAIN_MS = 100;
/**
 * The longest pause between two looks (milliseconds): a waiting command must leave others room to end what it waits
 * for.
 */
const LONGEST_PAUSE_MS = 1_000;
/** The longest time that a command waits for creates that clash (milliseconds). */
const PATIENCE_MS = 10_000;

type Clash = 'directory_at_path' | 'file_above';

/**
 * Looks for a clash of the file just written at `path` with a directory of its name or with a file above it. One LIST
 * and one HEAD for each ancestor, all at once; ancestors in `known` are directories already and are not asked.
 *
 * When a file and a file below it are created at once, the upper one gives way: its process finds something below and
 * takes it back at once, while the process of the lower one waits up to 3 s for a young file above to go.
 */
export async function findClash(
  work: Work,
  path: MemoryPath,
  known: readonly MemoryPath[] = [],
): Promise<Clash | undefined> {
  const asked = ancestorsOf(path).filter((ancestor) => !known.includes(ancestor));
  const [below, above] = await Promise.all([anythingBelow(work, path), anyFileStays(work, asked)]);
  if (below) return 'directory_at_path';
  return above ? 'file_above' : undefined;
}

/**
 * Tells whether a file at any of `paths` is there and stays beyond 3 s after its creation. One HEAD for each path, all
 * at once; one GET more for each young file. A file that was edited, or that this process knows to stay, counts without
 * a wait.
 */
export async function anyFileStays(work: Work, paths: readonly MemoryPath[]): Promise<boolean> {
  const stays = await Promise.all(paths.map((path) => fileStays(work, path)));
  return stays.some(Boolean);
}

/** Tells whether any file lies below the directory `path`. Pages that hold only tombstones are passed over. */
export async function anythingBelow(work: Work, path: MemoryPath): Promise<boolean> {
  const prefix = directoryPrefix(work.tenant.layout, work.keyring.names, path);
  for await (const page of pagesBelow(work, { prefix, maxKeys: 1 })) {
    if (page.objects.length > 0) return true;
  }
  return false;
}

async function fileStays(work: Work, path: MemoryPath): Promise<boolean> {
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  const { store, sightings, clock, pause } = work.tenant;
  const deadline = clock() + TAKEN_BACK_WITHIN_MS;
  const tell = beginWait('create', { ms: TAKEN_BACK_WITHIN_MS, clock });
  for (let isRead = false; ; isRead = true) {
    const found = await store.head(key, { signal: work.call.signal });
    if (found === undefined) return false;
    const mayGo = (): boolean => !sightings.stays({ key, etag: found.etag });
    if (ageOf(found) > TAKEN_BACK_WITHIN_MS || clock() >= deadline || !mayGo()) return true;
    // This read notes in the sightings whether the file stays. A file that cannot be read may go like any other.
    if (!isRead) await readFile(work, path).catch(() => {});
    if (!mayGo()) return true;
    tell();
    await pause(LOOK_AGAIN_MS, work.call.signal);
  }
}

/** Answers the paths of those given files that lie above or below another of them. */
export function clashingPaths(files: readonly { readonly path: MemoryPath }[]): ReadonlySet<MemoryPath> {
  const paths = files.map(({ path }) => path);
  const directories = directoriesOf(paths);
  const upper = new Set(paths.filter((path) => directories.has(path)));
  const isLower = (path: MemoryPath): boolean => ancestorsOf(path).some((ancestor) => upper.has(ancestor));
  return new Set(upper.size === 0 ? [] : paths.filter((path) => upper.has(path) || isLower(path)));
}

/**
 * Answers the files below `directory`. Lists them again while one of them lies above another and the process that
 * created one of the two may still take it back. Files that have lain like this for a minute were left by a process
 * that died, and stay in the answer.
 *
 * @throws MemoryError `unavailable` when that takes longer than 10 s.
 */
export async function listStaying(
  work: Work,
  directory: MemoryPath,
  first: readonly ListedEntry[],
): Promise<readonly ListedEntry[]> {
  let listed: readonly ListedEntry[] | undefined = first;
  return patiently(work, async () => {
    const files = listed ?? (await listDirectory(work, directory)).files;
    listed = undefined;
    const clashing = clashingPaths(files);
    const youngest = files
      .filter(({ path }) => clashing.has(path))
      .reduce<ListedEntry | undefined>((a, b) => (a && a.lastModified > b.lastModified ? a : b), undefined);
    if (youngest === undefined) return files;
    const found = await work.tenant.store.head(youngest.key, { signal: work.call.signal });
    return found !== undefined && ageOf(found) > STAYS_AFTER_MS ? files : 'again';
  });
}

/**
 * Runs `attempt` until it answers something other than `'again'`, for 10 s: again after 100 ms, then ever more rarely.
 *
 * @throws MemoryError `unavailable` after 10 s.
 */
export async function patiently<T>({ tenant, call }: Work, attempt: () => Promise<T | 'again'>): Promise<T> {
  const deadline = tenant.clock() + PATIENCE_MS;
  const tell = beginWait('create', { ms: PATIENCE_MS, clock: tenant.clock });
  for (let pause = LOOK_AGAIN_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const result = await attempt();
    if (result !== 'again') return result;
    if (tenant.clock() >= deadline) {
      throw new MemoryError('unavailable', 'a file is being created above or below another one');
    }
    tell();
    await tenant.pause(pause, call.signal);
  }
}

export function clashError(clash: Clash): MemoryError {
  return clash === 'directory_at_path'
    ? new MemoryError('is_directory', 'a directory of that path exists', {
        details: { reason: 'target_is_directory' },
      })
    : new MemoryError('already_exists', 'a file lies above that path', { details: { reason: 'below_file' } });
}
