import { MemoryError } from '../../src/errors.ts';
import type { ETag } from '../../src/store/port.ts';
import type { Tree } from '../../src/tree/tree.ts';
import type { Command } from './history.ts';

/** Carries `act` out as a command of the process, and throws what it throws. */
export type Recorder = <T>(command: Command, act: () => Promise<T>) => Promise<T>;

/** Wraps the tree, and notes each write to it in the history as the command that does the same. */
export function recordCommands(tree: Tree, record: Recorder): Tree {
  const texts = new Map<string, string>();
  /** Notes a text that is written, which may be replaced again like any text that was read. */
  const noting = async (content: Uint8Array, write: () => Promise<ETag>): Promise<ETag> => {
    const etag = await write();
    texts.set(etag, textOf(content));
    return etag;
  };
  return {
    ...tree,
    async readVersion(path, options) {
      const found = await tree.readVersion(path, options);
      if (found !== undefined) texts.set(found.etag, textOf(found.content));
      return found;
    },
    create: (path, content, options = {}) =>
      record({ command: 'create', path, file_text: textOf(content) }, () =>
        noting(content, () => tree.create(path, content, options)),
      ),
    replace(path, { content, version }, options = {}) {
      const command: Command = {
        command: 'str_replace',
        path,
        old_str: texts.get(version) ?? '',
        new_str: textOf(content),
      };
      return record(command, () => noting(content, () => tree.replace(path, { content, version }, options)));
    },
    remove: (path, options = {}) => record({ command: 'delete', path }, () => tree.remove(path, options)),
    rename: (rename, options = {}) =>
      record({ command: 'rename', old_path: rename.from, new_path: rename.to }, () =>
        tree.rename(rename, options),
      ),
  };
}

/**
 * Makes the result of a command that failed. The failed delete of one version says only that it did nothing, not what
 * lies at the path.
 */
export function failureOf(
  { command }: Command,
  error: unknown,
): { readonly ok: false; readonly code: string; readonly reason: string | undefined } {
  if (!(error instanceof MemoryError)) throw error;
  const { code, details } = error;
  const isOther = command === 'delete' && (code === 'version_conflict' || code === 'not_found');
  const reason = details['reason'];
  return {
    ok: false,
    code: isOther ? 'aborted' : code,
    reason: typeof reason === 'string' ? reason : undefined,
  };
}

function textOf(content: Uint8Array): string {
  return new TextDecoder().decode(content);
}
