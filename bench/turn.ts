import { playSteps, startLocalWorker, timeOf } from '../infra/local/lambda/local-worker.ts';
import type { ObjectKey } from '../src/format/object-keys.ts';
import type { Memory } from '../src/index.ts';
import { encodeText } from '../src/language/text.ts';
import { openMemory } from '../src/open/open-memory.ts';
import type { ObjectStore } from '../src/store/port.ts';
import type { Lab } from './lab.ts';
import { dollarsOf } from './report/prices.ts';
import { costOf, inTurns } from './rounds.ts';
import { requestsOf } from './shadow.ts';
import type { FindSites, Site, Sites } from './sites.ts';
import { command, memoryAt, memoryOptions, type Place, plainStore } from './stores.ts';

const PLAIN = 'plain GET and PUT';
const WARM = 'sealed memory, warm';
const COLD = 'sealed memory, opened for the turn';
const WORKED = 'sealed memory, a turn of the worker';
const FILES = 10;

/**
 * One turn of an agent: it looks at the root, reads three files, edits two of them and creates one. The reference keeps
 * the same files in a bucket as they are, through the same client: a LIST, GETs, and a GET and a PUT for each edit. The
 * worker is asked by a caller that waits, and Claude calls for the turn in three replies, of which one writes: beside the
 * requests of the commands it sends a PUT for the claim of the turn, for each reply, one more for a reply that writes,
 * for the answer and for the end.
 */
export async function turn(lab: Lab, findSites: FindSites): Promise<void> {
  const sites = await findSites(lab);
  if (sites === undefined) return;
  for (const site of sites.all) {
    const sent: string[] = [];
    const contestants = await openContestants(lab, { sites, site, sent });
    const requests = new Map<string, readonly string[]>();
    const rounds = await inTurns([...contestants.keys()], lab.isQuick ? 4 : 15, async (name, round) => {
      sent.length = 0;
      const cost = await costOf(async () => contestants.get(name)?.(round));
      requests.set(name, [...sent]);
      return cost;
    });
    const notes = Object.fromEntries(
      [...requests].map(([name, operations]) => [
        name,
        `${operations.length}: ${requestsOf(operations)}; $${dollarsOf(operations).toFixed(6)}`,
      ]),
    );
    // The first round opens connections.
    const measured = rounds.slice(1);
    lab.compare({ work: `a turn, ${site.title}`, reference: PLAIN, time: 'wall', rounds: measured, notes });
  }
}

/** One turn each; a round is a turn. */
async function openContestants(
  lab: Lab,
  where: { readonly sites: Sites; readonly site: Site; readonly sent: string[] },
): Promise<ReadonlyMap<string, (round: number) => Promise<unknown>>> {
  const { sites, site, sent } = where;
  const place = async (): Promise<Place> => ({
    site,
    bucket: await sites.bucket(),
    onRequest: ({ operation }) => void sent.push(operation),
  });
  const plain = await plainStore(lab, await place());
  const memory = await memoryAt(lab, await place());
  const colder = memoryOptions(await place());
  await using first = await openMemory(colder);
  const { tenant, ...worked } = memoryOptions(await place());
  await using second = await openMemory({ ...worked, tenant });
  const local = lab.stack.use(await startLocalWorker(undefined, playSteps, { memory: worked }));
  for (let at = 0; at < FILES; at++) {
    await plain.put(plainKey('plain', `${at}.md`), encodeText(textOf(at, 0)), { mode: 'overwrite' });
    for (const each of [memory, first, second]) await create(each, `${at}.md`, textOf(at, 0));
  }
  return new Map<string, (round: number) => Promise<unknown>>([
    [PLAIN, (round) => plainTurn(plain, 'plain', round)],
    [WARM, (round) => sealedTurn(memory, round)],
    [
      COLD,
      async (round) => {
        await using opened = await openMemory(colder);
        await sealedTurn(opened, round);
      },
    ],
    [
      WORKED,
      async (round) => {
        const prompt = JSON.stringify(repliesOf(round));
        await local.worker.invoke({ tenant, turn: `turn-${round}`, prompt }, timeOf(60_000));
      },
    ],
  ]);
}

/** A file of some 2 KiB, of which the first line tells how often it was edited. */
export function textOf(at: number, edits: number): string {
  return `edits: ${edits};\n${`a line of file ${at}, as an agent writes it\n`.repeat(50)}`;
}

async function create(memory: Memory, name: string, text: string): Promise<void> {
  await command(memory, { command: 'create', path: `/memories/${name}`, file_text: text });
}

/** The turn on files that `textOf` has made, before which files 0 and 1 were edited `round` times. */
export async function sealedTurn(memory: Memory, round: number): Promise<void> {
  for (const input of repliesOf(round).flat()) await command(memory, input);
}

/** The commands of the turn, as Claude calls for them in three replies. */
function repliesOf(round: number): readonly (readonly Readonly<Record<string, unknown>>[])[] {
  const path = (at: number): string => `/memories/${at}.md`;
  const replace = { command: 'str_replace', old_str: `edits: ${round};`, new_str: `edits: ${round + 1};` };
  const create = { command: 'create', path: `/memories/turn-${round}.md`, file_text: textOf(round, 0) };
  return [
    [{ command: 'view', path: '/memories' }],
    [0, 1, 2].map((at) => ({ command: 'view', path: path(at) })),
    [...[0, 1].map((at) => ({ ...replace, path: path(at) })), create],
  ];
}

export function plainKey(directory: string, name: string): ObjectKey {
  return `${directory}/${name}` as ObjectKey;
}

/** The same turn on objects below `directory` that hold the files as they are. */
export async function plainTurn(store: ObjectStore, directory: string, round: number): Promise<void> {
  const put = (name: string, text: string) =>
    store.put(plainKey(directory, name), encodeText(text), { mode: 'overwrite' });
  for await (const _ of store.list({ prefix: `${directory}/` }));
  for (let at = 0; at < 3; at++) await store.get(plainKey(directory, `${at}.md`));
  for (let at = 0; at < 2; at++) {
    await store.get(plainKey(directory, `${at}.md`));
    await put(`${at}.md`, textOf(at, round + 1));
  }
  await put(`turn-${round}.md`, textOf(round, 0));
}
