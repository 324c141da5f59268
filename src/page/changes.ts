import { MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import type { Memory } from '../tool/memory-tool.ts';
import type { Tree } from '../tree/tree.ts';
import { costed } from './costs.ts';
import { pathIn, textIn, versionIn } from './inputs.ts';
import type { Changed } from './protocol.ts';
import type { Asking, Questions } from './questions.ts';

/** Who writes, for events and for the history. */
export const PAGE_ACTOR = 'page';

/**
 * What a page that may write asks beside the rest. Everything goes through the policies and limits of any writer, and
 * replaces or deletes nothing but the version that the page has shown.
 *
 * @param tree what the page reads.
 * @param open opens what writes, for the first of them.
 * @param onChanged is called after each.
 */
export function changeQuestions(
  tree: Tree,
  { open, onChanged }: { readonly open: () => Promise<Memory>; readonly onChanged: () => void },
): Questions {
  const changing = (
    change: (input: Readonly<Record<string, unknown>>, asking: Asking) => Promise<Omit<Changed, 'requests'>>,
  ): Questions[string] =>
    costed<Changed>(async (input, asking) => {
      try {
        return await change(input, asking);
      } finally {
        onChanged();
      }
    });
  return {
    /** `version`: what is replaced; null for a new file. */
    write: changing(async (input, { signal }) => {
      const path = pathIn(input);
      const text = textIn(input, 'text');
      return write(await open(), { path, content: text, version: versionIn(input, 'version') }, signal);
    }),
    /** Of a file the version that is deleted; null for a directory. */
    remove: changing(async (input, { signal }) => {
      const path = pathIn(input);
      const version = versionIn(input, 'version');
      const { files } = await open();
      if (version === undefined && (await files.stat(path, { signal }))?.type === 'file') {
        throw new MemoryError('version_conflict', 'That is a file by now.', { retry: 'never' });
      }
      await files.remove(path, { signal, ...(version !== undefined && { ifUnchanged: version }) });
      return { path, isRedacted: false };
    }),
    rename: changing(async (input, { signal }) => {
      const path = pathIn(input, 'to');
      await (await open()).files.rename(pathIn(input), path, { signal });
      return { path, isRedacted: false };
    }),
    /** `version`, and `base`, the one that it replaces: both of the history; null for a file that is gone. */
    restore: changing(async (input, { signal }) => {
      const path = pathIn(input);
      const base = versionIn(input, 'base');
      const memory = await open();
      const { bytes } = await memory.history.read({ path, version: textIn(input, 'version') }, { signal });
      const now = base === undefined ? undefined : await tree.readVersion(path, { signal });
      if (base !== undefined && (now === undefined || toBase64url(now.contentId) !== base)) {
        throw new MemoryError('version_conflict', 'The file is no longer what was shown.', {
          retry: 'never',
        });
      }
      return write(memory, { path, content: bytes, version: now?.etag }, signal);
    }),
  };
}

async function write(
  { files }: Memory,
  file: {
    readonly path: string;
    readonly content: string | Uint8Array;
    readonly version: string | undefined;
  },
  signal: AbortSignal,
): Promise<Omit<Changed, 'requests'>> {
  const { path, content, version } = file;
  let isRedacted = false;
  const onRedacted = (): void => {
    isRedacted = true;
  };
  const mode = version === undefined ? 'create' : { ifUnchanged: version };
  const written = await files.write(path, content, { mode, signal, onRedacted });
  return { path, version: written.version, isRedacted };
}
