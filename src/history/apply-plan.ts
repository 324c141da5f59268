import { hasCode, MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import type { MemoryPath } from '../language/path.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import type { FileVersion } from '../tree/read-file.ts';
import type { Call, KeptCall, Session } from '../tree/session.ts';
import type { Tree } from '../tree/tree.ts';
import { type PlannedChange, renameLayers } from './plan.ts';

interface Applied {
  readonly done: readonly PlannedChange[];
  /** The first failure of those that other processes caused meanwhile: what they changed stays as it is. */
  readonly conflict: unknown;
}

interface Deeds {
  readonly session: Session;
  readonly tree: Tree;
  readonly call: Call;
  /** The text of a version in the plan; undefined where it is gone, which counts as a conflict. */
  textOf(version: string): Promise<Uint8Array | undefined>;
}

/**
 * Does what a plan says: deletes, then renames, then writes, each only where the file still is the version that the plan
 * names. Versions must be kept by the tenant, for a file may be deleted before its text is written elsewhere: the first change
 * that finds history turned off ends it.
 *
 * @throws MemoryError what the tree throws; a plan that is made again continues from there.
 */
export async function applyPlan(deeds: Deeds, changes: readonly PlannedChange[]): Promise<Applied> {
  const { session, call } = deeds;
  const done: PlannedChange[] = [];
  let conflict: unknown;
  const doOne = async (change: PlannedChange): Promise<void> => {
    try {
      await apply(deeds, change);
      done.push(change);
      call.onProgress?.({ done: done.length, total: changes.length });
    } catch (error) {
      if (!isConflict(error)) throw error;
      conflict ??= error;
    }
  };
  const { layers } = renameLayers(changes.filter(({ what }) => what === 'rename'));
  const deletes = changes.filter(({ what }) => what === 'delete');
  const writes = changes.filter(({ what }) => what === 'create' || what === 'replace');
  for (const step of [deletes, ...layers, writes]) await eachConcurrently(session, step, doOne);
  return { done, conflict };
}

async function apply({ tree, call, textOf }: Deeds, change: PlannedChange): Promise<void> {
  const { path, fromVersion, toVersion, to } = change as PlannedChange & {
    readonly path: MemoryPath;
    readonly to?: MemoryPath;
  };
  const { onProgress: _, ...rest } = call;
  // Each change loads the keyring, which another process may have turned since the plan was made.
  const quiet: KeptCall = { ...rest, keptOnly: true };
  const former = { ...quiet, wasThere: true };
  const now = fromVersion === undefined ? undefined : await versionAt(tree, path, fromVersion, quiet);
  if (now !== undefined && to !== undefined) {
    return tree.rename({ from: path, to, version: now.etag }, former);
  }
  if (now !== undefined && toVersion === undefined) return tree.remove(path, { ...quiet, version: now.etag });
  const content = toVersion === undefined ? undefined : await textOf(toVersion);
  if (content === undefined) throw changedMeanwhile();
  if (now === undefined) await tree.create(path, content, former);
  else await tree.replace(path, { content, version: now.etag }, quiet);
}

/** @throws MemoryError `version_conflict` where the file is another version, or gone. */
async function versionAt(tree: Tree, path: MemoryPath, version: string, call: Call): Promise<FileVersion> {
  const found = await tree.readVersion(path, call);
  if (found !== undefined && toBase64url(found.contentId) === version) return found;
  throw changedMeanwhile();
}

function changedMeanwhile(): MemoryError {
  return new MemoryError('version_conflict', 'The file was changed by another process meanwhile.');
}

function isConflict(error: unknown): boolean {
  return hasCode(error, 'version_conflict', 'already_exists', 'is_directory', 'not_found');
}
