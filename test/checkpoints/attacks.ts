import { checkpointTree } from '../../src/admin/checkpoints/checkpoint.ts';
import { type Finding, weightOf } from '../../src/admin/findings.ts';
import { readHeader } from '../../src/format/header.ts';
import { fileKey, logicalName, type ObjectKey } from '../../src/format/object-keys.ts';
import { type Bucket, exchangeText } from '../stage/bucket.ts';
import { at, type TestClient } from '../stage/test-tree.ts';
import { act, createWorld, HOUR, MINUTE, placeOf, type World, type WorldOptions } from './world.ts';

/** A tenant at a checkpoint, what happened since, and an attacker who has read and may write its bucket all along. */
interface Scene {
  readonly world: World;
  readonly client: TestClient;
  readonly line: string;
  /** Some time before the checkpoint, at it, and now. */
  readonly before: Bucket;
  readonly then: Bucket;
  readonly now: Bucket;
  keyOf(path: string): ObjectKey;
  /** Those of them that lie in a bucket. */
  paths(bucket: Bucket): readonly string[];
}

/**
 * Attacks the scene, and answers the states that have to tell of it at each place. Undefined: there was nothing to
 * attack.
 */
type Attack = (scene: Scene) => Promise<Expected | undefined>;
type Expected = readonly {
  readonly place: string;
  readonly states: readonly string[];
  /** Since which line; since that of the scene unless given. */
  readonly line?: string;
}[];

const ALARMS = ['older', 'gone', 'missing'];
const FILES = [
  ...'abcdefghi',
  ...'abcdefghi'.split('').flatMap((directory) => ['a', 'b'].map((name) => `${directory}/${name}`)),
];
const PATHS = FILES.map((name) => `/memories/${name}`);

function same(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  return left !== undefined && right !== undefined && Buffer.from(left).equals(right);
}

/** An object that lay at a path before that of the checkpoint. */
function olderAt({ world, then, keyOf }: Scene, path: string): Uint8Array | undefined {
  const key = keyOf(path);
  const laid = world.laid.get(key) ?? [];
  const index = laid.findIndex((body) => same(body, then.get(key)));
  const sealed = laid.slice(0, Math.max(0, index)).filter((body) => body.length > 40);
  return sealed.length === 0 ? undefined : world.chance.pick(sealed);
}

function pickPath(scene: Scene, isFit: (path: string) => boolean, bucket = scene.then): string | undefined {
  const fit = scene.paths(bucket).filter(isFit);
  return fit.length === 0 ? undefined : scene.world.chance.pick(fit);
}

/** A path whose file is as it was at the checkpoint. */
function pickUnchanged(scene: Scene, isFit: (path: string) => boolean = () => true): string | undefined {
  const { then, now, keyOf } = scene;
  return pickPath(scene, (each) => isFit(each) && same(then.get(keyOf(each)), now.get(keyOf(each))));
}

const VERSION_ID = [12, 28] as const;

const rollBack: Attack = async (scene) => {
  const path = pickPath(scene, (each) => olderAt(scene, each) !== undefined);
  const body = path === undefined ? undefined : olderAt(scene, path);
  if (path === undefined || body === undefined) return undefined;
  await scene.world.put(scene.keyOf(path), body);
  return [{ place: path, states: [...ALARMS, 'damaged', 'unknown_key'] }];
};

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'rolls a file back': rollBack,

  'rolls a file back, and has it written': async (scene) => {
    const expected = await rollBack(scene);
    const [place] = expected ?? [];
    if (place === undefined) return undefined;
    const key = scene.keyOf(place.place);
    const idOf = (bucket: Bucket) => bucket.get(key)?.slice(...VERSION_ID);
    // The same text as at the checkpoint, bound anew since: once it is written nothing is lost.
    if (same(idOf(await scene.world.bucket()), idOf(scene.then))) return undefined;
    await scene.world.site.time.pause(MINUTE);
    await (await scene.world.process()).append(place.place, 'x').catch(() => undefined);
    return expected;
  },

  'rolls a file back, in a tenant without history': rollBack,

  'drops a file': async (scene) => {
    const { world, now, keyOf } = scene;
    // Another file there, newer than the checkpoint, is not known to it.
    const path = pickPath(scene, (each) => same(scene.then.get(keyOf(each)), now.get(keyOf(each))));
    if (path === undefined) return undefined;
    await world.drop(keyOf(path));
    return [{ place: path, states: ['gone'] }];
  },

  'brings a deleted file back': async (scene) => {
    const { world, client, now, keyOf } = scene;
    const path = pickPath(scene, (each) => now.has(keyOf(each)));
    if (path === undefined) return undefined;
    const body = now.get(keyOf(path)) ?? new Uint8Array();
    await world.site.time.pause(HOUR);
    await client.remove(path);
    await world.put(keyOf(path), body);
    return [{ place: path, states: ['older'] }];
  },

  'brings a renamed file back': async (scene) => {
    const { world, client, now, keyOf } = scene;
    const path = pickPath(scene, (each) => now.has(keyOf(each)));
    if (path === undefined) return undefined;
    await world.site.time.pause(HOUR);
    await client.rename(path, '/memories/elsewhere');
    await world.put(keyOf(path), now.get(keyOf(path)) ?? new Uint8Array());
    return [{ place: path, states: ['older'] }];
  },

  'brings a file back that was edited': async (scene) => {
    const { world, client, then, keyOf } = scene;
    const path = pickUnchanged(scene);
    if (path === undefined) return undefined;
    await world.site.time.pause(HOUR);
    // The second of two versions says that the first was written, and not only about to be written.
    for (const text of ['1', '2']) await client.append(path, text);
    await world.put(keyOf(path), then.get(keyOf(path)) ?? new Uint8Array());
    return [{ place: path, states: ['older'] }];
  },

  'brings a file back that was renamed with its directory': async (scene) => {
    const { world, client, then, keyOf } = scene;
    const path = pickUnchanged(scene, (each) => each.split('/').length > 3);
    if (path === undefined) return undefined;
    await world.site.time.pause(HOUR);
    await client.rename(path.slice(0, path.lastIndexOf('/')), '/memories/elsewhere');
    await world.put(keyOf(path), then.get(keyOf(path)) ?? new Uint8Array());
    return [{ place: path, states: ['older'] }];
  },

  'brings a file back as it was before it was renamed there and back': async (scene) => {
    const { world, client, then, keyOf } = scene;
    const path = pickUnchanged(scene);
    if (path === undefined) return undefined;
    await world.site.time.pause(HOUR);
    await client.rename(path, '/memories/elsewhere');
    await client.rename('/memories/elsewhere', path);
    await world.put(keyOf(path), then.get(keyOf(path)) ?? new Uint8Array());
    return [{ place: path, states: ['older'] }];
  },

  'brings a deleted file back while keys are migrated': async (scene) => {
    const { world, client, then, keyOf } = scene;
    const path = pickUnchanged(scene);
    if (path === undefined) return undefined;
    await world.site.time.pause(HOUR);
    await client.remove(path);
    await world.put(keyOf(path), then.get(keyOf(path)) ?? new Uint8Array());
    await world.migrate(world.chance.happens(0.5));
    return [{ place: path, states: ['older'] }];
  },

  'brings a file back that was edited, while keys are migrated': async (scene) => {
    const { world, client, then, keyOf } = scene;
    const path = pickUnchanged(scene);
    if (path === undefined) return undefined;
    await world.site.time.pause(HOUR);
    for (const text of ['1', '2']) await client.append(path, text);
    await world.put(keyOf(path), then.get(keyOf(path)) ?? new Uint8Array());
    await world.migrate(world.chance.happens(0.5));
    return [{ place: path, states: ['older'] }];
  },

  'brings a file back that was edited, and has it written': async (scene) => {
    const { world, client, then, keyOf } = scene;
    const path = pickUnchanged(scene);
    if (path === undefined) return undefined;
    await world.site.time.pause(HOUR);
    for (const text of ['1', '2']) await client.append(path, text);
    await world.put(keyOf(path), then.get(keyOf(path)) ?? new Uint8Array());
    await world.site.time.pause(HOUR);
    await (await world.process()).append(path, '3');
    return [{ place: path, states: ['older'] }];
  },

  'brings a deleted file back, and has it written': async (scene) => {
    const { world, client, then, keyOf } = scene;
    const path = pickUnchanged(scene);
    if (path === undefined) return undefined;
    await world.site.time.pause(HOUR);
    await client.remove(path);
    await world.put(keyOf(path), then.get(keyOf(path)) ?? new Uint8Array());
    await world.site.time.pause(HOUR);
    await (await world.process()).append(path, '2');
    return [{ place: path, states: ['older'] }];
  },

  'drops a file that was edited': async (scene) => {
    const { world, client, keyOf } = scene;
    const path = pickUnchanged(scene);
    if (path === undefined) return undefined;
    await client.append(path, '1');
    await world.drop(keyOf(path));
    return [{ place: path, states: ['gone'] }];
  },

  'exchanges the text of a file whose data key he once held': async (scene) => {
    const { world, client, then, keyOf } = scene;
    const path = pickUnchanged(scene);
    if (path === undefined) return undefined;
    const { keys } = (await client.open()).keyring;
    const object = then.get(keyOf(path)) ?? new Uint8Array();
    if (keys.find(readHeader(object)?.keyId ?? new Uint8Array()) === undefined) return undefined;
    await world.put(keyOf(path), exchangeText({ keys, name: logicalName(at(path)), object }));
    return [{ place: path, states: ['damaged'] }];
  },

  'puts back what was sealed before a re-encryption, on a line from behind it': async (scene) => {
    const { world, now, keyOf } = scene;
    await world.migrate(true);
    await world.site.time.pause(HOUR);
    const line = await world.checkpoint();
    const path = pickPath(scene, (each) => now.has(keyOf(each)), now);
    if (path === undefined) return undefined;
    await world.put(keyOf(path), now.get(keyOf(path)) ?? new Uint8Array());
    return [{ place: path, states: ['older', 'unknown_key'], line }];
  },

  'attacks before the next line, which is named since the line before': async (scene) => {
    const expected = await rollBack(scene);
    if (expected === undefined) return undefined;
    const { world, line } = scene;
    await world.site.time.pause(HOUR);
    await world.checkpoint();
    await world.site.time.pause(HOUR);
    const { tenant } = await world.process();
    if ((await checkpointTree(tenant, { since: line })).line !== undefined)
      throw new Error('a checkpoint vouches for an attack');
    return expected;
  },

  'attacks after a restore on purpose': async (scene) => {
    const { world, before } = scene;
    await world.putBack(before, '/data/');
    const anew = await world.beginAnew();
    const alarms = (await world.since(anew))
      .filter((each) => weightOf(each) === 'alarm')
      .filter(({ kind }) => kind !== 'unknown_key');
    if (alarms.length > 0) return [{ place: `nothing, but ${JSON.stringify(alarms)}`, states: [] }];
    await world.site.time.pause(HOUR);
    const line = await world.checkpoint();
    const bucket = await world.bucket();
    const path = pickPath(scene, () => true, bucket);
    if (path === undefined) return undefined;
    const process = await world.process();
    if ((await process.text(path).catch(() => undefined)) === undefined) return undefined;
    await world.site.time.pause(HOUR);
    await process.remove(path);
    await world.put(scene.keyOf(path), bucket.get(scene.keyOf(path)) ?? new Uint8Array());
    return [{ place: path, states: ['older'], line }];
  },

  'swaps two files': async (scene) => {
    const { world, now, keyOf } = scene;
    const [one, other] = scene.paths(now);
    if (one === undefined || other === undefined) return undefined;
    await world.put(keyOf(one), now.get(keyOf(other)) ?? new Uint8Array());
    await world.put(keyOf(other), now.get(keyOf(one)) ?? new Uint8Array());
    return [one, other].map((place) => ({ place, states: ['damaged'] }));
  },

  'deletes what the history has of a change': async (scene) => {
    const { world, client, now, keyOf } = scene;
    const path = pickPath(scene, (each) => now.has(keyOf(each)));
    if (path === undefined) return undefined;
    await client.append(path, '1');
    const first = await world.bucket();
    await client.append(path, '2');
    for (const key of (await world.bucket()).keys())
      if (key.includes('/history/') && !first.has(key)) await world.drop(key);
    return [{ place: path, states: ['missing'] }];
  },

  'deletes what the history has of a delete': async (scene) => {
    const { world, client, now, keyOf } = scene;
    // Another file there, newer than the checkpoint, is not known to it.
    const path = pickPath(scene, (each) => same(scene.then.get(keyOf(each)), now.get(keyOf(each))));
    if (path === undefined) return undefined;
    await client.remove(path);
    for (const key of (await world.bucket()).keys())
      if (key.includes('/history/') && !now.has(key)) await world.drop(key);
    return [{ place: path, states: ['gone'] }];
  },

  'puts an older manifest in the place of a newer one': async ({ world, line }) => {
    const later = await world.checkpoint();
    const bucket = await world.bucket();
    const heads = [...bucket.keys()].filter((key) => /\/checkpoints\/c\d+$/.test(key)).sort();
    const [old, newest] = heads.slice(-2);
    if (old === undefined || newest === undefined) return undefined;
    if (world.chance.happens(0.5)) await world.put(newest, bucket.get(old) ?? new Uint8Array());
    else await world.drop(newest);
    if (later === line) throw new Error('two checkpoints have one line');
    return [{ place: 'checkpoint', states: ['missing', 'damaged'], line: later }];
  },

  'puts an older keyring back': async ({ world, before, then }) => {
    const key = [...before.keys()].find((each) => each.startsWith('keyrings/'));
    const old = key === undefined ? undefined : before.get(key);
    if (key === undefined || old === undefined || same(old, then.get(key))) return undefined;
    await world.put(key, old);
    return [{ place: 'keyring or checkpoint', states: ['keyring', 'damaged'] }];
  },

  'puts the whole tenant back': async ({ world, before }) => {
    await world.putBack(before, '');
    return [{ place: 'checkpoint', states: ['missing'] }];
  },

  'puts all files and their history back, and leaves the checkpoint': async (scene) => {
    const { world, before, then, keyOf } = scene;
    await world.putBack(before, '/data/');
    await world.putBack(before, '/history/');
    const changed = PATHS.filter((path) => !same(before.get(keyOf(path)), then.get(keyOf(path)))).filter(
      (path) => before.has(keyOf(path)) || then.has(keyOf(path)),
    );
    if (changed.length === 0) return undefined;
    const wasRenamed = (path: string): boolean => !before.has(keyOf(path));
    return changed.map((place) => ({
      place,
      states: wasRenamed(place) ? ALARMS : [...ALARMS, 'unknown_key', 'damaged'],
    }));
  },
};

/**
 * Answers the parts of an attack that were not named as they must be; nothing where all were. `none`: there was nothing
 * to attack.
 */
export async function attack(
  seed: string,
  name: string,
  clocks: WorldOptions['clocks'] = 'near',
): Promise<readonly string[] | 'none'> {
  const world = await createWorld(seed, {
    clocks,
    history: name.endsWith('a tenant without history') ? 'off' : 'on',
  });
  try {
    const rotates = world.chance.happens(0.2);
    const scene = await play(world, rotates || name === 'puts an older keyring back');
    const expected = await ATTACKS[name]?.(scene);
    if (expected === undefined) return 'none';
    const findings = await world.since(expected.find(({ line }) => line !== undefined)?.line ?? scene.line);
    return expected.flatMap(({ place, states }) =>
      findings.some((finding) => names(finding, { place, states }, scene.keyOf))
        ? []
        : [`${place}: none of ${states.join(', ')} but ${JSON.stringify(findings)}`],
    );
  } finally {
    await world.close();
  }
}

function names(finding: Finding, { place, states }: Expected[number], keyOf: Scene['keyOf']): boolean {
  const state = 'state' in finding ? finding.state : finding.kind;
  if (!states.includes(state) && !states.includes(finding.kind)) return false;
  const isAboutAll = finding.kind === 'checkpoint' || finding.kind === 'keyring';
  if (!place.startsWith('/')) return isAboutAll;
  return placeOf(finding) === place && (finding.kind !== 'since' || isNamed(finding)) && keyOf(place) !== '';
}

/** Both versions, where there are two. */
function isNamed({ expected, found }: Extract<Finding, { kind: 'since' }>): boolean {
  return expected !== undefined || found !== undefined;
}

async function play(world: World, rotates: boolean): Promise<Scene> {
  const { chance, site } = world;
  const client = await world.process();
  const other = await world.process();
  for (const name of ['a', 'b', 'd/a']) await client.create(`/memories/${name}`, name);
  const some = async (steps: number): Promise<void> => {
    for (let step = 0; step < steps; step++) {
      await act(chance.pick([client, other]), chance);
      await site.time.pause(chance.between(1, 2 * MINUTE));
    }
  };
  await some(chance.between(3, 8));
  await site.time.pause(HOUR);
  const before = await world.bucket();
  if (rotates) await world.migrate(chance.happens(0.5));
  await site.time.pause(HOUR);
  await some(chance.between(3, 8));
  await site.time.pause(HOUR);
  const line = await world.checkpoint();
  const then = await world.bucket();
  await site.time.pause(HOUR);
  await some(chance.between(0, 5));
  await site.time.pause(HOUR);
  const now = await world.bucket();
  const { names } = (await (await world.process()).open()).keyring;
  const keyOf = (path: string): ObjectKey => fileKey(client.layout, names, at(path));
  const paths = (bucket: Bucket): readonly string[] => PATHS.filter((path) => bucket.has(keyOf(path)));
  return { world, client: await world.process(), line, before, then, now, keyOf, paths };
}
