import { availableParallelism } from 'node:os';
import { readCall, refuseCall } from '../../infra/local/terminal/program-call.ts';
import { seedOfRun } from '../runner/draws.ts';
import { SEEDED_BUGS } from '../seeded-bugs/catalogue.ts';
import { judgeSeeds, judgeSimulatedBugs } from './both-judges.ts';
import { type Evidence, findGo, judgeHistories } from './judge.ts';
import { judgeLog } from './judge-log.ts';
import { KINDS } from './plan.ts';
import { RACED_SEAMS } from './raced-seams.ts';
import { recordRace } from './racing.ts';
import type { RecordedHistory } from './recording.ts';
import { recordRounds } from './rounds.ts';
import { openSite, STORES, type StoreName } from './stores.ts';

const USAGE =
  'npm run prove linearizability -- [--histories N] [--store sqlite|minio|versitygw] [--seed WORD] [--simulated A..B] [--no-bugs]';
/** One history in this many may be left undecided. */
const HISTORIES_PER_UNDECIDED = 100;
/** A seeded bug is tried in this many histories at a time, at most `TRIES` times. */
const TRIED_AT_ONCE = 10;
const TRIES = 8;

/** Records histories on real stores and has them judged; then has the judge reject seeded bugs. */
async function main(): Promise<boolean> {
  const { values } = readCall(USAGE, {
    options: {
      histories: { type: 'string', default: '90' },
      store: { type: 'string' },
      seed: { type: 'string', default: String(seedOfRun(process.env)) },
      simulated: { type: 'string' },
      bugs: { type: 'boolean', default: true },
    },
    allowNegative: true,
  });
  const histories = Number(values.histories);
  const stores = STORES.filter((name) => values.store === undefined || values.store === name);
  if (!Number.isInteger(histories) || stores.length === 0)
    return refuseCall(USAGE, 'Give a whole number of histories, and a store among those');
  const seeds = values.simulated
    ?.match(/^(\d+)\.\.(\d+)$/)
    ?.slice(1)
    .map(Number);
  if (values.simulated !== undefined && seeds === undefined)
    return refuseCall(USAGE, 'Give seeds of the simulation such as 1..1000');
  if ((await findGo()) === undefined) {
    console.log(
      'Histories are judged by Porcupine, a Go module, and there is no Go on PATH: nothing was judged.',
    );
    return process.env['CI'] !== 'true';
  }
  if (seeds !== undefined) {
    const [first = 1, last = first] = seeds;
    const good = await judgeSeeds(first, last);
    return values.bugs ? (await judgeSimulatedBugs(last)) && good : good;
  }
  console.log(
    `seed ${values.seed}, ${histories} histories on ${stores.join(', ')}, ${availableParallelism()} cores`,
  );
  let good = true;
  for (const [at, store] of stores.entries()) {
    const share = Math.ceil((histories - at) / stores.length);
    if (share > 0) good = (await judgeStore(store, { histories: share, seed: values.seed })) && good;
  }
  return values.bugs ? (await judgeBugs(values.seed)) && good : good;
}

async function judgeStore(
  store: StoreName,
  { histories, seed }: { readonly histories: number; readonly seed: string },
): Promise<boolean> {
  const begun = performance.now();
  await using site = await openSite(store);
  const recorded = await recordRounds(site, { seed: `${seed}-${store}`, histories });
  const took = seconds(begun);
  const { failures, rejected, undecided } = await judgeAll(recorded);
  for (const failure of failures) tell(failure);
  const faults = tellLogs(recorded);
  const accepted = recorded.length - failures.length;
  console.log(
    `${store}: ${accepted} accepted, ${rejected} rejected, ${undecided} undecided; ${logsOf(recorded)}; ${outcomesOf(recorded)}; recorded in ${took} s, judged in ${seconds(begun) - took} s`,
  );
  return rejected === 0 && faults === 0 && undecided <= Math.ceil(recorded.length / HISTORIES_PER_UNDECIDED);
}

/** Every seeded bug is rejected, and the same histories without a bug are accepted. */
async function judgeBugs(seed: string): Promise<boolean> {
  const begun = performance.now();
  const controls: RecordedHistory[] = [];
  for (const kind of KINDS) {
    for (const storeKind of ['guarded', 'unguarded'] as const) {
      for (let at = 0; at < TRIED_AT_ONCE; at++) {
        const history = at % 2 === 1 ? 'kept' : 'not kept';
        const race = { kind, storeKind, history } as const;
        controls.push(await recordRace({ seed: `${seed}-${kind.name}-${storeKind}-${at}`, ...race }));
      }
    }
  }
  const { failures } = await judgeAll(controls);
  for (const failure of failures) tell(failure);
  const faults = tellLogs(controls);
  const raced = SEEDED_BUGS.flatMap(({ name, seenBy }) => (seenBy.run === 'races' ? [name] : []));
  let hidden = raced;
  for (let round = 0; round < TRIES && hidden.length > 0; round++) {
    const found = await findBugs(hidden, (at) => `${seed}-${round * TRIED_AT_ONCE + at}`);
    hidden = hidden.filter((name) => !found.has(name));
  }
  for (const name of hidden) console.log(`not rejected: ${name}`);
  const total = raced.length;
  console.log(
    `seeded bugs: ${total - hidden.length} of ${total} rejected, ${controls.length - failures.length} of ${controls.length} histories without one accepted, ${logsOf(controls)}, in ${seconds(begun)} s`,
  );
  return hidden.length === 0 && failures.length === 0 && faults === 0;
}

/** The names of those bugs that are seen in one of the histories. */
async function findBugs(
  names: readonly string[],
  seedOf: (at: number) => string,
): Promise<ReadonlySet<string>> {
  const recorded: RecordedHistory[] = [];
  const owners: string[] = [];
  for (const name of names) {
    const judge = SEEDED_BUGS.find((bug) => bug.name === name)?.seenBy;
    const bug = RACED_SEAMS[name];
    const kind = KINDS.find((each) => judge?.run === 'races' && each.name === judge.kind);
    if (judge?.run !== 'races' || bug === undefined || kind === undefined)
      throw new Error(`the bug is about no kind of history: ${name}`);
    const race = {
      kind,
      storeKind: judge.store ?? 'guarded',
      history: judge.history ?? 'not kept',
      bug,
    } as const;
    for (let at = 0; at < TRIED_AT_ONCE; at++) {
      const history = await recordRace({ seed: seedOf(at), ...race });
      recorded.push({ ...history, name: `${names.indexOf(name)}-${history.name}` });
      owners.push(name);
    }
  }
  const { verdicts } = await judgeHistories(recorded, { keep: false, seconds: 10 });
  const isRejected = (at: number): boolean => {
    const history = recorded[at];
    return verdicts[at]?.verdict === 'rejected' || (history !== undefined && judgeLog(history) !== undefined);
  };
  return new Set(owners.filter((_, at) => isRejected(at)));
}

async function judgeAll(recorded: readonly RecordedHistory[]): Promise<{
  readonly failures: readonly Evidence[];
  readonly rejected: number;
  readonly undecided: number;
}> {
  const { failures } = await judgeHistories(recorded, { keep: true });
  const undecided = failures.filter(({ verdict }) => verdict === 'undecided').length;
  return { failures, rejected: failures.length - undecided, undecided };
}

function tell({ name, verdict, reason, file, picture }: Evidence): void {
  const seen = picture === undefined ? '' : `, to be looked at in ${picture}`;
  console.log(`history ${name} is ${verdict}${reason === undefined ? '' : `: ${reason}`}`);
  console.log(`  kept in ${file}${seen}`);
}

/** Names what is wrong with the logs of tenants that keep history, and returns how many of them it is. */
function tellLogs(recorded: readonly RecordedHistory[]): number {
  const faults = recorded.flatMap((history) => {
    const fault = judgeLog(history);
    return fault === undefined ? [] : [{ history, fault }];
  });
  for (const { history, fault } of faults)
    console.log(`the log of ${history.name}: ${fault}\n  ${JSON.stringify(history)}`);
  return faults.length;
}

function logsOf(recorded: readonly RecordedHistory[]): string {
  const logs = recorded.flatMap(({ log }) => (log === undefined ? [] : [log]));
  const versions = logs.reduce((sum, log) => sum + log.length, 0);
  return `${logs.length} kept history, ${versions} versions`;
}

/** How much happened: a history in which nothing succeeds proves nothing. */
function outcomesOf(recorded: readonly RecordedHistory[]): string {
  const outcomes = recorded.flatMap(({ commands }) => commands.map(({ outcome }) => outcome));
  const count = (outcome: string): number => outcomes.filter((each) => each === outcome).length;
  return `of ${outcomes.length} commands ${count('ok')} succeeded and ${count('unknown')} had no certain end`;
}

function seconds(since: number): number {
  return Math.round((performance.now() - since) / 1000);
}

process.exitCode = (await main()) ? 0 : 1;
