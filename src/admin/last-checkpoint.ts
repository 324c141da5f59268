import { hasCode, isDamaged } from '../errors.ts';
import { keyOfAny } from '../format/object-keys.ts';
import { encodeText } from '../language/text.ts';
import type { ListedEntry } from '../tree/list-directory.ts';
import type { Work } from '../tree/session.ts';
import type { CheckpointEntry } from './checkpoint-record.ts';
import { readHead, readLeaves } from './read-checkpoint.ts';

/** The entries of the last checkpoint. What cannot be read is as if it were not there. */
export interface LastCheckpoint {
  /** What it says of the file; asked for in the order of a listing. */
  find(file: ListedEntry): Promise<CheckpointEntry | undefined>;
}

/** @param newest its number; 0 without any. */
export function openLastCheckpoint(work: Work, newest: number): LastCheckpoint {
  const entries = entriesOf(work, newest);
  let next: { readonly entry: CheckpointEntry; readonly key: Uint8Array } | undefined;
  const { layout } = work.session;
  const { names } = work.keyring;
  const advance = async (): Promise<void> => {
    const { done, value: entry } = await entries.next();
    next =
      done === true || !entry ? undefined : { entry, key: encodeText(keyOfAny(layout, names, entry.path)) };
  };
  let begun = false;
  return {
    async find({ key, path }) {
      if (!begun) await advance();
      begun = true;
      const wanted = encodeText(key);
      while (next !== undefined && isBefore(next.key, wanted)) await advance();
      return next?.entry.path === path ? next.entry : undefined;
    },
  };
}

async function* entriesOf(work: Work, newest: number): AsyncGenerator<CheckpointEntry, void, undefined> {
  try {
    const head = newest === 0 ? undefined : await readHead(work, newest);
    if (head === undefined) return;
    for await (const { entry } of readLeaves(work, head)) yield entry;
  } catch (error) {
    if (!isDamaged(error) && !hasCode(error, 'unsupported_format')) throw error;
    work.session.logger.warn('the last checkpoint cannot be read; every file is read instead', {
      code: error.code,
    });
  }
}

function isBefore(left: Uint8Array, right: Uint8Array): boolean {
  const at = left.findIndex((byte, index) => byte !== right[index]);
  return at === -1 ? left.length < right.length : (left[at] ?? 0) < (right[at] ?? -1);
}
