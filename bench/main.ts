import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readCall, refuseCall } from '../infra/local/terminal/program-call.ts';
import { commands } from './commands.ts';
import { crypto } from './crypto.ts';
import { customers } from './customers.ts';
import { directories } from './directories.ts';
import { embedded } from './embedded.ts';
import { growth } from './growth.ts';
import { type Findings, type Lab, openLab } from './lab.ts';
import { longHistory } from './long-history.ts';
import { manyFiles } from './many-files.ts';
import { page } from './page.ts';
import { chartOf } from './report/chart.ts';
import { withFigures } from './report/document.ts';
import { type Row, verdictOf } from './report/row.ts';
import type { RunReport } from './report/run.ts';
import { textHead, textTable } from './report/table.ts';
import { findSites } from './sites.ts';
import { standStill } from './stand-still.ts';
import { start } from './start.ts';
import { turn } from './turn.ts';
import { wire } from './wire.ts';

const sites = findSites(process.env);

/** Every group of figures, in the order in which they run and are shown. */
const GROUPS: Readonly<
  Record<string, { readonly about: string; readonly run: (lab: Lab) => Promise<void> }>
> = {
  commands: { about: 'each command beside its own requests, sent raw', run: (lab) => commands(lab, sites) },
  embedded: { about: "the embedded stores beside the SDK's file tool", run: embedded },
  directories: {
    about: 'renames and deletes of 1,000 files beside rclone, mc and aws',
    run: (lab) => directories(lab, sites),
  },
  'many-files': {
    about: 'the command line on 500 files beside verify, and on 2,000 in sqlite:',
    run: (lab) => manyFiles(lab, sites),
  },
  turn: { about: 'an agent turn beside plain GET and PUT', run: (lab) => turn(lab, sites) },
  growth: {
    about: 'what more files, larger files and more agents cost',
    run: (lab) => growth(lab, sites),
  },
  customers: {
    about: 'many tenants beside a customer whose key service hangs for 60 s',
    run: customers,
  },
  wire: { about: 'GET and PUT: by hand, by our client, by the AWS SDK', run: (lab) => wire(lab, sites) },
  start: {
    about: 'from the start of a process to its first file, and the size of bundles',
    run: (lab) => start(lab, sites),
  },
  'stand-still': { about: 'for how long 1 MiB holds the event loop', run: standStill },
  history: { about: 'what a long history costs who looks back', run: longHistory },
  page: { about: 'the first rows and the whole tree of the page, of 10,000 files beside 100', run: page },
  crypto: { about: 'sealing and opening beside AES-GCM and the AWS Encryption SDK', run: crypto },
};

const USAGE = `npm run bench -- [options] [GROUP ...]

Figures are ratios within this run; no GROUP means all of them, less than 15 minutes.

${Object.entries(GROUPS)
  .map(([name, { about }]) => `  ${name.padEnd(14)} ${about}`)
  .join('\n')}

  --quick        fewer rounds and smaller trees: for a look, not for the books
  --json FILE    what was found, for programs
  --svg FILE     the same as a picture
  --write-docs   the figures into docs/performance.md, the picture beside it
  --help         this text

MinIO and Toxiproxy, rclone, mc and aws are taken from PATH or built or installed once into ~/.cache/sealed-memory
(TEST_CACHE_DIR names another folder). What cannot be had is named at the end.`;

const DOCUMENT = new URL('../docs/performance.md', import.meta.url);
const PICTURE = new URL('../docs/performance.svg', import.meta.url);

async function main(): Promise<void> {
  const { values, positionals } = readCall(USAGE, {
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      svg: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.find((name) => !Object.hasOwn(GROUPS, name));
  if (unknown !== undefined) return refuseCall(USAGE, `There is no group "${unknown}"`);
  const groups = Object.keys(GROUPS).filter((name) => positionals.length === 0 || positionals.includes(name));
  const run = await measure(groups, values.quick);
  tellOutcome(run);
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(run, undefined, 2)}\n`);
  if (values.svg !== undefined) await writeFile(values.svg, chartOf(run));
  if (values['write-docs']) {
    await writeFile(DOCUMENT, withFigures(await readFile(DOCUMENT, 'utf8'), run));
    await writeFile(PICTURE, chartOf(run));
    console.log(`written: ${fileURLToPath(DOCUMENT)}`);
  }
}

async function measure(groups: readonly string[], isQuick: boolean): Promise<RunReport> {
  const began = performance.now();
  const findings: Findings = { rows: [], growths: [], facts: [], absences: [] };
  const say = (line: string): void => console.error(`  ${line}`);
  const stack = new AsyncDisposableStack();
  const release = endOnSignals(stack);
  try {
    for (const group of groups) {
      console.log(`\n${group}: ${GROUPS[group]?.about}\n\n${textHead()}`);
      const onRows = (rows: readonly Row[]): void => console.log(textTable(rows).join('\n'));
      await GROUPS[group]?.run(openLab(group, { isQuick, stack, findings, onRows, say }));
    }
  } finally {
    await stack.disposeAsync();
    release();
  }
  return {
    format: 1,
    day: new Date().toISOString().slice(0, 10),
    machine: { node: process.version, architecture: process.arch, cores: availableParallelism() },
    isQuick,
    seconds: Math.round((performance.now() - began) / 1_000),
    groups,
    ...findings,
  };
}

/** Ctrl-C and SIGTERM end servers and remove folders before the process ends. Returns what ends the listening. */
function endOnSignals(stack: AsyncDisposableStack): () => void {
  const end = (signal: NodeJS.Signals): void => {
    release();
    console.error(`\n${signal}: ending servers and removing folders`);
    const code = signal === 'SIGINT' ? 130 : 143;
    stack.disposeAsync().then(
      () => process.exit(code),
      () => process.exit(code),
    );
  };
  const release = (): void => {
    process.off('SIGINT', end);
    process.off('SIGTERM', end);
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
  return release;
}

/** The process ends with 1 when a goal is missed. */
function tellOutcome({ rows, facts, absences, seconds }: RunReport): void {
  for (const { group, what, reason } of absences)
    console.log(`\nNOT MEASURED in ${group}: ${what} (${reason})`);
  const verdicts = [...rows.map(verdictOf), ...facts.map(({ verdict }) => verdict)];
  const [met, missed] = (['met', 'missed'] as const).map(
    (wanted) => verdicts.filter((verdict) => verdict === wanted).length,
  );
  console.log(`\ngoals: ${met} met, ${missed} missed; ${seconds} s`);
  for (const { group, work, contestant, ratio, goal } of rows.filter((row) => verdictOf(row) === 'missed')) {
    console.log(`missed: ${group}, ${work}, ${contestant}: ${ratio.median.toFixed(2)} > ${goal?.toFixed(2)}`);
  }
  if (missed !== 0) process.exitCode = 1;
}

await main();
