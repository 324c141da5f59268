import { hasCode, MemoryError } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import { mergeLines } from '../../language/line-diff.ts';
import { MEMORY_ROOT, type MemoryPath } from '../../language/path.ts';
import { inTurns } from '../../time.ts';
import type { Files, WriteMode } from '../../tool/files.ts';
import type { Memory } from '../../tool/memory-tool.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import type { Tree } from '../../tree/tree.ts';
import type { DirectoryRemoved, ResultOf } from '../protocol.ts';
import type { Answerers } from './answer-questions.ts';
import type { FieldsOf } from './read-fields.ts';

/**
 * Answers the questions that change the memory, for a page that may write. Each obeys the policies and limits of any
 * writer, and replaces or deletes only the version that the page has shown.
 *
 * @param tree what the page reads.
 * @param open opens what writes, for the first of them.
 * @param onChanged is called after each, with the paths at and below which files are others now.
 */
export function answerChanges(
  tree: Tree,
  {
    open,
    onChanged,
  }: {
    readonly open: () => Promise<Memory>;
    readonly onChanged: (paths: readonly MemoryPath[]) => void;
  },
): Answerers {
  const changing =
    <F extends { readonly path: MemoryPath; readonly to?: MemoryPath }, A, R>(
      change: (fields: F, asking: A) => Promise<R>,
    ) =>
    async (fields: F, asking: A): Promise<R> => {
      try {
        return await change(fields, asking);
      } finally {
        const { path, to } = fields;
        onChanged(to === undefined ? [path] : [path, to]);
      }
    };
  return {
    write: changing(async ({ path, text, version }, { signal }) => {
      const mode = version === undefined ? 'create' : { ifUnchanged: version };
      return writeAs((await open()).files, { path, content: text }, mode, signal);
    }),
    merge: changing(async (fields, { signal }) => merge(await open(), fields, signal)),
    writeNewest: changing(async ({ path, text }, { signal }) => {
      const { files, history } = await open();
      if ((await history.state({ signal })) !== 'on') {
        throw new MemoryError(
          'invalid_command',
          'Nothing was written: no history is kept, and what is replaced would be lost.',
        );
      }
      const written = await unlessOthersAreFaster(() =>
        writeAs(files, { path, content: text }, 'replace', signal),
      );
      if (written !== undefined) return written;
      throw new MemoryError('version_conflict', 'Others were faster again and again: try once more.');
    }),
    remove: changing(async ({ path, ...wanted }, { signal }) => {
      const memory = await open();
      if ('files' in wanted) return removeListed(memory, { path, listed: wanted.files }, signal);
      await memory.files.remove(path, { signal, ifUnchanged: wanted.version });
      return { path, isRedacted: false };
    }),
    rename: changing(async ({ path, to }, { signal }) => {
      await (await open()).files.rename(path, to, { signal });
      return { path: to, isRedacted: false };
    }),
    restore: changing(async ({ path, base, version }, { signal }) => {
      const { history } = await open();
      const now = base === undefined ? undefined : await tree.readVersion(path, { signal, ofAnySize: true });
      if (base !== undefined && (now === undefined || toBase64url(now.id) !== base)) {
        throw new MemoryError('version_conflict', 'The file is no longer what was shown.', {
          retry: 'never',
        });
      }
      let isRedacted = false;
      const onRedacted = (): void => {
        isRedacted = true;
      };
      await history.restore({ path, version }, { signal, ifUnchanged: now?.etag ?? null, onRedacted });
      return { path, isRedacted };
    }),
  };
}

const AT_ONCE = { concurrency: 16, concurrentBytes: Number.POSITIVE_INFINITY };

/**
 * Deletes the files below a directory, each only as the version that was listed; deletes none where the directory holds
 * other files by now. What another writer does to a file meanwhile saves it.
 */
async function removeListed(
  { files }: Memory,
  { path, listed }: { readonly path: MemoryPath; readonly listed: ReadonlyMap<string, string> },
  signal: AbortSignal,
): Promise<DirectoryRemoved> {
  if (path === MEMORY_ROOT) {
    throw new MemoryError('invalid_command', 'the root cannot be deleted', { details: { reason: 'root' } });
  }
  if ((await files.stat(path, { signal }))?.type === 'file') {
    throw new MemoryError('version_conflict', 'That is a file by now.', { retry: 'never' });
  }
  const found = new Map<string, string>();
  for await (const entry of files.list(path, { recursive: true, signal })) {
    if (entry.type === 'file') found.set(entry.path, entry.version);
  }
  const differing = [...differences(listed, found)];
  if (differing.length > 0) return { path, isRedacted: false, deleted: 0, differing };
  let deleted = 0;
  await eachConcurrently(AT_ONCE, [...found], async ([each, ifUnchanged]) => {
    try {
      await files.remove(each, { signal, ifUnchanged });
      deleted += 1;
    } catch (error) {
      if (hasCode(error, 'version_conflict')) differing.push({ path: each, what: 'changed' });
      // Another process deleted it, which is all that was asked.
      else if (!hasCode(error, 'not_found')) throw error;
    }
  });
  return { path, isRedacted: false, deleted, differing };
}

function* differences(
  listed: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): Generator<DirectoryRemoved['differing'][number]> {
  for (const [path, version] of found) {
    const shown = listed.get(path);
    if (shown !== version) yield { path, what: shown === undefined ? 'created' : 'changed' };
  }
  for (const path of listed.keys()) if (!found.has(path)) yield { path, what: 'gone' };
}

/** The most attempts at a write that is made anew of what others have written meanwhile. */
const MOST_ATTEMPTS = 16;

/** Attempts a write until no other process comes between; undefined where one does at every attempt. */
async function unlessOthersAreFaster<T>(attempt: () => Promise<T>): Promise<T | undefined> {
  for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!hasCode(error, 'version_conflict')) throw error;
    }
  }
  return undefined;
}

/** Writes the newest version with the changes that a text made to its base. Nothing that others wrote goes. */
async function merge(
  { files }: Memory,
  { path, text, base }: FieldsOf<'merge'>,
  signal: AbortSignal,
): Promise<ResultOf<'merge'>> {
  const merged = await unlessOthersAreFaster(async () => {
    const found = await files.read(path, { signal });
    if (found === undefined) throw new MemoryError('not_found', 'The file is gone.');
    const content = await inTurns(mergeLines(base, text, found.text()), signal);
    if (content === undefined) return undefined;
    return writeAs(files, { path, content }, { ifUnchanged: found.version }, signal);
  });
  return merged === undefined ? { path, isRedacted: false, isMerged: false } : { ...merged, isMerged: true };
}

async function writeAs(
  files: Files,
  { path, content }: { readonly path: string; readonly content: string },
  mode: WriteMode,
  signal: AbortSignal,
): Promise<ResultOf<'write'>> {
  let isRedacted = false;
  const onRedacted = (): void => {
    isRedacted = true;
  };
  const written = await files.write(path, content, { mode, signal, onRedacted });
  return { path, version: written.version, isRedacted };
}
