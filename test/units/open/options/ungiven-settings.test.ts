import { beforeEach, expect, it, vi } from 'vitest';
import { optionsFromEnvironment } from '../../../../src/open/options/environment.ts';
import { readSettings, requireTenant } from '../../../../src/open/options/settings.ts';

/** The files of the folder in which the program runs. */
const folder = vi.hoisted(() => new Map<string, string>());
vi.mock('node:fs', async (load) => {
  const real = await load<typeof import('node:fs')>();
  return {
    ...real,
    existsSync: (path: string) => folder.has(path),
    readFileSync: (path: string) => {
      const text = folder.get(path);
      if (text === undefined) throw new Error('ENOENT');
      return text;
    },
  };
});

beforeEach(() => folder.clear());

const ENV =
  'Node does not read the .env of this folder by itself: start the program with "node --env-file=.env".';
const CONFIG =
  'The .sealed-memory/config.toml of this folder is for the command line alone: write the same settings into .env, ' +
  'and start the program with "node --env-file=.env".';

function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

const withoutStore = (): string => refusal(() => readSettings(optionsFromEnvironment({})));
const NO_STORE = 'SEALED_MEMORY_STORE is not set: memory:, sqlite:PATH or s3://bucket/prefix.';

it.each([
  ['SEALED_MEMORY_STORE=memory:\n', true],
  ['A=b\nSEALED_MEMORY_STORE = memory:', true],
  ['  export   SEALED_MEMORY_STORE=x', true],
  ['# SEALED_MEMORY_STORE=memory:\n', false],
  ['MY_SEALED_MEMORY_STORE=memory:\n', false],
  ['SEALED_MEMORY_STORES=x\n', false],
  ['SEALED_MEMORY_STORE\n', false],
  ['SEALED_MEMORY_TENANT=acme\n', false],
  ['', false],
])('a setting that is missing is pointed to in an .env that has it: %j, %s', (text, points) => {
  folder.set('.env', text);
  expect(withoutStore()).toBe(points ? `${NO_STORE} ${ENV}` : NO_STORE);
});

it('a setting that is missing is pointed to in the configuration of the command line, after the .env', () => {
  expect(withoutStore()).toBe(NO_STORE);
  folder.set('.sealed-memory/config.toml', 'not looked at');
  expect(withoutStore()).toBe(`${NO_STORE} ${CONFIG}`);
  folder.set('.env', 'SEALED_MEMORY_STORE=memory:');
  expect(withoutStore()).toBe(`${NO_STORE} ${ENV}`);
});

it('a root key is found under each of its variables, and so is a tenant', () => {
  const given = { SEALED_MEMORY_STORE: 'memory:' };
  const key = { ...given, SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 7).toString('base64') };
  const withoutKey = (): string => refusal(() => readSettings(optionsFromEnvironment(given)));
  for (const name of ['SEALED_MEMORY_ROOT_KEY', 'SEALED_MEMORY_ROOT_KEY_FILE']) {
    folder.set('.env', `${name}=x`);
    expect(withoutKey()).toMatch(
      /^SEALED_MEMORY_ROOT_KEY or SEALED_MEMORY_ROOT_KEY_FILE is not set\. .* Node does not read the \.env/,
    );
  }
  folder.set('.env', 'SEALED_MEMORY_TENANT=acme');
  expect(withoutKey()).not.toContain('.env');
  expect(refusal(() => requireTenant(readSettings(optionsFromEnvironment(key))))).toBe(
    `SEALED_MEMORY_TENANT is not set: the id of the tenant whose memory this is. ${ENV}`,
  );
});

it('nothing of the folder is told where the options are of the program itself', () => {
  folder.set('.env', 'SEALED_MEMORY_STORE=memory:\nSEALED_MEMORY_ROOT_KEY=x');
  folder.set('.sealed-memory/config.toml', '');
  expect(refusal(() => readSettings({}))).toBe(
    'store is not set: memory:, sqlite:PATH or s3://bucket/prefix.',
  );
  expect(refusal(() => readSettings({ store: 'memory:' }))).toMatch(/^rootKey is not set\. (?!.*folder)/);
});
