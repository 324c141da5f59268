import { Argument, Command, CommanderError } from 'commander';
import manifest from '../../../package.json' with { type: 'json' };
import type { Action, Flags } from '../run/invocation.ts';
import { typedMounts } from '../run/typed.ts';
import { HELP, helpOnOptions, OPTIONS_TOPIC } from './help.ts';
import { refusalSentence } from './unknown-word.ts';
import { type Choose, declareVerbs } from './verbs.ts';

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
  // A write tells its failure only after this turn of the event loop.
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

/** Tells whether a command line that is not understood asks for its answer as lines of JSON. */
function isJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).includes('--json');
}

function tellProgram({ code, message }: CommanderError, program: Command): void {
  const isUnnamed = code === 'commander.help';
  const why = isUnnamed ? 'name a command; --help lists them' : refusalSentence(message, program);
  process.stdout.write(`${JSON.stringify({ event: 'failed', code: 'misconfigured', message: why })}\n`);
}

/** Makes the parser of the command line: options of every command, help, completion and the verbs. */
export function createProgram(choose: Choose): Command {
  const program = new Command('sealed-memory')
    .description("Claude's memory, encrypted, in a store of yours.")
    .optionsGroup('Needed, here or in the settings:')
    .option('--store <store>', 'memory:, sqlite:PATH or s3://bucket/prefix')
    .option('--tenant <id>', 'the tenant whose memory it is')
    .option('--root-key-file <file>', 'the file with the root key')
    .option('--profile-name <name>', 'the profile of the configuration file')
    .optionsGroup('For what may be written:')
    .option('--read-only', 'change nothing')
    .option(
      '--policy <words>',
      'what no file may contain, with commas between: secrets, email, card, iban, phone, invisible; redact replaces it',
    )
    .option('--max-file-bytes <bytes>', 'the largest file that is written or shown')
    .option('--max-files <count>', 'how many files the memory may hold')
    .option('--max-tenant-bytes <bytes>', 'how many bytes its files may hold together')
    .optionsGroup('For tenants that share files:')
    .option(
      '--mount <path=tenant[:ro]>',
      "another tenant's memory as a directory; :ro: read-only; :expires=false or :expires=true at the end: whether its unused files expire",
      typedMounts,
    )
    .optionsGroup('For what is told:')
    .option('--events <file>', 'append a line of JSON for every command and call to a file')
    .option('--json', 'answer with JSON lines; the last one has the event done, failed or interrupted')
    .option('--quiet', 'no progress and no notes')
    .option('--verbose', 'tell everything that is logged')
    .optionsGroup('Others:')
    .version(manifest.version, '--version', 'print the version of sealed-memory')
    .helpOption('-h, --help', 'explain a command')
    .configureHelp(HELP)
    .configureOutput({
      outputError: (text, write) => write(`sealed-memory: ${refusalSentence(text, program)}\n`),
    })
    .showSuggestionAfterError()
    .helpCommand(false)
    .exitOverride();

  declareVerbs(program, choose, {
    toBegin() {
      declareHelp(program);
      declareCompletion(program, choose);
    },
  });
  return program;
}

/** Declares `help`, of commands at any depth, and of the options of all. */
function declareHelp(program: Command): void {
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

/** Declares `completion`. */
function declareCompletion(program: Command, choose: Choose): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish', 'powershell']))
    .description('print what completes commands, paths, versions and actors in bash, zsh, fish or PowerShell')
    .action((shell: string) =>
      choose(async () => (await import('./completion-script.ts')).runCompletion(shell)),
    );
}
