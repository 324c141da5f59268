import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Flags } from '../../../src/cli/run/invocation.ts';
import { readEnvironment } from '../../../src/cli/run/settings.ts';
import {
  type Environment,
  optionsFromEnvironment,
  VARIABLES,
} from '../../../src/open/options/environment.ts';
import { OPTIONS } from '../../../src/open/options/option-table.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { readMounts, readSettings } from '../../../src/open/options/settings.ts';

const GOOD: Environment = {
  SEALED_MEMORY_STORE: 'memory:',
  SEALED_MEMORY_TENANT: 'acme',
  SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 7).toString('base64'),
};

/** A value of each option that its rule refuses, as a text of the environment and as one of the program. */
const WRONG: Readonly<Record<string, readonly [text: string, value: unknown]>> = {
  store: ['nonsense', 'nonsense'],
  tenant: ['Not A Tenant', 'Not A Tenant'],
  wording: ['none', 'none'],
  onExists: ['none', 'none'],
  names: ['none', 'none'],
  concurrency: ['', 0],
  lazy: ['', 'yes'],
  policy: ['none', 'none'],
  onEvent: ['', 5],
  eventPaths: ['maybe', 'maybe'],
  actor: ['x'.repeat(257), ''],
  tenants: ['nowhere', 'dynamodb:a b'],
  createTenants: ['maybe', 'maybe'],
  readOnly: ['maybe', 'maybe'],
  'limits.fileBytes': ['0', 0],
  'limits.files': ['0', 0],
  'limits.tenantBytes': ['0', 0],
  'cache.bytes': ['-1', -1],
  'keyring.ttlMs': ['901', 900_001],
  'keyring.minimumEpoch': ['0', 0],
  expireAfterDays: ['0', 0],
  'history.days': ['0', 0],
  's3.endpoint': ['nonsense', 'nonsense'],
  's3.region': ['no region', 'no region'],
  's3.forcePathStyle': ['maybe', 'maybe'],
  's3.guarded': ['maybe', 'maybe'],
  's3.checksums': ['none', 'none'],
  's3.client': ['none', 'none'],
  rootKey: ['abc', 'abc'],
  mounts: ['nonsense', [{ at: '/memories/a/b', tenant: 'org' }]],
};

/** The flags that stand for an option, with what is typed behind them. */
const FLAGS: Readonly<Record<string, readonly [name: string, (text: string) => Flags]>> = {
  store: ['--store', (store) => ({ store })],
  tenant: ['--tenant', (tenant) => ({ tenant })],
  policy: ['--policy', (policy) => ({ policy })],
  'limits.fileBytes': ['--max-file-bytes', (maxFileBytes) => ({ maxFileBytes })],
  'limits.files': ['--max-files', (maxFiles) => ({ maxFiles })],
  'limits.tenantBytes': ['--max-tenant-bytes', (maxTenantBytes) => ({ maxTenantBytes })],
  mounts: ['--mount', (mount) => ({ mount: [mount] })],
};

const VARIABLE_OF = new Map([
  ...OPTIONS.flatMap(({ option, variable }) => (variable === undefined ? [] : [[option, variable] as const])),
  ['rootKey', 'SEALED_MEMORY_ROOT_KEY'] as const,
  ['mounts', 'SEALED_MEMORY_MOUNTS'] as const,
]);

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'sealed-memory-typed-'));
  mkdirSync(join(cwd, '.sealed-memory'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

/** Answers what an entry point says of the options. */
function refusal(make: () => Partial<MemoryOptions>): string {
  try {
    const options = make();
    readSettings(options);
    readMounts(options);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

const fromCli = (flags: Flags, env: Environment = {}): string =>
  refusal(() => optionsFromEnvironment(readEnvironment(flags, { env: { ...GOOD, ...env }, cwd, home: cwd })));

/** Under its dotted name. */
function having(option: string, value: unknown): Partial<MemoryOptions> {
  const [group = '', name] = option.split('.');
  const base = { store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32) };
  return { ...base, [group]: name === undefined ? value : { [name]: value } } as Partial<MemoryOptions>;
}

/** A message that begins with what was typed, and names no other form of the setting. */
function expectNamed(message: string, typed: string, option: string): void {
  expect(message.startsWith(typed), `${typed}: ${message}`).toBe(true);
  const rest = message.slice(typed.length);
  const others = [...VARIABLES, ...Object.values(FLAGS).map(([name]) => name), option].filter((form) =>
    new RegExp(`(^|[ "(])${form.replace('.', '\\.')}([ ":.,)]|$)`).test(rest),
  );
  // A sentence about a root key or a policy may use the plain word.
  expect(others.filter((form) => form.startsWith('SEALED') || form.startsWith('--'))).toEqual([]);
}

describe('a setting that is wrong', () => {
  it('is tried for each option', () => {
    expect(Object.keys(WRONG).sort()).toEqual(
      [...OPTIONS.map(({ option }) => option), 'rootKey', 'mounts'].sort(),
    );
  });

  it.each(Object.entries(WRONG))('is named as the option that the program gave: %s', (option, [, value]) => {
    expectNamed(
      refusal(() => having(option, value)),
      option,
      option,
    );
    const given = having(option, value);
    expectNamed(
      refusal(() => ({ ...optionsFromEnvironment(GOOD), ...given })),
      option,
      option,
    );
  });

  describe.each([...VARIABLE_OF].filter(([option]) => WRONG[option]?.[0] !== ''))(
    '%s',
    (option, variable) => {
      const text = WRONG[option]?.[0] ?? '';

      it('is named as the variable of the environment', () => {
        expectNamed(fromCli({}, { [variable]: text }), variable, option);
        expectNamed(
          refusal(() => optionsFromEnvironment({ ...GOOD, [variable]: text })),
          variable,
          option,
        );
      });

      it('is named as the variable in .env', () => {
        writeFileSync(join(cwd, '.env'), `${variable}='${text}'\n`);
        expectNamed(fromCli({}, { [variable]: '' }), `${variable} in .env`, option);
      });

      it('is named as the line of a profile', () => {
        const name = variable.slice('SEALED_MEMORY_'.length).toLowerCase();
        const key = option === 'rootKey' ? 'aws-kms:nonsense' : text;
        writeFileSync(join(cwd, '.sealed-memory/config.toml'), `[work]\n${name} = ${JSON.stringify(key)}\n`);
        const message = fromCli({ profileName: 'work' }, { [variable]: '' });
        expectNamed(message, `${name} of the profile "work" in config.toml`, option);
      });
    },
  );

  it.each(Object.entries(FLAGS))('is named as the flag that was typed: %s', (option, [flag, flags]) => {
    expectNamed(fromCli(flags(WRONG[option]?.[0] ?? '')), flag, option);
  });

  it.each([
    ['AWS_ENDPOINT_URL_S3', 'nonsense'],
    ['AWS_ENDPOINT_URL', 'nonsense'],
    ['AWS_REGION', 'no region'],
    ['AWS_DEFAULT_REGION', 'no region'],
  ])('is named as the variable of AWS: %s', (name, text) => {
    expectNamed(fromCli({}, { [name]: text }), name, name);
  });

  it('is named where it is told only after all were read: a prefix that is too long', () => {
    const store = `s3://bucket/${'x'.repeat(66)}`;
    expectNamed(fromCli({ store }), '--store: ', 'store');
    expectNamed(fromCli({}, { SEALED_MEMORY_STORE: store }), 'SEALED_MEMORY_STORE: ', 'store');
    expectNamed(
      refusal(() => having('store', store)),
      'store: ',
      'store',
    );
  });

  it('is named as a part of its mount', () => {
    const mount = { at: '/memories/a', tenant: 'org' };
    const told = (wrong: object) => refusal(() => having('mounts', [mount, { ...mount, ...wrong }]));
    expect(told({ tenant: 'No' })).toMatch(/^mounts\[1\]\.tenant is not a tenant id/);
    expect(told({ limits: { files: 0 } })).toMatch(/^mounts\[1\]\.limits\.files must be a whole number/);
    expect(told({ rootKey: 'abc' })).toMatch(/^mounts\[1\]\.rootKey is not base64/);
    expect(told({ expires: 'no' })).toMatch(/^mounts\[1\]\.expires must be true or false/);
    expect(fromCli({ mount: ['/memories/a=-x'] })).toMatch(
      /^tenant of mount 1 of --mount is not a tenant id/,
    );
    expect(fromCli({}, { SEALED_MEMORY_MOUNTS: '/memories/a/b=x' })).toMatch(
      /^at of mount 1 of SEALED_MEMORY_MOUNTS must be a path directly below \/memories/,
    );
  });
});

describe('a setting that is missing', () => {
  it.each([
    ['store', 'SEALED_MEMORY_STORE'],
    ['rootKey', 'SEALED_MEMORY_ROOT_KEY or SEALED_MEMORY_ROOT_KEY_FILE'],
  ])('is named in the form that the others have: %s', (option, variable) => {
    const { [option]: _, ...given } = having('tenant', 'acme') as Readonly<Record<string, unknown>>;
    expectNamed(
      refusal(() => given),
      `${option} is not set`,
      option,
    );
    const names = Object.keys(GOOD).filter((name) => !variable.includes(name));
    const env = Object.fromEntries(names.map((name) => [name, GOOD[name]]));
    expectNamed(
      refusal(() => optionsFromEnvironment(env)),
      `${variable} is not set`,
      option,
    );
  });
});
