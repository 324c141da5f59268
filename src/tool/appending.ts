import { hasCode, hasReason } from '../errors.ts';
import type { MemoryPath } from '../language/path.ts';
import type { CallOptions } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';
import { refuseTooLarge } from './file-arguments.ts';

/** Appends bytes to a file, or creates it with them. */
type AppendToFile = (path: MemoryPath, more: Uint8Array, options: CallOptions) => Promise<void>;

interface AppendingOptions {
  readonly tree: Pick<Tree, 'edit' | 'create'>;
  readonly maxFileBytes: number;
}

/** The most times that another process may remove or create the file of an append in between. */
const ROUNDS = 16;

/**
 * Makes the function for appends. Appends to one path end in the order of their calls; those that come together share
 * their writes.
 */
export function createAppending(options: AppendingOptions): AppendToFile {
  /** The first of several appends at once, by path: the others follow together, once the file certainly exists. */
  const leading = new Map<MemoryPath, Promise<void>>();
  const append: AppendToFile = (...call) => appendUntilDone(options, ...call);

  return async (...call) => {
    const [path] = call;
    const leader = leading.get(path);
    if (leader !== undefined) {
      await leader;
      return append(...call);
    }
    const appended = append(...call);
    const ended = appended.catch(() => {});
    leading.set(path, ended);
    // The deletion comes before waiting calls go on, so that later calls stay after them.
    void ended.then(() => leading.delete(path));
    return appended;
  };
}

async function appendUntilDone(options: AppendingOptions, ...call: Parameters<AppendToFile>): Promise<void> {
  for (let round = 1; ; round++) {
    try {
      return await appendOnce(options, ...call);
    } catch (error) {
      // Another writer created the file between the look for it and the create.
      const isFile = hasCode(error, 'already_exists') && !hasReason(error, 'below_file');
      if (!isFile || round === ROUNDS) throw error;
    }
  }
}

async function appendOnce(
  { tree, maxFileBytes }: AppendingOptions,
  ...[path, more, options]: Parameters<AppendToFile>
): Promise<void> {
  const edit = (content: Uint8Array) => {
    refuseTooLarge(content.length + more.length, maxFileBytes);
    const joined = new Uint8Array(content.length + more.length);
    joined.set(content);
    joined.set(more, content.length);
    return { content: joined, result: undefined };
  };
  try {
    await tree.edit(path, edit, options);
  } catch (error) {
    if (!hasCode(error, 'not_found')) throw error;
    await tree.create(path, more, options);
  }
}
