import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import {
  type Environment,
  optionsFromEnvironment,
  readHarness,
  setClientVariables,
  VARIABLES,
} from '../../../../src/open/options/environment.ts';
import type { MemoryOptions } from '../../../../src/open/options/options.ts';
import { readSettings, requireTenant, type Settings } from '../../../../src/open/options/settings.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 8).toString('base64');
const KMS_KEY = 'aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const COMPLETE: Environment = {
  SEALED_MEMORY_STORE: 'memory:',
  SEALED_MEMORY_TENANT: 'acme',
  SEALED_MEMORY_ROOT_KEY: KEY,
};

/** As an entry point for one tenant reads its configuration. */
function readConfig(env: Environment, overrides: Partial<MemoryOptions> = {}): Settings {
  const settings = readSettings(optionsFromEnvironment(env, overrides));
  requireTenant(settings);
  return settings;
}

/** The one sentence with which the configuration is refused. */
function refusal(env: Environment): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'misconfigured') {
      return error.message;
    }
    throw error;
  }
  throw new Error('the configuration was accepted');
}

function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

function having(env: Environment): Environment {
  return { ...COMPLETE, ...env };
}

describe('optionsFromEnvironment', () => {
  it('reads after how many days files expire, by option or variable', () => {
    expect(readConfig({ ...COMPLETE, SEALED_MEMORY_EXPIRE_AFTER_DAYS: '90' }).expireAfterDays).toBe(90);
    expect(readConfig(COMPLETE, { expireAfterDays: 1 }).expireAfterDays).toBe(1);
    for (const text of ['0', '3651', '-1', '1.5', 'soon']) {
      expect(refusal({ ...COMPLETE, SEALED_MEMORY_EXPIRE_AFTER_DAYS: text })).toContain('from 1 to 3650');
    }
  });

  it('knows the settings of the worker, which it does not read', () => {
    const options = optionsFromEnvironment({ ...COMPLETE, SEALED_MEMORY_WORKER_MODEL: 'any' });
    expect(Object.entries(options)).toEqual(Object.entries(optionsFromEnvironment(COMPLETE)));
  });

  it('needs a store, a tenant and a root key only', () => {
    expect(readConfig(COMPLETE)).toEqual({
      store: { kind: 'memory' },
      prefix: '',
      tenant: 'acme',
      rootKeys: expect.objectContaining({ keys: [expect.anything()] }),
      wording: 'doc',
      onExists: 'error',
      names: undefined,
      concurrency: 32,
      lazy: false,
      createTenants: true,
      readOnly: false,
      eventPaths: false,
      policy: undefined,
      limits: { fileBytes: 1_048_576 },
      cache: { bytes: 16_777_216 },
      keyring: {},
      history: {},
      expireAfterDays: undefined,
      s3: {},
      nameOf: expect.any(Function),
    });
    expect(Object.entries(optionsFromEnvironment(COMPLETE))).toEqual([
      ['store', 'memory:'],
      ['tenant', 'acme'],
      ['rootKey', [KEY]],
    ]);
    expect(readHarness(COMPLETE)).toBe(false);
  });

  it('freezes what it returns, all the way down', () => {
    const config = readConfig(having({ SEALED_MEMORY_STORE: 's3://bucket/prefix' }));
    for (const part of [
      config,
      config.store,
      config.limits,
      config.cache,
      config.keyring,
      config.history,
      config.s3,
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it('reads every other setting', () => {
    const env = having({
      SEALED_MEMORY_STORE: 's3://my-bucket/a/b',
      SEALED_MEMORY_ROOT_KEY: `${KEY}, ${OTHER_KEY}`,
      SEALED_MEMORY_WORDING: 'sdk',
      SEALED_MEMORY_ON_EXISTS: 'overwrite',
      SEALED_MEMORY_NAMES: 'plain',
      SEALED_MEMORY_MAX_FILE_BYTES: '2048',
      SEALED_MEMORY_S3_ENDPOINT: 'http://127.0.0.1:9000',
      SEALED_MEMORY_S3_REGION: 'eu-central-1',
      SEALED_MEMORY_S3_FORCE_PATH_STYLE: '0',
      SEALED_MEMORY_S3_GUARDED: 'true',
      SEALED_MEMORY_S3_CHECKSUMS: 'when_required',
      SEALED_MEMORY_S3_CLIENT: 'sdk',
      SEALED_MEMORY_HARNESS: '1',
    });
    expect(optionsFromEnvironment(env).rootKey).toEqual([KEY, OTHER_KEY]);
    expect(readHarness(env)).toBe(true);
    expect(readConfig(env)).toMatchObject({
      store: { kind: 's3', bucket: 'my-bucket', prefix: 'a/b' },
      prefix: 'a/b',
      wording: 'sdk',
      onExists: 'overwrite',
      names: 'plain',
      limits: { fileBytes: 2048 },
      s3: {
        endpoint: 'http://127.0.0.1:9000',
        region: 'eu-central-1',
        forcePathStyle: false,
        guarded: true,
        checksums: 'when_required',
        client: 'sdk',
      },
    });
  });

  it.each(['SEALED_MEMORY_STORE', 'SEALED_MEMORY_TENANT', 'SEALED_MEMORY_ROOT_KEY'])(
    'has no default for %s, and an empty value is none',
    (name) => {
      expect(refusal(having({ [name]: undefined }))).toContain(name);
      expect(refusal(having({ [name]: '' }))).toContain(name);
    },
  );

  it('refuses an unknown SEALED_MEMORY_ name and leaves other names alone', () => {
    expect(refusal(having({ SEALED_MEMORY_TENNANT: 'x' }))).toMatch(
      /^SEALED_MEMORY_TENNANT is not a setting/,
    );
    expect(refusal(having({ SEALED_MEMORY_: 'x' }))).toMatch(/^SEALED_MEMORY_ is not a setting/);
    expect(() => readConfig(having({ SEALEDMEMORY: 'x', PATH: '/bin' }))).not.toThrow();
  });

  it.each([
    ['SEALED_MEMORY_STORE', 'redis://secret'],
    ['SEALED_MEMORY_TENANT', 'Secret Corp'],
    ['SEALED_MEMORY_ROOT_KEY', 'secret'],
    ['SEALED_MEMORY_WORDING', 'secret'],
    ['SEALED_MEMORY_ON_EXISTS', 'secret'],
    ['SEALED_MEMORY_NAMES', 'secret'],
    ['SEALED_MEMORY_MAX_FILE_BYTES', 'secret'],
    ['SEALED_MEMORY_S3_ENDPOINT', 'ftp://secret'],
    ['SEALED_MEMORY_S3_REGION', 'secret region'],
    ['SEALED_MEMORY_S3_FORCE_PATH_STYLE', 'secret'],
    ['SEALED_MEMORY_S3_GUARDED', 'secret'],
    ['SEALED_MEMORY_S3_CHECKSUMS', 'secret'],
    ['SEALED_MEMORY_S3_CLIENT', 'secret'],
    ['SEALED_MEMORY_HARNESS', 'secret'],
    ['AWS_ENDPOINT_URL_S3', 'secret'],
    ['AWS_REGION', 'secret region'],
  ])('refuses a malformed %s by name, without its value', (name, value) => {
    const message = refusal(having({ [name]: value }));
    expect(message).toContain(name);
    expect(message.toLowerCase()).not.toContain('secret');
    expect(message).not.toContain('\n');
  });

  it.each(['0', '-1', '1.5', '1e3', '0x10', ' 5', '1073741824', '99999999999999999999'])(
    'refuses a file limit of %j bytes',
    (value) => {
      expect(refusal(having({ SEALED_MEMORY_MAX_FILE_BYTES: value }))).toContain('from 1 to 1073741823');
    },
  );

  it('lets overrides stand before the environment, by the same rules', () => {
    const config = readConfig(
      having({ SEALED_MEMORY_WORDING: 'sdk', SEALED_MEMORY_ON_EXISTS: 'overwrite' }),
      {
        store: 'sqlite:x.sqlite',
        tenant: 'other',
        rootKey: OTHER_KEY,
        wording: 'doc',
        limits: { fileBytes: 10 },
      },
    );
    expect(config).toMatchObject({
      store: { kind: 'sqlite', path: 'x.sqlite' },
      tenant: 'other',
      wording: 'doc',
      onExists: 'overwrite',
      limits: { fileBytes: 10 },
    });
    expect(() => readConfig(COMPLETE, { tenant: 'NO' })).toThrow(/^tenant is not a tenant id/);
    expect(() => readConfig(COMPLETE, { limits: { fileBytes: 1.5 } })).toThrow(/^limits\.fileBytes must be/);
  });

  it('neither requires nor reads what the caller supplies', () => {
    const given = { store: 'memory:', tenant: 'other', rootKey: new Uint8Array(32) };
    const nonsense = {
      SEALED_MEMORY_STORE: 'nonsense',
      SEALED_MEMORY_TENANT: 'No',
      SEALED_MEMORY_ROOT_KEY: 'nonsense',
    };
    expect(Object.entries(optionsFromEnvironment(nonsense, given))).toEqual(Object.entries(given));
  });
});

describe('the mounts setting', () => {
  const mountsOf = (text: string) => optionsFromEnvironment({ SEALED_MEMORY_MOUNTS: text }).mounts;

  it('reads a place and a tenant for each, and what is behind them', () => {
    expect(mountsOf('/memories/handbook=org:ro:expires=false, /memories/team=team-7')).toEqual([
      { at: '/memories/handbook', tenant: 'org', readOnly: true, expires: false },
      { at: '/memories/team', tenant: 'team-7', readOnly: false },
    ]);
    expect(mountsOf('/memories/a=b:expires=true')).toEqual([
      { at: '/memories/a', tenant: 'b', readOnly: false, expires: true },
    ]);
    expect(mountsOf('')).toBeUndefined();
  });

  it.each([
    '/memories/a',
    'memories/a=b',
    '=b',
    '/memories/a=',
    '/memories/a=B',
    '/memories/a=b:rw',
    '/memories/a=b:expires=no',
    '/memories/a=b:expires=true:ro',
    '/memories/a=b,',
    'x/memories/a=b',
    '/memories/a=b c',
  ])('refuses %j, and says what it takes', (text) => {
    const { message, code } = thrown(() => mountsOf(text)) as MemoryError;
    expect(code).toBe('misconfigured');
    expect(message).toMatch(
      /^SEALED_MEMORY_MOUNTS takes a path, = and a tenant, and after them :ro or :expires=/,
    );
  });

  it('is not read where the program gives mounts', () => {
    const mounts = [{ at: '/memories/own', tenant: 'own' }];
    expect(optionsFromEnvironment({ SEALED_MEMORY_MOUNTS: 'nonsense' }, { mounts }).mounts).toBe(mounts);
  });
});

describe('the store setting', () => {
  it.each([
    ['memory:', { kind: 'memory' }],
    ['sqlite:./a b.sqlite', { kind: 'sqlite', path: './a b.sqlite' }],
    ['sqlite:/var/lib/x', { kind: 'sqlite', path: '/var/lib/x' }],
    ['s3://bucket', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://a.b-c/p/q/', { kind: 's3', bucket: 'a.b-c', prefix: 'p/q' }],
  ])('reads %s', (text, location) => {
    expect(readConfig(having({ SEALED_MEMORY_STORE: text })).store).toEqual(location);
  });

  it.each([
    'memory',
    'memory:x',
    'sqlite:',
    'sqlite::memory:',
    'sqlite:file:x?mode=memory',
    'sqlite:///var/lib/x',
    's3:bucket',
    's3://',
    's3://a',
    's3://UPPER',
    's3://two..dots',
    's3:///prefix',
    's3://bucket//prefix',
    's3://bucket/prefix//',
    's3://bucket/../x',
    's3://bucket/x?region=y',
    `s3://bucket/${'x'.repeat(63)}`,
  ])('refuses %s', (text) => {
    refusal(having({ SEALED_MEMORY_STORE: text }));
  });

  it('judges the prefix of a pool, whose tenants come later', () => {
    const env = { ...COMPLETE, SEALED_MEMORY_STORE: 's3://bucket/a//b' };
    const { tenant: _, ...options } = optionsFromEnvironment(env);
    expect(() => readSettings(options)).toThrow(MemoryError);
  });
});

describe('the S3 settings', () => {
  const s3 = (env: Environment) => readConfig(having({ SEALED_MEMORY_STORE: 's3://bucket', ...env })).s3;

  it('are empty without any variable: AWS decides', () => {
    expect(s3({})).toEqual({});
  });

  it('know a custom endpoint by any of its variables', () => {
    const custom = { endpoint: 'https://s3.example.org' };
    expect(s3({ SEALED_MEMORY_S3_ENDPOINT: 'https://s3.example.org' })).toEqual(custom);
    expect(s3({ AWS_ENDPOINT_URL_S3: 'https://s3.example.org' })).toEqual(custom);
    expect(s3({ AWS_ENDPOINT_URL: 'https://s3.example.org' })).toEqual(custom);
  });

  it('prefer the more specific variable', () => {
    const env = {
      SEALED_MEMORY_S3_ENDPOINT: 'http://own',
      AWS_ENDPOINT_URL_S3: 'http://service',
      AWS_ENDPOINT_URL: 'http://all',
      AWS_DEFAULT_REGION: 'eu-west-2',
    };
    expect(s3(env)).toMatchObject({ endpoint: 'http://own', region: 'eu-west-2' });
    expect(s3({ ...env, SEALED_MEMORY_S3_ENDPOINT: undefined, AWS_REGION: 'eu-west-1' })).toMatchObject({
      endpoint: 'http://service',
      region: 'eu-west-1',
    });
  });

  it('take an empty variable for none, and look at the next', () => {
    const empty = { SEALED_MEMORY_S3_ENDPOINT: '', SEALED_MEMORY_S3_REGION: '', AWS_REGION: '' };
    expect(s3(empty)).toEqual({});
    expect(s3({ ...empty, AWS_ENDPOINT_URL: 'http://all', AWS_DEFAULT_REGION: 'eu-west-2' })).toEqual({
      endpoint: 'http://all',
      region: 'eu-west-2',
    });
  });

  it('pass over the shared endpoints when AWS programs are told to', () => {
    const env = { AWS_ENDPOINT_URL: 'http://all', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' };
    expect(s3(env)).toEqual({});
    const given = { ...env, AWS_REGION: 'eu-west-1', SEALED_MEMORY_S3_ENDPOINT: 'http://own' };
    expect(s3(given)).toEqual({ endpoint: 'http://own', region: 'eu-west-1' });
    for (const not of ['', 'false', '1']) {
      const ignored = { ...env, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: not };
      expect(s3(ignored)).toEqual({ endpoint: 'http://all' });
    }
    expect(s3({ ...env, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'TRUE' })).toEqual({});
  });

  it.each(['http://user:pass@host', 'http://host?x', 'http://host#x', 'host:9000', 'http://'])(
    'refuse the endpoint %s',
    (endpoint) => {
      refusal(having({ SEALED_MEMORY_S3_ENDPOINT: endpoint }));
    },
  );
});

describe('the root key settings', () => {
  let folder: string;
  const keyFile = (text: string, mode = 0o600): string => {
    const path = join(mkdtempSync(join(folder, 'key-')), 'root.key');
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  const fromFile = (path: string): Environment =>
    having({ SEALED_MEMORY_ROOT_KEY: undefined, SEALED_MEMORY_ROOT_KEY_FILE: path });

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-config-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['a final line break', `${KEY}\n`, [KEY]],
    ['a carriage return', `${KEY}\r\n`, [KEY]],
    ['several lines', `${KEY}\n${OTHER_KEY}\n`, [KEY, OTHER_KEY]],
    ['commas', `${KEY},${OTHER_KEY}`, [KEY, OTHER_KEY]],
  ])('read a file with %s', (_, text, keys) => {
    expect(optionsFromEnvironment(fromFile(keyFile(text))).rootKey).toEqual(keys);
  });

  it.each([0o640, 0o604, 0o660, 0o644, 0o610])('refuse a file of mode %o and say what to do', (mode) => {
    expect(refusal(fromFile(keyFile(KEY, mode)))).toContain('chmod 600');
  });

  it('say how to create a file that is not there, without its path', () => {
    const message = refusal(fromFile(join(folder, 'absent')));
    expect(message).toContain('SEALED_MEMORY_ROOT_KEY_FILE');
    expect(message).toContain('sealed-memory init');
    expect(message).not.toContain(folder);
  });

  it('refuse a folder, an empty file and a huge one', () => {
    mkdirSync(join(folder, 'folder'), { mode: 0o700 });
    expect(refusal(fromFile(join(folder, 'folder')))).toContain('regular file');
    expect(refusal(fromFile(keyFile('\n')))).toContain('SEALED_MEMORY_ROOT_KEY_FILE');
    expect(refusal(fromFile(keyFile(`${KEY}\n`.repeat(1000))))).toContain('too large');
  });

  it('refuse a key and a key file together', () => {
    const message = refusal(having({ SEALED_MEMORY_ROOT_KEY_FILE: keyFile(KEY) }));
    expect(message).toContain('both set');
  });

  it.each([
    ['31 bytes', Buffer.alloc(31, 1).toString('base64')],
    ['33 bytes', Buffer.alloc(33, 1).toString('base64')],
    ['no padding', KEY.slice(0, -1)],
    ['the URL alphabet', Buffer.alloc(32, 255).toString('base64url')],
    ['set trailing bits', `${KEY.slice(0, -2)}d=`],
    ['hexadecimal digits', '07'.repeat(32)],
    ['a comma at the end', `${KEY},`],
  ])('refuse a key with %s, without repeating it', (_, text) => {
    const message = refusal(having({ SEALED_MEMORY_ROOT_KEY: text }));
    expect(message).toContain('SEALED_MEMORY_ROOT_KEY');
    expect(message).not.toContain(text.slice(0, 8));
  });

  it('say which of several keys is wrong', () => {
    expect(refusal(having({ SEALED_MEMORY_ROOT_KEY: `${KEY},x` }))).toContain(
      'Key 2 of SEALED_MEMORY_ROOT_KEY',
    );
  });

  it.each([
    ['alone', KMS_KEY, [KMS_KEY]],
    ['before another key', `${KMS_KEY},${KEY}`, [KMS_KEY, KEY]],
    ['behind another key', `${KEY}, ${KMS_KEY}`, [KEY, KMS_KEY]],
  ])('take a KMS key %s, from the variable and from a file', (_, text, keys) => {
    expect(optionsFromEnvironment(having({ SEALED_MEMORY_ROOT_KEY: text })).rootKey).toEqual(keys);
    expect(optionsFromEnvironment(fromFile(keyFile(text))).rootKey).toEqual(keys);
  });

  it.each([
    ['whose id is cut', KMS_KEY.slice(0, -1)],
    ['without an ARN', 'aws-kms:'],
    ['of another service', KMS_KEY.replace(':kms:', ':s3:')],
  ])('refuse a KMS key %s, without repeating it', (_, text) => {
    const message = refusal(having({ SEALED_MEMORY_ROOT_KEY: `${KEY},${text}` }));
    expect(message).toContain('Key 2 of SEALED_MEMORY_ROOT_KEY is not the ARN of a KMS key');
    expect(message).not.toContain('111122223333');
  });

  it('refuse the alias of a KMS key and say what to give instead', () => {
    const text = 'aws-kms:arn:aws:kms:eu-central-1:111122223333:alias/memory';
    const message = refusal(having({ SEALED_MEMORY_ROOT_KEY: text }));
    expect(message).toMatch(/^SEALED_MEMORY_ROOT_KEY names a KMS key by an alias.*the key's own ARN/);
    expect(message).not.toContain('111122223333');
  });
});

describe('.env.example', () => {
  const text = readFileSync(new URL('../../../../.env.example', import.meta.url), 'utf8');

  it('lists every variable that is read, each below a line about it, or says which it leaves out', () => {
    const names = [...text.matchAll(/^#?(SEALED_MEMORY_\w+)=/gm)].flatMap(({ 1: name }) => name ?? []);
    const leftOut = [...text.matchAll(/(SEALED_MEMORY_\w+_)\*/g)].flatMap(({ 1: prefix }) => prefix ?? []);
    const read = new Set([...VARIABLES, ...globSync('{src,infra}/**/*.ts').flatMap(variablesNamedIn)]);
    const wanted = [...read].filter((name) => !leftOut.some((prefix) => name.startsWith(prefix)));
    expect(names.toSorted()).toEqual(wanted.toSorted());
    for (const name of names) {
      expect(text).toMatch(new RegExp(`^# .+\\n#?${name}=`, 'm'));
    }
  });
});

function variablesNamedIn(path: string): readonly string[] {
  return readFileSync(path, 'utf8').match(/\bSEALED_MEMORY_[A-Z0-9_]*[A-Z0-9]\b/g) ?? [];
}

describe('what the pages, the help and the messages say of variables', () => {
  const isRead = (name: string): boolean => {
    try {
      optionsFromEnvironment({ [name]: '' });
      return true;
    } catch (error) {
      return !String(error).includes('Known are');
    }
  };

  it('names variables that are read, and no others', () => {
    expect(isRead('SEALED_MEMORY_UNKNOWN')).toBe(false);
    const names = new Set(
      globSync(['*.md', '{docs,examples}/**/*.md', '{src,examples,infra,bench}/**/*.{ts,py}']).flatMap(
        variablesNamedIn,
      ),
    );
    expect(names.size).toBeGreaterThan(20);
    expect([...names].filter((name) => !isRead(name))).toEqual([]);
  });
});

it('variables of AWS and of Vault from a file are set where the process has none', () => {
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_PROFILE', '');
  vi.stubEnv('VAULT_TOKEN', '');
  try {
    setClientVariables({
      AWS_REGION: 'us-east-1',
      AWS_PROFILE: 'work',
      VAULT_TOKEN: 'hvs',
      OTHER_THAN_AWS: 'x',
    });
    const { AWS_REGION, AWS_PROFILE, VAULT_TOKEN, OTHER_THAN_AWS } = process.env;
    expect([AWS_REGION, AWS_PROFILE, VAULT_TOKEN, OTHER_THAN_AWS]).toEqual([
      'eu-central-1',
      'work',
      'hvs',
      undefined,
    ]);
  } finally {
    vi.unstubAllEnvs();
  }
});
