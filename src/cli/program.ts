import { readFileSync } from 'node:fs';

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { ExpireArguments } from './admin-verbs.ts';
import {
  createPath,
  type FileCommand,
  readRaw,
  readSource,
  requireText,
  runTool,
  type SourceOptions,
  viewPath,
} from './file-commands.ts';
import { addKeyCommands, createKeyFile, DEFAULT_KEY_FILE, parseCount } from './key-program.ts';
import { type Action, EXIT_FAILED, EXIT_MISUSED, runAction } from './terminal.ts';

/** Resolves to the exit code of the command line given without the program's own name. */
export async function runProgram(args: readonly string[]): Promise<number> {
  let chosen: Action = async () => 0;
  const program = createProgram((action) => {
    chosen = action;
  });
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? 0 : EXIT_MISUSED;
    }
    throw error;
  }
  return runAction(chosen);
}

function createProgram(choose: (action: Action) => void): Command {
  const program = new Command('sealed-memory')
    .description(
      "Claude's memory, encrypted, in a store of yours. Settings: .env.example lists the variables.",
    )
    .version(packageVersion(), '--version')
    .exitOverride();
  const withFile = (command: Command): Command =>
    command
      .addOption(new Option('--text <text>', 'the text itself').conflicts('file'))
      .option('--file <file>', 'a file to read; - or neither option: standard input');

  program
    .command('init')
    .description('create a root key file; never overwrites one')
    .option('--file <path>', 'where to create it', DEFAULT_KEY_FILE)
    .action(({ file }: { readonly file: string }) =>
      choose(async ({ terminal }) => {
        await terminal.out(createKeyFile(file));
        return 0;
      }),
    );

  program
    .command('view <path>')
    .description('show a file or a directory')
    .addOption(
      new Option('--range <first,last>', 'the lines to show; -1: to the end')
        .argParser(parseRange)
        .conflicts('raw'),
    )
    .option('--raw', "write the file's bytes as they are")
    .action((path: string, { range, raw }: { readonly range?: readonly number[]; readonly raw?: boolean }) =>
      choose(
        onMemory((target) => (raw === true ? readRaw(target, path) : viewPath(target, { path, range }))),
      ),
    );

  withFile(program.command('create <path>').description('create a file from text or any bytes')).action(
    (path: string, source: SourceOptions) =>
      choose(
        onMemory(async (target) => createPath(target, { path, content: await readSource(source, target) })),
      ),
  );

  program
    .command('str-replace <path>')
    .description('replace a text that occurs exactly once')
    .requiredOption('--old <text>', 'the text to replace')
    .option('--new <text>', 'what to put there; without it the text is deleted', '')
    .action((path: string, options: { readonly old: string; readonly new: string }) =>
      choose(
        onMemory((target) =>
          runTool(target, { command: 'str_replace', path, old_str: options.old, new_str: options.new }),
        ),
      ),
    );

  withFile(
    program
      .command('insert')
      .description('insert text after a line')
      .argument('<path>')
      .argument('<line>', '0: at the start', parseInteger),
  ).action((path: string, line: number, source: SourceOptions) =>
    choose(
      onMemory(async (target) => {
        const text = requireText(await readSource(source, target));
        return runTool(target, { command: 'insert', path, insert_line: line, insert_text: text });
      }),
    ),
  );

  program
    .command('delete <path>')
    .description('delete a file, or a directory with everything below it')
    .action((path: string) => choose(onMemory((target) => runTool(target, { command: 'delete', path }))));

  program
    .command('rename <old> <new>')
    .description('rename a file or a directory')
    .action((from: string, to: string) =>
      choose(onMemory((target) => runTool(target, { command: 'rename', old_path: from, new_path: to }))),
    );

  program
    .command('doctor')
    .description('check the configuration, the store and the keyring, and say what to do')
    .action(() =>
      choose(async ({ terminal, signal }) => {
        const { runDoctor } = await import('./doctor.ts');
        const print = (line: string): Promise<void> => terminal.out(`${line}\n`);
        return (await runDoctor({ print, signal })) ? 0 : EXIT_FAILED;
      }),
    );

  program
    .command('verify')
    .description(
      'read every object, and find what is damaged, belongs to nothing, lies twice or was left by a rename cut off',
    )
    .option('--repair', 'finish such renames: removes the older place of a file that lies twice')
    .option('--json', 'answer with one JSON object')
    .action(({ repair = false, json = false }: { readonly repair?: boolean; readonly json?: boolean }) =>
      choose(async (invocation) => {
        const { runVerify } = await import('./verify.ts');
        return runVerify({ repair, json }, invocation);
      }),
    );

  program
    .command('restore')
    .description('write every file of a backup, opened and checked, into a new folder')
    .requiredOption('--from <source>', 'a folder of raw objects, s3://bucket/prefix or sqlite:PATH')
    .requiredOption('--to <folder>', 'the folder to make; nothing but the whole of it ever lies there')
    .option('--json', 'answer with JSON lines, as when standard output is no terminal')
    .action(({ from, to, json }: { readonly from: string; readonly to: string; readonly json?: boolean }) =>
      choose(async (invocation) => {
        const { runRestore } = await import('./restore.ts');
        return runRestore({ from, to, json: json === true }, invocation);
      }),
    );

  program
    .command('expire')
    .description('delete files that were not read or written for long, and old receipts and answers')
    .option('--dry-run', 'change nothing, and tell what a run would do')
    .option('--after <days>', 'instead of SEALED_MEMORY_EXPIRE_AFTER_DAYS', parseCount)
    .option('--json', 'answer with JSON lines, as when standard output is no terminal')
    .action((options: ExpireArguments) =>
      choose(async (invocation) => {
        const { runExpire } = await import('./admin-verbs.ts');
        return runExpire(options, invocation);
      }),
    );

  addKeyCommands(program, choose);

  program
    .command('exec')
    .description('answer tool inputs, one JSON object per line of standard input')
    .requiredOption('--jsonl', 'the protocol: JSON lines')
    .action(() => choose(exec));
  return program;
}

// What opens a store is loaded only by the commands that need it: it brings the AWS SDK along.
function onMemory(command: FileCommand): Action {
  return async (invocation) => {
    const { runFileCommand } = await import('./session.ts');
    return runFileCommand(command, invocation);
  };
}

const exec: Action = async (invocation) => {
  const { runExec } = await import('./session.ts');
  return runExec(invocation);
};

function parseRange(text: string): readonly number[] {
  if (!/^\d+(,(-1|\d+))?$/.test(text)) {
    throw new InvalidArgumentError('Give first,last such as 10,20 or 10,-1.');
  }
  return text.split(',').map(Number);
}

function parseInteger(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) {
    throw new InvalidArgumentError('Give a line number; 0 is the start.');
  }
  return Number(text);
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { readonly version: unknown }).version);
}
