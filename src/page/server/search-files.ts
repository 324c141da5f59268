import { hasCode, isDamaged } from '../../errors.ts';
import { MEMORY_ROOT, type MemoryPath } from '../../language/path.ts';
import { decodeText, findInLines } from '../../language/text.ts';
import { inTurns, throwIfAborted } from '../../time.ts';
import type { Tree } from '../../tree/tree.ts';
import type { FoundLine, LineOf, ResultOf } from '../protocol.ts';
import type { Asking } from './answer-questions.ts';
import { countUnseen } from './content.ts';

/** Files that are read at once. */
const CONCURRENCY = 8;
/** The search ends at so many lines. */
const MOST_LINES = 500;
/** Characters of a line that are shown, and those of them before the place. */
const LINE_LENGTH = 160;
const LEAD = 40;

/** The files that are searched. */
interface Searched {
  paths(signal: AbortSignal): Promise<readonly MemoryPath[]>;
  read(path: MemoryPath, signal: AbortSignal): Promise<ReadFile | undefined>;
}

interface ReadFile {
  readonly content: Uint8Array;
  readonly version: string;
}

export function searchedTree(tree: Tree): Searched {
  return {
    paths: async (signal) => (await tree.list(MEMORY_ROOT, { signal })).files.map(({ path }) => path),
    async read(path, signal) {
      const found = await tree.readVersion(path, { signal });
      return found && { content: found.content, version: String(found.etag) };
    },
  };
}

/**
 * Reads every file and sends each line that holds the text, whatever its case, and how many characters of a file cannot
 * be seen. Nothing of it is kept: no index, no cache of texts.
 */
export async function searchFiles(
  files: Searched,
  text: string,
  { signal, send }: Asking<LineOf<'search'>>,
): Promise<ResultOf<'search'>> {
  const wanted = text.toLowerCase();
  const paths = await files.paths(signal);
  const waiting = paths.values();
  let [done, lines, unread] = [0, 0, 0];

  const readOn = async (): Promise<void> => {
    for (const path of waiting) {
      throwIfAborted(signal);
      const file = await files.read(path, signal).catch(unreadOrThrown);
      if (file === 'unread') unread += 1;
      const { content, version } = typeof file === 'object' ? file : NOTHING;
      const found = await inTurns(linesWith(wanted, decodeText(content) ?? ''), signal);
      const unseen = await countUnseen(content, signal);
      done += 1;
      if (unseen > 0) await send({ path, version, unseen });
      for (const line of found) {
        if (lines === MOST_LINES) return;
        lines += 1;
        await send({ path, ...line });
      }
      if (done % CONCURRENCY === 0) await send({ done, total: paths.length });
    }
  };
  if (wanted !== '') await Promise.all(Array.from({ length: CONCURRENCY }, readOn));
  return { files: done, lines, unread, isCut: lines === MOST_LINES };
}

const NOTHING: ReadFile = { content: new Uint8Array(), version: '' };

/**
 * Passes over a file that is damaged or too large, or listed under a name that no file can have, so that the search
 * goes on.
 */
function unreadOrThrown(error: unknown): 'unread' {
  if (isDamaged(error) || hasCode(error, 'invalid_path')) return 'unread';
  throw error;
}

function linesWith(wanted: string, text: string): Generator<void, readonly Omit<FoundLine, 'path'>[]> {
  return findInLines(text, (line, number) => {
    const at = line.toLowerCase().indexOf(wanted);
    if (at === -1) return undefined;
    const start = Math.max(0, at - LEAD);
    return { line: number, text: `${start > 0 ? '…' : ''}${line.slice(start, start + LINE_LENGTH)}` };
  });
}
