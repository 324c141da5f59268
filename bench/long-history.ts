import { toBase64url } from '../src/format/encoding.ts';
import { newVersion } from '../src/format/version.ts';
import { createHistory } from '../src/history/history.ts';
import {
  encodeHistoryRecord,
  type HistoryRecord,
  historyRecordId,
} from '../src/history/save/history-record.ts';
import { writeKept } from '../src/history/save/write-kept.ts';
import { parseMemoryPath } from '../src/language/path.ts';
import { openTenant } from '../src/open/open-memory.ts';
import { encodeFields, writeRecord } from '../src/tree/records/sealed-record.ts';
import type { Work } from '../src/tree/tenant.ts';
import { turnActor } from '../src/turns/turn-trace.ts';
import type { Lab } from './lab.ts';
import { longestStepOf } from './stand-still.ts';
import { ROOT_KEY } from './stores.ts';

const MIB = 1_048_576;
/** The event loop may stand still for so long, in milliseconds. */
const MOST_MS = 100;
const FILES = 100;
const START = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

/** Measures what a long history costs who looks back: time, memory, and how long the rest of the process waits. */
export async function longHistory(lab: Lab): Promise<void> {
  const versions = lab.isQuick ? 10_000 : 100_000;
  const turns = lab.isQuick ? 2_000 : 8_000;
  {
    await using site = await written(async (work) => {
      for (let file = 0; file < FILES; file++)
        await writeChain(work, {
          path: `/memories/${file}.md`,
          count: versions / FILES,
          start: START + file,
        });
    });
    await look(lab, `log of all ${versions} versions`, () => site.history.list());
    await look(lab, `log of the newest 20 of ${versions} versions`, () =>
      site.history.list(undefined, { limit: 20 }),
    );
  }
  await using site = await written(async (work) => {
    const chain = { path: '/memories/notes.md', count: turns, start: START, turnOf: String };
    const ids = await writeChain(work, chain);
    for (const [at, version] of ids.entries()) await writeTurn(work, at, version, ids[at + 1]);
  });
  await look(lab, `trace through ${turns} turns`, async () => {
    const { turns: told } = await site.history.trace({ path: '/memories/notes.md' });
    if (told.length !== turns) throw new Error(`the trace has ${told.length} of ${turns} turns`);
  });
}

async function look(lab: Lab, work: string, act: () => Promise<unknown>): Promise<void> {
  globalThis.gc?.();
  const before = held();
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, held() - before);
  }, 20);
  const began = performance.now();
  const longest = await longestStepOf(act).finally(() => clearInterval(watch));
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  lab.fact(
    `${work}: ${seconds} s, up to ${Math.ceil(most / MIB)} MiB more in memory; the event loop stood still for ${longest.toFixed(0)} ms, at most ${MOST_MS}`,
    longest <= MOST_MS ? 'met' : 'missed',
  );
}

function held(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A tenant in this process's memory that keeps history. */
async function written(write: (work: Work) => Promise<void>) {
  const options = { store: 'memory:', tenant: 'bench', rootKey: ROOT_KEY, history: { days: 3_650 } };
  const { parts, close } = await openTenant(options);
  const { context: tenant, tree } = parts;
  const keyring = await tenant.keyrings.load({ create: true });
  if (keyring === undefined) throw new Error('there is no keyring');
  await write({ tenant, keyring, call: {} });
  return { history: createHistory(tenant, tree), [Symbol.asyncDispose]: close };
}

interface Chain {
  readonly path: string;
  readonly count: number;
  /** When the first version was written, in milliseconds since the epoch; another one each minute. */
  readonly start: number;
  readonly turnOf?: (at: number) => string;
}

/**
 * Versions of one file, each of which replaced the one before, as records, and the delete of the last one; their names,
 * the oldest first.
 */
async function writeChain(
  work: Work,
  { path: given, count, start, turnOf }: Chain,
): Promise<readonly string[]> {
  const path = parseMemoryPath(given);
  const by = new Uint8Array(16);
  const write = async (name: { readonly bound: bigint; readonly id: Uint8Array }, record: HistoryRecord) => {
    const id = historyRecordId(work, { path, ...name });
    await writeKept(work, { cls: 'history', id, content: encodeHistoryRecord(record) });
  };
  const { random } = work.tenant;
  const { names } = work.keyring;
  const ids: string[] = [];
  let previous: Uint8Array | undefined;
  for (let at = 0; at < count; at++) {
    const mtime = start + at * MINUTE_MS;
    const writer = turnOf && names.writerId(turnActor(turnOf(at)));
    const version = newVersion({ mtime, previous, writer, random });
    const bound = BigInt(mtime) << 16n;
    const text = new TextEncoder().encode(`version ${at} of ${path}\n`);
    const facts = { ...version, path, bound, size: text.length };
    await write(facts, { kind: 'replaced', at: mtime, by, version: facts, text });
    if (at === count - 1) {
      const files = [[path, version.id, bound]] as const;
      await write({ bound: bound + 1n, id: random(16) }, { kind: 'deleted', at: mtime + 1, by, files });
    }
    previous = version.id;
    ids.push(toBase64url(version.id));
  }
  return ids;
}

/** The answer of a turn that read a version and wrote the next one. */
async function writeTurn(work: Work, turn: number, read: string, next: string | undefined): Promise<void> {
  const path = '/memories/notes.md';
  const list = [
    { kind: 'read', path, version: read },
    ...(next === undefined ? [] : [{ kind: 'written', path, version: next }]),
  ];
  const id = work.keyring.names.keyedHash('answers', `${turn}`);
  const trace = { turn: `${turn + 1}`, list, unlisted: 0 };
  const content = encodeFields({ outcome: 'answered', messages: [], text: 'done', trace });
  await writeRecord(work, { cls: 'answers', id }, { content, base: undefined });
}
