import { Argument, Command, CommanderError } from 'commander';
import manifest from '../../../package.json' with { type: 'json' };
import type { CheckpointArguments } from '../history/checkpoint.ts';
import type { VerifyArguments } from '../history/verify.ts';
import type { ExpireArguments } from '../keys/operate.ts';
import type { Choose } from '../run/choose.ts';
import type { Action, Flags } from '../run/invocation.ts';
import { parseCount, parsePort, typedMounts } from '../run/typed.ts';
import type { OpenArguments } from '../serve/open.ts';
import { HELP, helpOnOptions, OPTIONS_TOPIC } from './help.ts';
import { addHistoryVerbs, addRestore } from './history-program.ts';
import { addKeyVerbs } from './key-program.ts';
import { addToolVerbs } from './tool-program.ts';
import { refusalSentence } from './unknown-word.ts';
import { declareFileVerbs } from './verbs.ts';

const EXIT_FAILED = 1;
/** Wrong call or setting. */
const EXIT_MISUSED = 2;

/** Resolves to the exit code of the command line given without the program's own name. */
export async function runProgram(args: readonly string[]): Promise<number> {
  let failure: Error | undefined;
  // Without a listener the failure of a write would end the process with a trace.
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error) => {
    failure ??= error;
  });
  const code = await runLine(args);
  // What a write failed with is told after it.
  await new Promise((resolve) => setImmediate(resolve));
  if (code !== 0 || failure === undefined) return code;
  const { isReaderGone, outFailure } = await import('../show/terminal.ts');
  if (isReaderGone(failure)) return code;
  process.stderr.write(`sealed-memory: ${outFailure(failure).message}\n`);
  return EXIT_FAILED;
}

async function runLine(args: readonly string[]): Promise<number> {
  let chosen: Action | undefined;
  const program = createProgram((action) => {
    chosen = action;
  });
  if (args[0] === 'complete') return (await import('./complete.ts')).runComplete(program, args.slice(1));
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    // People have read it on standard error.
    if (isJson(args)) tellProgram(error, program);
    return EXIT_MISUSED;
  }
  if (chosen === undefined) return 0;
  const { runAction } = await import('../run/invocation.ts');
  return runAction(chosen, program.opts<Flags>());
}

/** Whether the answer is to be lines of JSON, of a command line that is not understood. */
function isJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).includes('--json');
}

function tellProgram({ code, message }: CommanderError, program: Command): void {
  const isUnnamed = code === 'commander.help';
  const why = isUnnamed ? 'name a command; --help lists them' : refusalSentence(message, program);
  process.stdout.write(`${JSON.stringify({ event: 'failed', code: 'misconfigured', message: why })}\n`);
}

/** What is typed. What is done lies in `verbs`, and is loaded by the command that needs it. */
export function createProgram(choose: Choose): Command {
  const program = new Command('sealed-memory')
    .description("Claude's memory, encrypted, in a store of yours.")
    .version(manifest.version, '--version')
    .option('--store <store>', 'memory:, sqlite:PATH or s3://bucket/prefix')
    .option('--tenant <id>', 'whose memory')
    .option('--root-key-file <file>', 'the file with the root key')
    .option(
      '--mount <path=tenant[:ro]>',
      "another tenant's memory as a directory; :ro: read-only; :expires=false or :expires=true at the end: whether its unused files expire",
      typedMounts,
    )
    .option('--read-only', 'change nothing')
    .option(
      '--policy <words>',
      'what no file may hold: some of secrets, email, card, iban, phone, redact, with a comma between',
    )
    .option('--max-file-bytes <bytes>', 'the largest file that is written or shown')
    .option('--max-files <count>', 'how many files the memory may hold')
    .option('--max-tenant-bytes <bytes>', 'how many bytes its files may hold together')
    .option('--events <file>', 'append a line of JSON for every command and call to a file')
    .option('--profile-name <name>', 'the profile of the configuration file')
    .option('--json', 'answer with JSON lines; the last one has the event done, failed or interrupted')
    .option('--quiet', 'no progress and no notes')
    .option('--verbose', 'tell everything that is logged')
    .configureHelp(HELP)
    .configureOutput({
      outputError: (text, write) => write(`sealed-memory: ${refusalSentence(text, program)}\n`),
    })
    .showSuggestionAfterError()
    .helpCommand(false)
    .exitOverride();

  program.commandsGroup('To begin:');
  program
    .command('init')
    .description('make a root key, and a .env with the settings; never overwrites one')
    .action(() => choose(async (run) => (await import('../keys/init.ts')).runInit(run)));
  program
    .command('doctor')
    .description('check the configuration, the store and the keyring, and say what to do')
    .action(() => choose(async (run) => (await import('../keys/doctor.ts')).runDoctor(run)));

  addHelp(program);
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish', 'powershell']))
    .description('print what completes commands, paths, versions and actors in bash, zsh, fish or PowerShell')
    .action((shell: string) =>
      choose(async () => (await import('./completion-script.ts')).runCompletion(shell)),
    );

  program.commandsGroup('Files:');
  declareFileVerbs(program, choose);

  program.commandsGroup('History:');
  addHistoryVerbs(program, choose);
  addRestore(program, choose);

  program.commandsGroup('Keys and store:');
  addKeyVerbs(program, choose);
  addStoreVerbs(program, choose);

  program.commandsGroup('Serve:');
  addOpen(program, choose);
  addToolVerbs(program, choose);
  return program;
}

/** Adds `help`, of commands at any depth, and of the options of all. */
function addHelp(program: Command): void {
  program
    .command('help [command...]')
    .description(
      `explain a command, such as "help keys rotate", or the options of all: "help ${OPTIONS_TOPIC}"`,
    )
    .action((words: readonly string[]) => {
      if (words.join(' ') === OPTIONS_TOPIC) {
        program.configureOutput().writeOut?.(helpOnOptions(program));
        return;
      }
      let command = program;
      for (const word of words) {
        const next = command.commands.find((each) => each.name() === word);
        if (next === undefined)
          command.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
        else command = next;
      }
      command.outputHelp();
    });
}

function addOpen(program: Command, choose: Choose): void {
  program
    .command('open [export]')
    .description(
      'show the memory, and what the store holds of it, on a page in your browser; or an export, without a store',
    )
    .option('--port <port>', 'of 127.0.0.1; default: any that is free', parsePort)
    .option('--no-browser', 'print the address and open nothing')
    .option('--write', 'let the page change the memory; without it, it only shows')
    .option('--identity <file>', 'what opens an encrypted export: the secret key, as "age-keygen" writes it')
    .action((archive: string | undefined, options: OpenArguments) =>
      choose(async (run) => (await import('../serve/open.ts')).runOpen(archive, options, run)),
    );
}

/** Adds what looks after the store of a memory. */
function addStoreVerbs(program: Command, choose: Choose): void {
  program
    .command('tenants')
    .description('list the tenants of the store')
    .action(() => choose(async (run) => (await import('../keys/tenants.ts')).runTenants(run)));
  program
    .command('verify')
    .description('read every object, and find what is damaged, belongs to nothing or lies twice')
    .option(
      '--repair',
      'finish renames that were cut off, and remove the older place of a file that lies twice',
    )
    .option('--since <line>', 'also find what was put back or dropped since that checkpoint')
    .action((options: VerifyArguments) =>
      choose(async (run) => (await import('../history/verify.ts')).runVerify(options, run)),
    );
  program
    .command('checkpoint')
    .description(
      'write down which version each file has, and print the line to keep elsewhere for verify --since',
    )
    .option('--since <line>', 'compare with that one first, and write nothing where that finds an alarm')
    .action((options: CheckpointArguments) =>
      choose(async (run) => (await import('../history/checkpoint.ts')).runCheckpoint(options, run)),
    );
  program
    .command('backup <file>')
    .description('copy an SQLite store with all its tenants into one file, still sealed, while others write')
    .option('-f, --force', 'replace a file that is there')
    .action((file: string, options: { readonly force?: boolean }) =>
      choose(async (run) => (await import('../keys/backup.ts')).runBackup(file, options, run)),
    );
  program
    .command('expire')
    .description('delete files that were not read or written for long, and old receipts and answers')
    .option('--dry-run', 'change nothing, and tell what a run would do')
    .option('--after <days>', 'instead of SEALED_MEMORY_EXPIRE_AFTER_DAYS', parseCount)
    .action((options: ExpireArguments) =>
      choose(async (run) => (await import('../keys/operate.ts')).runExpire(options, run)),
    );
}
