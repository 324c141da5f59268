import { hasCode, hasReason, MemoryError } from '../../errors.ts';
import { sameBytes, toBase64url } from '../../format/encoding.ts';
import { fileKey } from '../../format/object-keys.ts';
import { ancestorsOf, directoriesOf, type MemoryPath } from '../../language/path.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { type FileVersion, readFile } from '../../tree/read-file.ts';
import { keepNewest } from '../../tree/rename/keep-newest.ts';
import { type CallOptions, type KeptCall, openWork } from '../../tree/tenant.ts';
import type { Tree } from '../../tree/tree.ts';
import { type Change, type LeftFile, renameLayers, type Texts } from './plan.ts';
import { type Writing, writeBack } from './write-back.ts';

interface Applied {
  readonly done: readonly Change[];
  /** Files whose text was taken out of the history meanwhile: they keep the text that they had. */
  readonly redacted: readonly LeftFile[];
  /** The first of the failures that other processes caused meanwhile; the files that they changed stay as they are. */
  readonly conflict: unknown;
}

interface Deeds extends Writing {
  readonly texts: Texts;
  /** Answers the paths at which a version lies: two of them where a rename is under way, or was cut off. */
  readonly placesOf: (version: string) => readonly MemoryPath[];
  /** True: the changes have room only once all deletes are done. */
  readonly isTight: boolean;
}

/**
 * Carries out a plan, each change only where the file still is the version that the plan names. Texts that grow come
 * late: if the policy or a limit refuses one after all, as little as possible is missing from the tree. The first
 * change that finds the history turned off ends the plan, because a version that is replaced must be kept.
 *
 * @throws MemoryError what the tree throws; a plan that is made again continues from there.
 */
export async function applyPlan(deeds: Deeds, changes: readonly Change[]): Promise<Applied> {
  const { tenant, call, texts } = deeds;
  const done: Change[] = [];
  const redacted: LeftFile[] = [];
  let conflict: unknown;
  const planned = new Set<string>(changes.map(({ path }) => path));
  const doOne = async (change: Change): Promise<void> => {
    try {
      await apply(deeds, change, planned);
      done.push(change);
      call.onProgress?.({ done: done.length, total: changes.length });
    } catch (error) {
      if (!isConflict(error)) throw error;
      conflict ??= error;
      if (hasReason(error, 'redacted')) redacted.push(leftRedacted(change));
    }
  };
  const bytesOf = ({ fromVersion, toVersion }: Change): number =>
    texts.sizeOf(fromVersion) + texts.sizeOf(toVersion);
  for (const step of stepsOf(deeds, changes)) await eachConcurrently(tenant, step, doOne, bytesOf);
  return { done, redacted, conflict };
}

/**
 * Orders changes into steps: first the deletes that make way for another change, then renames, then texts that get
 * shorter, then texts that get longer. All other deletes come last, or before the longer texts where these have no room
 * otherwise.
 */
function stepsOf({ texts, isTight }: Deeds, changes: readonly Change[]): readonly (readonly Change[])[] {
  const { layers } = renameLayers(changes.filter(({ what }) => what === 'rename'));
  const taken = new Set(changes.flatMap(({ what, path, to }) => (what === 'create' ? [path] : (to ?? []))));
  const above = directoriesOf([...taken]);
  const makesWay = ({ path }: Change): boolean =>
    taken.has(path) || above.has(path) || ancestorsOf(path).some((each) => taken.has(each));
  const deletes = Map.groupBy(
    changes.filter(({ what }) => what === 'delete'),
    makesWay,
  );
  const isGrowing = ({ what, fromVersion, toVersion }: Change): boolean =>
    what === 'create' || texts.sizeOf(toVersion) > texts.sizeOf(fromVersion);
  const writes = Map.groupBy(
    changes.filter(({ what }) => what === 'create' || what === 'replace'),
    isGrowing,
  );
  const [others, growing] = [deletes.get(false) ?? [], writes.get(true) ?? []];
  const last = isTight ? [others, growing] : [growing, others];
  return [deletes.get(true) ?? [], ...layers, writes.get(false) ?? [], ...last];
}

async function apply(
  deeds: Deeds,
  { path, fromVersion, toVersion, to }: Change,
  planned: ReadonlySet<string>,
): Promise<void> {
  const { tree, call, texts } = deeds;
  const { onProgress: _, ...rest } = call;
  // Each change loads the keyring: another process may have turned the history off since the plan was made.
  const quiet: KeptCall = { ...rest, keptOnly: true };
  const former = { ...quiet, wasThere: true };
  const now = fromVersion === undefined ? undefined : await versionAt(tree, path, fromVersion, quiet);
  if (now !== undefined && to !== undefined) {
    return tree.rename({ from: path, to, version: now.etag }, former);
  }
  if (now !== undefined && toVersion === undefined) {
    const other = deeds.placesOf(toBase64url(now.id)).find((each) => !planned.has(each));
    if (other !== undefined) return keepAt(deeds, quiet, other, [path, now]);
    return tree.remove(path, { ...quiet, version: now.etag });
  }
  const found = toVersion === undefined ? undefined : await texts.find(toVersion);
  if (found === undefined) throw changedMeanwhile();
  await writeBack({ ...deeds, call: quiet }, { ...found, path, replaced: now });
}

/**
 * Deletes a file at one of two places, as a rename that was cut off would have. First it makes certain that the file
 * stays at the other place, also against a process that is renaming it at this moment.
 *
 * @throws MemoryError `version_conflict` where the file no longer lies at both.
 */
async function keepAt(
  { tenant }: Deeds,
  call: KeptCall,
  to: MemoryPath,
  [path, now]: readonly [MemoryPath, FileVersion],
): Promise<void> {
  const work = await openWork(tenant, call);
  const found = work && (await readFile(work, to));
  if (work === undefined || found === undefined || !sameBytes(found.id, now.id)) throw changedMeanwhile();
  const keyOf = (each: MemoryPath) => fileKey(tenant.layout, work.keyring.names, each);
  const newest = { path: to, key: keyOf(to), etag: found.stored.etag };
  const removed = await keepNewest(work, newest, [{ ...now, path, key: keyOf(path) }]);
  if (removed.length === 0) throw changedMeanwhile();
}

function leftRedacted({ path, toVersion: version }: Change): LeftFile {
  return { path, reason: 'redacted', ...(version !== undefined && { version }) };
}

/**
 * Reads the file if it still is that version. @throws MemoryError `version_conflict` where it is another one, or gone.
 */
async function versionAt(
  tree: Tree,
  path: MemoryPath,
  version: string,
  call: CallOptions,
): Promise<FileVersion> {
  const found = await tree.readVersion(path, { ...call, ofAnySize: true });
  if (found !== undefined && toBase64url(found.id) === version) return found;
  throw changedMeanwhile();
}

function changedMeanwhile(): MemoryError {
  return new MemoryError('version_conflict', 'The file was changed by another process meanwhile.');
}

function isConflict(error: unknown): boolean {
  return hasCode(error, 'version_conflict', 'already_exists', 'is_directory', 'not_found');
}
