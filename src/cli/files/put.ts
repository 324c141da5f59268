import type { Command } from 'commander';
import { MemoryError } from '../../errors.ts';
import type { FileStat, Files } from '../../tool/files.ts';
import { type ChosenVerb, type Invocation, ofOneChange } from '../run/invocation.ts';
import { type FileRun, runOnFiles, worded } from '../run/memory.ts';
import { readSource, type SourceOptions } from '../run/source.ts';
import { pathArgument, withSource } from '../run/typed.ts';
import { redactionLines } from '../show/redaction-lines.ts';
import { counted } from '../show/report.ts';

/** Declares `put`. */
export function declarePut(program: Command, run: ChosenVerb<typeof runPut>): void {
  withSource(
    program
      .command('put')
      .addArgument(pathArgument('<path>'))
      .description('write a file, new or in place of the old one'),
  )
    .option('--create', 'never replace a file')
    .option('--append', 'add to the end of the file')
    .action((path: string, options: PutArguments) => run(path, options));
}

interface PutArguments extends SourceOptions {
  /** Never replaces a file. */
  readonly create?: boolean;
  /** Adds the content to the end of the file. */
  readonly append?: boolean;
}

export function runPut(path: string, { create, append, ...source }: PutArguments, invocation: Invocation) {
  const put = async ({ files, options }: FileRun): Promise<number> => {
    const { terminal, report, signal } = invocation;
    const content = await readSource(source, { terminal, options, signal });
    const write = <T>(work: () => Promise<T>): Promise<T> =>
      report.during(`writing ${path}`, () => worded({ command: 'create', path }, work));
    if (append === true) {
      const { redacted } = await write(() => files.append(path, content, { signal }));
      const { size } = await requireFile(files, path, invocation);
      const appended = content.length;
      await report.done({ path, appended, size, ...(redacted && { redacted }) }, [
        `ok    ${counted(appended, 'byte')} appended to ${path}, which has ${counted(size, 'byte')} now`,
        ...redactionLines(path, redacted),
      ]);
    } else {
      const mode = create === true ? 'create' : 'replace';
      const written = await write(() => files.write(path, content, { mode, signal }));
      await report.done({ ...written }, redactionLines(path, written.redacted));
    }
    return 0;
  };
  return runOnFiles(put, invocation, { interrupted: ofOneChange });
}

async function requireFile(files: Files, path: string, { signal }: Invocation): Promise<FileStat> {
  const found = await files.stat(path, { signal });
  if (found?.type === 'file') return found;
  throw new MemoryError('not_found', `The text was appended, and ${path} was removed or renamed since.`);
}
