import { type Command, InvalidArgumentError } from 'commander';
import type { ExportArguments } from '../files/export.ts';
import type { CatArguments, GrepArguments, LineRange, PutArguments } from '../files/files.ts';
import type { ImportArguments } from '../files/import.ts';
import type { ListArguments } from '../files/list.ts';
import { type Choose, forReaders } from '../run/choose.ts';
import {
  collect,
  isOfVersions,
  orRefused,
  pathArgument,
  typedPath,
  typedSide,
  withSource,
} from '../run/typed.ts';

const ROOT = '/memories';

/** Adds the commands on files, for people and scripts. */
export function addFileVerbs(program: Command, choose: Choose): void {
  addListing(program, choose);
  addReadingAndWriting(program, choose);
  addWholeTrees(program, choose);
}

function addListing(program: Command, choose: Choose): void {
  program
    .command('ls')
    .addArgument(pathArgument('[path]'))
    .description('list a directory')
    .option('-l, --long', 'with sizes and times')
    .option('-R, --recursive', 'every file below it')
    .action((path: string = ROOT, options: ListArguments) =>
      choose(forReaders(async (run) => (await listing()).runLs(path, options, run))),
    );
  program
    .command('tree')
    .addArgument(pathArgument('[path]'))
    .description('draw all that lies below a directory')
    .action((path: string = ROOT) => choose(forReaders(async (run) => (await listing()).runTree(path, run))));
  program
    .command('du')
    .addArgument(pathArgument('[path]'))
    .description('sum up sizes below a directory')
    .action((path: string = ROOT) => choose(forReaders(async (run) => (await listing()).runDu(path, run))));
  program
    .command('stat')
    .addArgument(pathArgument('<path>'))
    .description('show size, time and version')
    .action((path: string) => choose(async (run) => (await listing()).runStat(path, run)));
  program
    .command('grep <pattern>')
    .addArgument(pathArgument('[path]'))
    .description('search the lines of all files; exit code 1 when none matches')
    .option('-i, --ignore-case', 'capitals count as small letters')
    .option('-F, --fixed-strings', 'the pattern is a text, no regular expression')
    .option('-l, --files-with-matches', 'print paths alone')
    .action((pattern: string, path: string = ROOT, options: GrepArguments) =>
      choose(forReaders(async (run) => (await files()).runGrep({ pattern, path }, options, run))),
    );
}

function addReadingAndWriting(program: Command, choose: Choose): void {
  program
    .command('cat')
    .addArgument(pathArgument('<path...>'))
    .description('write files to standard output')
    .option('--lines <first,last>', 'some lines of a text, such as 10,20; 10, to the end', parseLines)
    .action((paths: string[], options: CatArguments) =>
      choose(forReaders(async (run) => (await files()).runCat(paths, options, run))),
    );
  withSource(
    program
      .command('put')
      .addArgument(pathArgument('<path>'))
      .description('write a file of any bytes, new or in place of the old'),
  )
    .option('--create', 'never replace a file')
    .option('--append', 'behind what is there')
    .action((path: string, options: PutArguments) =>
      choose(async (run) => (await files()).runPut(path, options, run)),
    );
  program
    .command('get')
    .addArgument(pathArgument('<path>'))
    .argument('[file]')
    .description('write a file to one of yours; - for standard output')
    .option('-f, --force', 'replace a file that is there')
    .action((path: string, to: string | undefined, { force }: { readonly force?: boolean }) =>
      choose(async (run) => (await files()).runGet(path, { to, ...(force && { force }) }, run)),
    );
  program
    .command('edit')
    .addArgument(pathArgument('<path>'))
    .description('open a file in $EDITOR, and write it back unless another writer changed it')
    .action((path: string) => choose(async (run) => (await import('../files/edit.ts')).runEdit(path, run)));
  program
    .command('diff')
    .usage('[options] <left> <right> | <path> <version> [version]')
    .argument('<left>', 'a path of the memory; a file of yours begins with ./ or ../ or /')
    .argument('<right>', 'the same, or a version of the file at the first one')
    .argument('[version]', 'a second version; without it, what the file holds now')
    .description('show how two files differ, or two versions of a file as "log" names them')
    .action((first: string, second: string, version: string | undefined, _: unknown, command: Command) => {
      const left = orRefused(command, () => typedSide(first));
      const right = isOfVersions({ left, right: second, version })
        ? second
        : orRefused(command, () => typedSide(second));
      choose(async (run) => (await import('../files/diff.ts')).runDiff({ left, right, version }, run));
    });
}

function addWholeTrees(program: Command, choose: Choose): void {
  program
    .command('cp')
    .addArgument(pathArgument('<from>'))
    .addArgument(pathArgument('<to>'))
    .description('copy a file')
    .option('-r, --recursive', 'a directory with all below it')
    .option('-f, --force', 'replace files that are there')
    .action((from: string, to: string, options: { readonly recursive?: boolean; readonly force?: boolean }) =>
      choose(async (run) => (await files()).runCp({ from, to }, options, run)),
    );
  program
    .command('mv')
    .addArgument(pathArgument('<from>'))
    .addArgument(pathArgument('<to>'))
    .description('rename a file or a directory')
    .action((from: string, to: string) => choose(async (run) => (await files()).runMv({ from, to }, run)));
  program
    .command('rm')
    .addArgument(pathArgument('<path...>'))
    .description('remove files')
    .option('-r, --recursive', 'directories with all below them')
    .option('-f, --force', 'no failure where there is nothing')
    .action((paths: string[], options: { readonly recursive?: boolean; readonly force?: boolean }) =>
      choose(async (run) => (await files()).runRm(paths, options, run)),
    );
  program
    .command('import <folder>')
    .addArgument(pathArgument('[path]'))
    .description(
      "write all files of a folder into the memory; also of the SDK's filesystem tool or Claude Code's memory",
    )
    .option('-f, --force', 'replace files that differ')
    .action((from: string, path: string = ROOT, options: ImportArguments) =>
      choose(async (run) => (await import('../files/import.ts')).runImport({ from, path }, options, run)),
    );
  program
    .command('export')
    .usage('[options] [path] <folder> | --from <backup> <folder>')
    .argument('[folder]', 'where to, after the path of what to write; with --age or --html the file to make')
    .argument('[folder]')
    .description(
      'write files of the memory into a folder, as they are; or all files of a sealed backup, opened and checked, into a new one',
    )
    .option('-f, --force', 'replace what differs')
    .option(
      '--from <backup>',
      'a backup in place of the memory: a folder of raw objects, s3://bucket/prefix or sqlite:PATH; the folder is made as a whole or not at all',
    )
    .option(
      '--age <recipient>',
      'one archive instead, encrypted for a recipient, which "age" and "tar" open',
      collect,
    )
    .option('--html', 'one page instead, for a reviewer with a browser; in plain text, for its owner alone')
    .action(
      (first: string | undefined, second: string | undefined, given: FromArguments, command: Command) => {
        const { from, ...options } = given;
        if (first === undefined) {
          const isOneFile = options.html === true || options.age !== undefined;
          const missing = isOneFile
            ? 'the file to make, such as memory.html or memory.tar.age'
            : 'the folder to write to';
          command.error(`error: name ${missing}`, { code: 'commander.missingArgument' });
        }
        if ((second ?? first) === '-') {
          const why =
            'nothing is exported to standard output: name a folder or a file, or ./- for one of that name';
          command.error(`error: ${why}`, { code: 'commander.invalidArgument' });
        }
        if (from !== undefined) {
          if (second !== undefined || Object.keys(options).length > 0) {
            const why = 'with --from name the new folder alone: all files of the backup are written there';
            command.error(`error: ${why}`, { code: 'commander.conflictingOption' });
          }
          const backup = { from, to: first };
          choose(async (run) => (await import('../keys/export-backup.ts')).runExportBackup(backup, run));
          return;
        }
        const ends =
          second === undefined
            ? { path: ROOT, to: first }
            : { path: orRefused(command, () => typedPath(first)), to: second };
        choose(async (run) => (await import('../files/export.ts')).runExport(ends, options, run));
      },
    );
}

interface FromArguments extends ExportArguments {
  readonly from?: string;
}

function parseLines(text: string): LineRange {
  const [, first, comma, last] = /^([1-9]\d{0,9})(,)?([1-9]\d{0,9})?$/.exec(text) ?? [];
  if (
    first === undefined ||
    (comma === undefined && last !== undefined) ||
    Number(last ?? first) < Number(first)
  ) {
    throw new InvalidArgumentError('Give a line, or first,last such as 10,20, or 10, for all from there.');
  }
  if (comma === undefined) return { first: Number(first), last: Number(first) };
  return { first: Number(first), ...(last !== undefined && { last: Number(last) }) };
}

const listing = (): Promise<typeof import('../files/list.ts')> => import('../files/list.ts');
const files = (): Promise<typeof import('../files/files.ts')> => import('../files/files.ts');
