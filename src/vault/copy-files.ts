import pLimit from 'p-limit';
import { MemoryError } from '../errors.ts';
import { type MemoryPath, rebase } from '../memory/path.ts';
import type { ObjectKey } from '../objects/object-store.ts';
import { logicalName } from '../sealing/logical-name.ts';
import { fileKey } from '../sealing/object-keys.ts';
import { rebind } from '../sealing/sealed-object.ts';
import { type ConditionalWrite, confirmedPut, type PutOutcome } from './confirmed-put.ts';
import { type OpenVault, SIDE_BY_SIDE } from './context.ts';
import { type Move, targetExists } from './move-file.ts';
import { readFile } from './read-file.ts';
import { undoPut, type Written } from './undo.ts';

/** One rename of a directory; its id is the origin of every copy it makes. */
export interface DirectoryRename extends Move {
  readonly id: Uint8Array;
}

/** A source file as it was copied, and the copy. */
export interface CopiedFile {
  readonly from: MemoryPath;
  readonly source: Written;
  readonly target: Written;
}

/**
 * Copies all of `files`, or none: after a failure what was copied is taken back. A file that vanished meanwhile is
 * left out. A GET and a PUT each, 32 side by side.
 *
 * @throws MemoryError `already_exists` when somebody else's file lies at a target.
 */
export async function copyFiles(
  vault: OpenVault,
  rename: DirectoryRename,
  files: readonly MemoryPath[],
): Promise<readonly CopiedFile[]> {
  const limit = pLimit(SIDE_BY_SIDE);
  const copied: CopiedFile[] = [];
  const failures: unknown[] = [];
  await Promise.all(
    files.map((from) =>
      limit(async () => {
        if (failures.length > 0) return;
        try {
          const copy = await copyFile(vault, rename, from);
          if (copy !== undefined) copied.push(copy);
        } catch (error) {
          failures.push(error);
        }
      }),
    ),
  );
  if (failures.length === 0) return copied;
  await takeBack(vault, copied);
  throw failures.find(isUnknown) ?? failures[0];
}

function isUnknown(error: unknown): boolean {
  return error instanceof MemoryError && error.code === 'outcome_unknown';
}

async function copyFile(
  vault: OpenVault,
  rename: DirectoryRename,
  from: MemoryPath,
): Promise<CopiedFile | undefined> {
  const copy = await writeCopy(vault, rename, { from, mode: 'create' });
  if (copy === undefined) return undefined;
  if ('conflict' in copy.outcome) throw targetExists();
  return { from, source: copy.source, target: { key: copy.key, etag: copy.outcome.etag } };
}

/**
 * Copies a source that has changed over our older copy of it. Undefined: the source is gone. `'target_changed'`: the
 * copy was changed too, so neither may be touched.
 */
export async function copyAgain(
  vault: OpenVault,
  rename: DirectoryRename,
  older: CopiedFile,
): Promise<CopiedFile | 'target_changed' | undefined> {
  const copy = await writeCopy(vault, rename, { from: older.from, mode: { ifMatch: older.target.etag } });
  if (copy === undefined) return undefined;
  if ('conflict' in copy.outcome) return 'target_changed';
  return { from: older.from, source: copy.source, target: { key: copy.key, etag: copy.outcome.etag } };
}

/**
 * Removes copies that nobody has changed since.
 *
 * @throws MemoryError `outcome_unknown` when one of them may still be there; the others are removed all the same.
 */
export async function takeBack(vault: OpenVault, copied: readonly CopiedFile[]): Promise<void> {
  const limit = pLimit(SIDE_BY_SIDE);
  const undone = await Promise.allSettled(copied.map(({ target }) => limit(() => undoPut(vault, target))));
  const failed = undone.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

interface WrittenCopy {
  readonly source: CopiedFile['source'];
  readonly key: ObjectKey;
  readonly outcome: PutOutcome;
}

async function writeCopy(
  vault: OpenVault,
  rename: DirectoryRename,
  copy: { readonly from: MemoryPath; readonly mode: ConditionalWrite['mode'] },
): Promise<WrittenCopy | undefined> {
  const { names } = vault.keyring;
  const current = await readFile(vault, copy.from);
  if (current === undefined) return undefined;
  const to = rebase(copy.from, rename.from, rename.to);
  const key = fileKey(vault.layout, names, to);
  const sealed = rebind({
    keys: current.keys,
    object: current.stored.body,
    from: logicalName(copy.from),
    to: logicalName(to),
    origin: rename.id,
    random: vault.random,
  });
  const outcome = await confirmedPut(vault, { key, sealed, mode: copy.mode });
  const source = { key: fileKey(vault.layout, names, copy.from), etag: current.stored.etag };
  return { source, key, outcome };
}
