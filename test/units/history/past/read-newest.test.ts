import { expect, it } from 'vitest';
import type { Past } from '../../../../src/history/past/past.ts';
import { readNewest, readNewestOfAll } from '../../../../src/history/past/read.ts';
import { keyOf } from '../../../stage/bucket.ts';
import { keepingClient } from '../../../stage/history-site.ts';
import { at, openSite, type TestClient } from '../../../stage/test-tree.ts';
import { short } from '../story.ts';

const HOUR_MS = 3_600_000;
const NAMES = Array.from('abcdefghijkl');
const pathOf = (name: string): string => `/memories/${name}`;

const ALL = NAMES.slice(0, 11);
const EVERY = [...ALL.map((name) => `${name} current`), 'k kept', 'l kept'].join(', ');

interface Scene {
  readonly client: TestClient;
  /** The hour of each moment, from that of the first file on. */
  hourOf(time: number): number;
}

/** Files that are created an hour apart, of which `k` was edited and `l` deleted after that. */
async function newScene(): Promise<Scene> {
  const site = await openSite();
  const client = await keepingClient(site);
  await client.open();
  const begins = site.time.clock();
  for (const name of NAMES) {
    await client.create(pathOf(name), name);
    await site.time.pause(HOUR_MS);
  }
  await client.append(pathOf('k'), '!');
  await site.time.pause(HOUR_MS);
  await client.remove(pathOf('l'));
  await site.time.pause(HOUR_MS);
  return { client, hourOf: (time) => Math.round((time - begins) / HOUR_MS) };
}

interface Reading {
  readonly past: Past;
  /** The moments from which on everything was known, when it was asked whether that is enough: in hours. */
  readonly asked: readonly number[];
  /** The files that were read, each once. */
  readonly files: readonly string[];
  readonly records: number;
}

/** Reads the newest part, which is enough at some question. */
async function readUntil(
  { client, hourOf }: Scene,
  questions: number,
  read: (isEnough: (past: Past, since: number) => Promise<boolean>) => Promise<Past>,
): Promise<Reading> {
  const { data } = client.layout;
  const names = new Map<string, string>();
  for (const name of NAMES) names.set(await keyOf(client, pathOf(name)), name);
  const asked: number[] = [];
  client.calls.length = 0;
  const past = await read(async (_, since) => {
    asked.push(hourOf(since));
    return asked.length >= questions;
  });
  const keys = client.calls.flatMap((call) => (call.verb === 'get' ? [call.key] : []));
  return {
    past,
    asked,
    files: [...new Set(keys.flatMap((key) => (key.startsWith(data) ? [names.get(key) ?? key] : [])))].sort(),
    records: keys.filter((key) => key.includes('/history/')).length,
  };
}

it.each<[count: number, questions: number, told: Omit<Reading, 'past'> & { readonly versions: string }]>([
  [
    1,
    1,
    { asked: [11], files: ['i', 'j', 'k'], records: 2, versions: 'i current, j current, k current, l kept' },
  ],
  [
    2,
    1,
    {
      asked: [9],
      files: ['g', 'h', 'i', 'j', 'k'],
      records: 3,
      versions: 'g current, h current, i current, j current, k current, k kept, l kept',
    },
  ],
  [2, 2, { asked: [9], files: ALL, records: 6, versions: EVERY }],
  [9, 1, { asked: [], files: ALL, records: 3, versions: EVERY }],
])(
  'the newest of all, %i of them, are read until that is enough at question %i',
  async (count, questions, told) => {
    const scene = await newScene();
    const work = await scene.client.open();
    const { past, ...rest } = await readUntil(scene, questions, (isEnough) =>
      readNewestOfAll(work, { count, isEnough }),
    );
    const versions = [...past.versions.values()]
      .map(({ path, text }) => `${short(path)} ${text}`)
      .sort()
      .join(', ');
    expect({ ...rest, versions }).toEqual(told);
  },
);

it.each<[count: number, questions: number, told: Omit<Reading, 'past'> & { readonly versions: number }]>([
  [1, 1, { asked: [18], files: ['a'], records: 2, versions: 3 }],
  [2, 1, { asked: [17], files: ['a'], records: 3, versions: 4 }],
  [2, 2, { asked: [17, 5], files: ['a'], records: 15, versions: 16 }],
  [2, 3, { asked: [17, 5], files: ['a'], records: 20, versions: 21 }],
  [30, 1, { asked: [], files: ['a'], records: 20, versions: 21 }],
])(
  'the newest of a file, %i of them, are read until that is enough at question %i',
  async (count, questions, told) => {
    const site = await openSite();
    const client = await keepingClient(site);
    await client.open();
    const begins = site.time.clock();
    await client.create(pathOf('a'), '0');
    for (let edit = 1; edit <= 20; edit++) {
      await site.time.pause(HOUR_MS);
      await client.append(pathOf('a'), '.');
    }
    const work = await client.open();
    const scene: Scene = { client, hourOf: (time) => Math.round((time - begins) / HOUR_MS) };
    const { past, ...rest } = await readUntil(scene, questions, (isEnough) =>
      readNewest(work, at(pathOf('a')), { count, isEnough }),
    );
    expect({ ...rest, versions: past.versions.size }).toEqual(told);
  },
);
