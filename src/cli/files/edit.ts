import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { hasCode, MemoryError, misconfigured } from '../../errors.ts';
import { sameBytes } from '../../format/encoding.ts';
import { processEnvironment } from '../../open/options/environment.ts';
import type { WriteMode } from '../../tool/files.ts';
import { type ChosenVerb, type Invocation, ofOneChange, wrongCall } from '../run/invocation.ts';
import { type FileRun, runOnFiles } from '../run/memory.ts';
import { removingAfter } from '../run/own-file.ts';
import { pathArgument } from '../run/typed.ts';
import { redactionLines } from '../show/redaction-lines.ts';

/** The number that a shell adds to the number of the signal that ended a program, to make its exit code. */
const SIGNALLED = 128;

/** Declares `edit`. */
export function declareEdit(program: Command, run: ChosenVerb<typeof runEdit>): void {
  program
    .command('edit')
    .addArgument(pathArgument('<path>'))
    .description('open a file in $EDITOR, and write it back unless another writer changed it')
    .action((path: string) => run(path));
}

/**
 * Opens a file in the user's editor ($VISUAL, $EDITOR, or vi) and writes it back where it was changed; a path without a
 * file begins a new one. While the editor is open the text lies in a temporary folder of mode 0700. It is removed,
 * unless another writer changed the file in the meantime: then it stays, and the failure names it. Without a terminal
 * nothing is read.
 */
export async function runEdit(path: string, invocation: Invocation): Promise<number> {
  const { report, signal } = invocation;
  const { isInteractive, isForEyes } = invocation.terminal;
  if (!isInteractive || !isForEyes) {
    throw wrongCall(
      '"edit" needs a terminal for the editor: in a script, "get" and "put" read and write a file',
    );
  }
  const edit = async (run: FileRun): Promise<number> => {
    const found = await report.during(`reading ${path}`, () => run.files.read(path, { signal }));
    const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-edit-'));
    return removingAfter(folder, async (keep) => {
      const copy = join(folder, basename(path));
      await writeFile(copy, found?.bytes ?? '', { mode: 0o600 });
      await openEditor(copy, invocation);
      const edited = await readFile(copy);
      const isChanged = found === undefined ? edited.length > 0 : !sameBytes(found.bytes, edited);
      if (!isChanged) {
        await invocation.report.done({ path, changed: false }, [`${path} was not changed`]);
        return 0;
      }
      const mode = found === undefined ? 'create' : { ifUnchanged: found.version };
      await writeBack(run, { path, copy, edited, mode }).catch((error: unknown) => {
        keep();
        throw error;
      });
      return 0;
    });
  };
  return runOnFiles(edit, invocation, { interrupted: ofOneChange });
}

async function openEditor(file: string, { ignoreCtrlC }: Invocation): Promise<void> {
  const { VISUAL, EDITOR } = processEnvironment();
  const editor = VISUAL || EDITOR || 'vi';
  // The variable may hold arguments, as in "code --wait"; a shell splits it as the user's own would. Ctrl-C goes to the
  // editor: the shell survives it, and its trap does not reach the editor.
  ignoreCtrlC();
  const command = `trap : INT QUIT; ${editor} "$1"`;
  const child = spawn('sh', ['-c', command, 'sh', file], { stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === null || code > SIGNALLED) throw new MemoryError('aborted', 'A signal ended the editor.');
  if (code !== 0) throw misconfigured(`The editor failed (${editor}); nothing was changed.`);
}

async function writeBack(
  { files, invocation }: FileRun,
  {
    path,
    copy,
    edited,
    mode,
  }: { readonly path: string; readonly copy: string; readonly edited: Uint8Array; readonly mode: WriteMode },
): Promise<void> {
  try {
    const written = await invocation.report.during(`writing ${path}`, () =>
      files.write(path, edited, { mode }),
    );
    const lines = [`${path} was written`, ...redactionLines(path, written.redacted)];
    await invocation.report.done({ ...written, changed: true }, lines);
  } catch (error) {
    const why = hasCode(error, 'version_conflict', 'already_exists')
      ? 'changed while it was edited'
      : 'could not be written';
    const code = error instanceof MemoryError ? error.code : 'unavailable';
    throw new MemoryError(code, `${path} ${why}; your text is kept in ${copy}.`, { cause: error });
  }
}
