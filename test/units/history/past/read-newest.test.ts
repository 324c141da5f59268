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
  /** How often files were listed. */
  readonly lists: number;
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
    lists: client.calls.filter((call) => call.verb === 'list' && call.prefix === data).length,
    records: keys.filter((key) => key.includes('/history/')).length,
  };
}

it.each<[count: number, questions: number, told: Omit<Reading, 'past'> & { readonly versions: string }]>([
  [
    1,
    1,
    {
      asked: [11],
      files: ['i', 'j', 'k'],
      lists: 1,
      records: 2,
      versions: 'i current, j current, k current, l kept',
    },
  ],
  [
    2,
    1,
    {
      asked: [9],
      files: ['g', 'h', 'i', 'j', 'k'],
      lists: 1,
      records: 3,
      versions: 'g current, h current, i current, j current, k current, k kept, l kept',
    },
  ],
  [2, 2, { asked: [9], files: ALL, lists: 2, records: 6, versions: EVERY }],
  [9, 1, { asked: [], files: ALL, lists: 2, records: 3, versions: EVERY }],
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
  [1, 1, { asked: [18], files: ['a'], lists: 0, records: 2, versions: 3 }],
  [2, 1, { asked: [17], files: ['a'], lists: 0, records: 3, versions: 4 }],
  [2, 2, { asked: [17, 5], files: ['a'], lists: 0, records: 15, versions: 16 }],
  [2, 3, { asked: [17, 5], files: ['a'], lists: 0, records: 20, versions: 21 }],
  [30, 1, { asked: [], files: ['a'], lists: 0, records: 20, versions: 21 }],
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

it('a file that is renamed while the newest are read is found where it went', async () => {
  for (const name of ['i', 'j', 'k']) {
    const { client } = await newScene();
    const work = await client.open();
    const key = await keyOf(client, pathOf(name));
    let isMoved = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key === key && !isMoved) {
        isMoved = true;
        await client.rename(pathOf(name), pathOf('moved'));
      }
      return proceed();
    });
    const { versions } = await readNewestOfAll(work, { count: 1, isEnough: async () => true });
    expect([...versions.values()].map(({ path }) => short(path))).toContain('moved');
  }
});

it('the newest are read once where a file changes at every look, after eight listings', async () => {
  const scene = await newScene();
  const { client } = scene;
  const work = await client.open();
  const key = await keyOf(client, pathOf('k'));
  let isBusy = false;
  client.intercept(async (call, proceed) => {
    if (call.verb === 'get' && call.key === key && !isBusy) {
      isBusy = true;
      await client.append(pathOf('k'), '.');
      isBusy = false;
    }
    return proceed();
  });
  const { lists, asked } = await readUntil(scene, 1, (isEnough) =>
    readNewestOfAll(work, { count: 1, isEnough }),
  );
  expect([lists, asked.length]).toEqual([8, 1]);
});
