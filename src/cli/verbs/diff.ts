import { readFile as readOwn } from 'node:fs/promises';
import { createTwoFilesPatch } from 'diff';
import { MemoryError } from '../../errors.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { decodeText } from '../../language/text.ts';
import { EXIT_FAILED, type Invocation } from './invocation.ts';
import { type FileRun, readFile, runOnFiles } from './memory.ts';
import { cannotRead } from './own-file.ts';
import type { Terminal } from './terminal.ts';

/** Shows how two files differ; what does not lie below /memories is a file of the user's. Resolves to 1 when they do. */
export function runDiff(
  { left, right }: { readonly left: string; readonly right: string },
  invocation: Invocation,
) {
  return runOnFiles(async (run) => {
    const { report, terminal } = invocation;
    const [before, after] = [await textAt(run, left), await textAt(run, right)];
    const differ = before !== after;
    const patch = differ ? createTwoFilesPatch(left, right, before, after, '', '') : '';
    await report.done({ differ, patch }, differ ? colouredLines(patch, terminal) : []);
    return differ ? EXIT_FAILED : 0;
  }, invocation);
}

async function textAt(run: FileRun, path: string): Promise<string> {
  const bytes = `${path}/`.startsWith(`${MEMORY_ROOT}/`) ? await readFile(run, path) : await readLocal(path);
  const text = decodeText(bytes);
  if (text !== undefined) return text;
  throw new MemoryError('not_text', `${path} is not text.`);
}

async function readLocal(path: string): Promise<Uint8Array> {
  return readOwn(path).catch((error: unknown) => {
    throw cannotRead(path, error);
  });
}

/** Without the line of equals signs that the patch begins with. */
export function colouredLines(patch: string, terminal: Terminal): readonly string[] {
  return patch
    .trimEnd()
    .split('\n')
    .filter((line) => !/^=+$/.test(line))
    .map((line) => {
      if (line.startsWith('+')) return terminal.style('green', line);
      if (line.startsWith('-')) return terminal.style('red', line);
      return line.startsWith('@@') ? terminal.style('cyan', line) : line;
    });
}
