import { hasCode } from '../errors.ts';
import type { Memory } from '../tool/memory-tool.ts';

/** A text file of the memory, read and written by the same commands that Claude has. */
export interface ProjectFile {
  /**
   * What stands between its line breaks, so that a final one leaves an empty text; undefined when there is no file. A
   * line longer than a view shows is cut.
   */
  read(): Promise<readonly string[] | undefined>;
  /** False when the file was there before; it is then left alone. */
  createIfAbsent(text: string): Promise<boolean>;
  replace(oldText: string, newText: string): Promise<void>;
  /** @throws MemoryError `line_out_of_range` when the file has fewer lines by now. */
  insertAfter(line: number, text: string): Promise<void>;
}

/** Lines that one view showed, and the number of the next one it did not. */
interface Page {
  readonly lines: readonly string[];
  readonly next: number | undefined;
}

const NUMBERED = /^ *\d+\t/;
const CONTINUE = /^\(.*Continue with view_range \[(\d+), -1\]\.\)$/;

/** Every method throws the `MemoryError` of the command that failed. */
export function projectFile(
  memory: Pick<Memory, 'execute'>,
  options: { readonly path: string; readonly signal?: AbortSignal | undefined },
): ProjectFile {
  const { path, signal } = options;
  const run = async (input: object): Promise<string> => {
    const result = await memory.execute(input, { signal });
    if (result.isError) throw result.error;
    return String(result.content);
  };

  const readFrom = async (line: number): Promise<Page> => {
    const view_range = line === 1 ? {} : { view_range: [line, -1] };
    const shown = (await run({ command: 'view', path, ...view_range })).split('\n');
    const more = CONTINUE.exec(shown.at(-1) ?? '')?.[1];
    return {
      lines: shown.filter((each) => NUMBERED.test(each)).map((each) => each.replace(NUMBERED, '')),
      next: more === undefined ? undefined : Number(more),
    };
  };

  const read: ProjectFile['read'] = async () => {
    const first = await readFrom(1).catch(absent);
    if (first === undefined) return undefined;
    const lines = [...first.lines];
    for (let { next } = first; next !== undefined; ) {
      const page = await readFrom(next);
      lines.push(...page.lines);
      next = page.next;
    }
    return lines;
  };

  return {
    read,
    async createIfAbsent(file_text) {
      // A memory that overwrites existing files would not refuse the create.
      if ((await read()) !== undefined) return false;
      return run({ command: 'create', path, file_text }).then(() => true, unlessExisting);
    },
    async replace(old_str, new_str) {
      await run({ command: 'str_replace', path, old_str, new_str });
    },
    async insertAfter(insert_line, insert_text) {
      await run({ command: 'insert', path, insert_line, insert_text });
    },
  };
}

function absent(error: unknown): undefined {
  if (hasCode(error, 'not_found')) return undefined;
  throw error;
}

function unlessExisting(error: unknown): false {
  if (hasCode(error, 'already_exists')) return false;
  throw error;
}
