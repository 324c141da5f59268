import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TOMBSTONE_BYTES } from '../src/format/sizes.ts';
import { openMemory } from '../src/open/open-memory.ts';
import { handSigned } from './hand-signed.ts';
import { type Lab, temporaryFolder } from './lab.ts';
import { findPeers, type Peer } from './peers.ts';
import type { Cost, Round } from './report/row.ts';
import { costOf, inTurns } from './rounds.ts';
import { type Objects, objectsOf, putObjects, sealedObjects } from './sealed-objects.ts';
import { sideBySide } from './side-by-side.ts';
import type { FindSites, Site } from './sites.ts';
import { command, memoryOptions, plainStore } from './stores.ts';

const BYTES = 2_048;
const HAND = 'GET, PUT and DELETE signed by hand';
const HAND_TOMBSTONES = 'the same, and a tombstone for each file';
const OURS = ['sealed memory, guarded', 'sealed memory, unguarded'] as const;
const QUICKEST = 'the quickest other program';

/** One that has a bucket of its own with a directory `here` in it. */
interface Contestant {
  readonly name: string;
  readonly bucket: string;
  /** The objects that the bucket held at first. */
  readonly objects: Objects;
  /** How often it is measured. */
  readonly rounds: number;
  rename(from: string, to: string): Promise<Cost>;
  remove(directory: string): Promise<Cost>;
}

/** A bucket to work in, and the names of the files in its directory. */
interface Ground {
  readonly site: Site;
  readonly bucket: string;
  readonly files: readonly string[];
  readonly rounds: number;
}

/**
 * A directory of 1,000 files of 2 KiB is renamed to and fro, then deleted and filled again, by this library on a store
 * with conditional deletes and on one without, and by other programs. The reference sends what a rename cannot do
 * without and nothing else: it checks nothing, encrypts nothing, and is lost half way when it is interrupted. Beside it
 * stands what a store without conditional deletes cannot do without.
 */
export async function directories(lab: Lab, findSites: FindSites): Promise<void> {
  const sites = await findSites(lab);
  if (sites === undefined) return;
  const peers = await findPeers(lab);
  const files = Array.from({ length: lab.isQuick ? 100 : 1_000 }, (_, at) => `${at}.md`);
  const folder = await filledFolder(lab, files);
  const plain = new Map(files.map((file) => [`here/${file}`, new Uint8Array(BYTES).fill(97)]));
  const sealed = await sealedObjects(
    files.map((file) => `/memories/here/${file}`),
    () => 'a'.repeat(BYTES),
  );
  const rounds = lab.isQuick ? 2 : 3;
  for (const site of sites.all) {
    lab.say(`filling directories, ${site.title}`);
    const ground = async (): Promise<Ground> => ({ site, files, rounds, bucket: await sites.bucket() });
    const contestants = [
      byHand(HAND, await ground(), plain),
      byHand(HAND_TOMBSTONES, await ground(), plain),
      ...(await Promise.all(OURS.map(async (name) => byMemory({ name, ...(await ground()) }, sealed)))),
    ];
    for (const { bucket, objects } of contestants) await putObjects(site, bucket, objects);
    for (const peer of peers) {
      // Far away, what is not tuned takes half a minute.
      const turns = peer.isTuned || site !== sites.far ? rounds : 2;
      contestants.push(await byPeer(lab, peer, { ...(await ground()), rounds: turns, folder }));
    }
    // Near by, what is tuned for a far server is not asked to be overtaken.
    const others = peers.filter(({ isTuned }) => !isTuned || site === sites.far).map(({ name }) => name);
    const work = `a directory of ${files.length}, ${site.title}`;
    await compareAll(lab, { site, contestants, others, rounds, work });
  }
}

async function compareAll(
  lab: Lab,
  task: {
    readonly site: Site;
    readonly contestants: readonly Contestant[];
    /** The names of those that ours are to overtake. */
    readonly others: readonly string[];
    readonly rounds: number;
    readonly work: string;
  },
): Promise<void> {
  const { site, contestants, others, rounds, work } = task;
  const byName = new Map(contestants.map((contestant) => [contestant.name, contestant]));
  lab.say(`renaming, ${site.title}`);
  const renames = await inTurns([...byName.keys()], rounds, async (name, round) => {
    const [from, to] = round % 2 === 0 ? (['here', 'there'] as const) : (['there', 'here'] as const);
    const contestant = byName.get(name);
    return round < (contestant?.rounds ?? 0) ? contestant?.rename(from, to) : undefined;
  });
  lab.compare({ work: `rename ${work}`, reference: HAND, time: 'wall', rounds: renames });
  lab.compare({ work: `rename ${work}`, reference: HAND, time: 'processor', rounds: renames });
  if (others.length > 0) {
    lab.compare({
      work: `rename ${work}`,
      reference: QUICKEST,
      time: 'wall',
      rounds: renames.map((round) => besideQuickest(round, others)),
      goals: Object.fromEntries(OURS.map((name) => [name, 1])),
    });
  }
  lab.say(`deleting, ${site.title}`);
  for (const each of contestants) await each.remove(each.rounds % 2 === 0 ? 'here' : 'there');
  const removals = await inTurns([...byName.keys()], rounds, async (name, round) => {
    const contestant = byName.get(name);
    if (contestant === undefined || round >= contestant.rounds) return undefined;
    await putObjects(site, contestant.bucket, contestant.objects);
    return contestant.remove('here');
  });
  lab.compare({ work: `delete ${work}`, reference: HAND, time: 'wall', rounds: removals });
}

/** The costs of ours in a round, and the least of the others'. */
function besideQuickest(round: Round, others: readonly string[]): Round {
  const walls = others.flatMap((name) => round.get(name)?.wall ?? []);
  const ours = OURS.flatMap((name) => {
    const cost = round.get(name);
    return cost === undefined ? [] : [[name, cost] as const];
  });
  return new Map<string, Cost>([[QUICKEST, { wall: Math.min(...walls) }], ...ours]);
}

function byHand(
  name: typeof HAND | typeof HAND_TOMBSTONES,
  { site, bucket, files, rounds }: Ground,
  objects: Objects,
): Contestant {
  const withHand = (work: (hand: ReturnType<typeof handSigned>) => Promise<unknown>): Promise<Cost> =>
    costOf(async () => {
      using hand = handSigned(site.server, bucket);
      await work(hand);
    });
  const tombstone = new Uint8Array(TOMBSTONE_BYTES);
  const remove = async (hand: ReturnType<typeof handSigned>, directory: string): Promise<void> => {
    const keys = files.map((file) => `${directory}/${file}`);
    if (name === HAND_TOMBSTONES) await sideBySide(keys, (key) => hand.put(key, tombstone));
    await hand.remove(keys);
  };
  return {
    name,
    bucket,
    objects,
    rounds,
    rename: (from, to) =>
      withHand(async (hand) => {
        await sideBySide(files, async (file) => hand.put(`${to}/${file}`, await hand.get(`${from}/${file}`)));
        await remove(hand, from);
      }),
    remove: (directory) => withHand((hand) => remove(hand, directory)),
  };
}

/** Every call opens the memory afresh, as other programs start afresh. */
function byMemory(
  { name, ...place }: Ground & { readonly name: (typeof OURS)[number] },
  objects: Objects,
): Contestant {
  const run = (input: Readonly<Record<string, unknown>>): Promise<Cost> =>
    costOf(async () => {
      await using memory = await openMemory(memoryOptions({ ...place, guarded: name === OURS[0] }));
      await command(memory, input);
    });
  return {
    name,
    bucket: place.bucket,
    objects,
    rounds: place.rounds,
    rename: (from, to) =>
      run({ command: 'rename', old_path: `/memories/${from}`, new_path: `/memories/${to}` }),
    remove: (directory) => run({ command: 'delete', path: `/memories/${directory}` }),
  };
}

async function byPeer(
  lab: Lab,
  peer: Peer,
  { site, bucket, rounds, folder }: Ground & { readonly folder: string },
): Promise<Contestant> {
  const place = { server: site.server, bucket };
  await peer.upload(place, folder, 'here');
  return {
    name: peer.name,
    bucket,
    rounds,
    objects: await objectsOf(await plainStore(lab, { site, bucket })),
    rename: (from, to) => peer.rename(place, from, to),
    remove: (directory) => peer.remove(place, directory),
  };
}

async function filledFolder(lab: Lab, files: readonly string[]): Promise<string> {
  const folder = join(await temporaryFolder(lab), 'here');
  await mkdir(folder);
  await sideBySide(files, (file) => writeFile(join(folder, file), 'a'.repeat(BYTES)));
  return folder;
}
