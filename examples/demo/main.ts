import { rmSync } from 'node:fs';
import type { ScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import { readCall, refuseCall } from '../../infra/local/terminal/program-call.ts';
import { block, type Line, rule } from '../../infra/local/terminal/screen.ts';
import type { Environment } from '../../src/open/options/environment.ts';
import { checkMemory, checkStore, searchStrings } from './checks.ts';
import { startDemoClaude } from './demo-claude.ts';
import { HISTORY_STEPS, prepareHistory } from './history.ts';
import { plant, showPage } from './page.ts';
import { fail, quitQuietlyWithoutReader, runConversation } from './process.ts';
import { type Setup, setUp } from './setup.ts';
import { openStoreView } from './store-view.ts';

const USAGE = `npm run demo -- [--page [--port PORT] [--no-browser] | --history]

Two conversations with Claude in two processes, over one encrypted memory; then the claims are checked. Claude is a
script; with ANTHROPIC_API_KEY set it is Claude itself. Settings are those of the library, SEALED_MEMORY_STORE and the
rest; what is not set is made for the run, in a folder of its own.

  --page        shows the memory in a browser at the end, until Ctrl-C
  --port PORT   of the page; any that is free unless given
  --no-browser  prints the address of the page, and opens nothing
  --history     prepares the memory of the drill in docs/drill.md instead
  --help        shows this
`;

/** The parts that the demo was asked to show. */
interface Asked {
  readonly history: boolean;
  /** The arguments of `sealed-memory open`. */
  readonly page: readonly string[] | undefined;
}

function readAsked(): Asked {
  const { values } = readCall(USAGE, {
    options: {
      history: { type: 'boolean', default: false },
      page: { type: 'boolean', default: false },
      port: { type: 'string' },
      'no-browser': { type: 'boolean', default: false },
    },
  });
  const { history, page, port, 'no-browser': isBrowserless } = values;
  if (history && page) return refuseCall(USAGE, 'Choose --page or --history');
  if (!page && (port !== undefined || isBrowserless)) {
    return refuseCall(USAGE, '--port and --no-browser go with --page');
  }
  if (port !== undefined && !/^\d{1,5}$/.test(port)) return refuseCall(USAGE, '--port takes a number');
  const args = [...(port === undefined ? [] : ['--port', port]), ...(isBrowserless ? ['--no-browser'] : [])];
  return { history, page: page ? args : undefined };
}

/**
 * Two conversations with Claude in two processes, over one encrypted memory; then the claims are checked. With `--page`
 * the memory is shown in a browser; what follows goes to `sealed-memory open`.
 */
async function demo(asked: Asked, setup: Setup, signal: AbortSignal): Promise<void> {
  if (asked.history) {
    await prepareHistory(setup);
    process.stdout.write(rule('A memory that was poisoned on Tuesday'));
    process.stdout.write(`${exported(setup)}${HISTORY_STEPS}`);
    return;
  }
  await using view = await openStoreView(setup.env);
  if ((await view.objects()).length > 0) {
    throw new Error(
      'The tenant of SEALED_MEMORY_TENANT has a memory already; the demo starts with an empty one.',
    );
  }
  const isScripted = !process.env['ANTHROPIC_API_KEY'];
  await using scripted = isScripted ? await startDemoClaude() : undefined;
  const env = scripted ? scriptedEnvironment(setup.env, scripted) : setup.env;
  print([
    { text: 'A memory for Claude, sealed before it leaves the process.\n', style: 'bold' },
    { text: `Claude    ${describeClaude(scripted)}`, hang: 10 },
    { text: `Store     ${setup.store}`, hang: 10 },
    { text: `Tenant    ${setup.tenant}`, hang: 10 },
    { text: `Root key  ${setup.rootKey}`, hang: 10 },
    {
      text: '\nLeft: what Claude sees. Right: what the store holds (+ new, ~ rewritten, - gone).',
      style: 'dim',
    },
  ]);

  const one = await runConversation('one', { env, signal });
  const two = one && (await runConversation('two', { env, signal }));
  if (!one || !two) {
    process.exitCode ||= 1;
    return;
  }
  process.stdout.write(rule('What became of it'));
  for (const { holds, text } of [
    checkMemory(two),
    await checkStore({ view, reports: [one, two], namesAreEncrypted: setup.namesAreEncrypted }),
  ]) {
    print([{ text: `${holds ? 'checked' : 'NOT TRUE'}: ${text}`, style: holds ? 'green' : 'red' }]);
    if (!holds) process.exitCode = 1;
  }
  if (setup.file !== undefined) {
    const { command, found } = searchStrings({ file: setup.file, reports: [one, two] });
    print([{ text: '\nAnd what the file tells without the key:' }]);
    process.stdout.write(`$ ${command}\n${found}\n`);
    if (found > 0) process.exitCode = 1;
  }
  const forged = await plant(setup.env);
  print([
    {
      text: `\nThen a stranger talked an agent into a line of ${forged}, and into a file with a script in it. On the page: see who wrote what, take the line back ("Versions"), and see that the script does not run.`,
    },
  ]);
  if (asked.page !== undefined) {
    process.stdout.write(rule('The page: Ctrl-C ends it'));
    const code = await showPage(asked.page, { env: setup.env, signal });
    process.exitCode ||= code;
    return;
  }
  process.stdout.write(rule('Your turn'));
  process.stdout.write(`${exported(setup)}${NEXT_STEPS}`);
}

function exported({ config }: Setup): string {
  return config === undefined ? '' : `export SEALED_MEMORY_CONFIG=${config}\n`;
}

/** Not wrapped: they are for copying. */
const NEXT_STEPS = `npx sealed-memory open --write
npx sealed-memory tree
npx sealed-memory grep Kestrel
npx sealed-memory verify
npx sealed-memory --help
`;

function scriptedEnvironment(env: Environment, { url }: ScriptedClaude): Environment {
  const own = Object.entries(env).filter(([name]) => !name.startsWith('ANTHROPIC_'));
  return { ...Object.fromEntries(own), ANTHROPIC_API_KEY: 'scripted', ANTHROPIC_BASE_URL: url };
}

function describeClaude(scripted: ScriptedClaude | undefined): string {
  return scripted
    ? `a script at ${scripted.url}, as ANTHROPIC_API_KEY is not set; with it, Claude itself`
    : 'Claude itself, by your ANTHROPIC_API_KEY';
}

function print(lines: readonly Line[]): void {
  process.stdout.write(block(lines));
}

/**
 * Tells where the run has left what it made. A folder whose store holds nothing is removed; one with the root key of a
 * store elsewhere stays, for what that store holds opens with no other key.
 */
async function tellFolder({ env, folder, file }: Setup): Promise<void> {
  if (folder === undefined) return;
  if (file !== undefined && (await isEmpty(env))) return rmSync(folder, { recursive: true });
  process.stdout.write(`\nWhat was made for this run stays in ${folder}\nTo remove it: rm -r ${folder}\n`);
}

async function isEmpty(env: Environment): Promise<boolean> {
  await using view = await openStoreView(env);
  return (await view.objects()).length === 0;
}

const asked = readAsked();
const interruption = new AbortController();
for (const [name, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(name, () => {
    process.exitCode = code;
    interruption.abort();
  });
}
quitQuietlyWithoutReader();
try {
  const setup = setUp(process.env);
  try {
    await demo(asked, setup, interruption.signal);
  } finally {
    await tellFolder(setup);
  }
} catch (error) {
  fail(error);
}
