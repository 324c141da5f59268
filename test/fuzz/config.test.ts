import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect } from 'vitest';
import { type Environment, optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { readSettings, requireTenant } from '../../src/open/options/settings.ts';
import { parseStoreLocation } from '../../src/store/open-store.ts';
import { fuzz, verdictOf } from './fuzz.ts';
import { mutatedTexts } from './mutation.ts';

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-fuzz-'));
afterAll(() => rmSync(directory, { recursive: true }));

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 251).toString('base64');
const KMS_KEY = 'aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const SECRET = 'hunter2hunter2';
const COMPLETE: Environment = {
  SEALED_MEMORY_STORE: 's3://bucket/a/prefix',
  SEALED_MEMORY_TENANT: 'acme',
  SEALED_MEMORY_ROOT_KEY: `${KEY}, ${OTHER_KEY}`,
  SEALED_MEMORY_WORDING: 'sdk',
  SEALED_MEMORY_ON_EXISTS: 'overwrite',
  SEALED_MEMORY_NAMES: 'plain',
  SEALED_MEMORY_MAX_FILE_BYTES: '2048',
  SEALED_MEMORY_KEYRING_TTL_SECONDS: '300',
  SEALED_MEMORY_KEYRING_MIN_EPOCH: '7',
  SEALED_MEMORY_S3_ENDPOINT: 'http://127.0.0.1:9000',
  SEALED_MEMORY_S3_REGION: 'eu-central-1',
  SEALED_MEMORY_S3_FORCE_PATH_STYLE: '0',
  SEALED_MEMORY_S3_GUARDED: 'true',
  SEALED_MEMORY_S3_CHECKSUMS: 'when_required',
  SEALED_MEMORY_S3_CLIENT: 'sdk',
  SEALED_MEMORY_HARNESS: '1',
};
const STORES = [
  'memory:',
  'sqlite:memory.db',
  'sqlite:/var/lib/a.db',
  's3://bucket',
  's3://my.bucket-1/a/b/',
];

const pieces = fc.oneof(
  fc.constantFrom(
    ...[
      '',
      ' ',
      '/',
      '//',
      ':',
      '?',
      '#',
      '@',
      '\\',
      '..',
      '.',
      '\0',
      '\n',
      ',',
      '=',
      '-1',
      '1e3',
      '1e9',
      '0x10',
      'Infinity',
    ],
    ...['file:', 's3://', 'aws-kms:', 'user:pass@', '\ufeff', '\ud800', '%2e', '９', '9'.repeat(400)],
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  SEALED_MEMORY_STORE: STORES,
  SEALED_MEMORY_ROOT_KEY: [KMS_KEY, `${KMS_KEY},${KEY}`],
  SEALED_MEMORY_KEYRING_TTL_SECONDS: ['0', '900', '901'],
  SEALED_MEMORY_KEYRING_MIN_EPOCH: ['0', '1', '4294967295', '4294967296'],
};
const settings = Object.entries(COMPLETE).map(([name, value]) =>
  fc.record({ [name]: mutatedTexts([String(value), ...(OTHERS[name] ?? [])], pieces) }),
);
const others = fc.dictionary(
  fc.oneof(
    pieces,
    pieces.map((text) => `SEALED_MEMORY_${text}`),
  ),
  pieces,
  { maxKeys: 1 },
);
/** One or two of the settings changed, and sometimes what else may stand in an environment. */
const environments = fc
  .tuple(fc.oneof(...settings), fc.oneof(...settings), fc.option(others, { nil: {} }))
  .map((parts): Environment => Object.assign({}, COMPLETE, ...parts));

function readConfig(env: Environment) {
  const options = optionsFromEnvironment(env);
  const settings = readSettings(options);
  return { ...settings, rootKeys: options.rootKey as readonly string[], tenant: requireTenant(settings) };
}

/** Padded canonical base64 of 32 bytes, or a key in KMS. */
function isRootKey(key: string): boolean {
  const bytes = Buffer.from(key, 'base64');
  const isBase64 = bytes.length === 32 && bytes.toString('base64') === key;
  return isBase64 || /^aws-kms:arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[0-9a-fmrk-]{36}$/.test(key);
}

function keysIn(text: string | undefined): string {
  return (text ?? '')
    .split(',')
    .map((key) => key.trim())
    .join();
}

describe('the environment', () => {
  fuzz('is read, or refused with one sentence that holds no value', {
    runs: 5_000,
    inputs: [environments],
    check(env) {
      const verdict = verdictOf(() => readConfig(env));
      if ('code' in verdict) {
        expect(verdict.code).toBe('misconfigured');
        return;
      }
      const { rootKeys, limits, tenant, wording, names, keyring } = verdict.value;
      const bytes = env['SEALED_MEMORY_MAX_FILE_BYTES'] || '1048576';
      expect([/^[0-9]+$/.test(bytes), Number(bytes)]).toEqual([true, limits.fileBytes]);
      expect([wording, names]).toEqual([
        env['SEALED_MEMORY_WORDING'] || 'doc',
        env['SEALED_MEMORY_NAMES'] || undefined,
      ]);
      expect(rootKeys.filter((key) => !isRootKey(key))).toEqual([]);
      expect(rootKeys.join()).toBe(keysIn(env['SEALED_MEMORY_ROOT_KEY']));
      const [ttl, epoch] = ['TTL_SECONDS', 'MIN_EPOCH'].map((each) => env[`SEALED_MEMORY_KEYRING_${each}`]);
      expect(keyring).toEqual({
        ...(ttl && { ttlMs: Number(ttl) * 1_000 }),
        ...(epoch && { minimumEpoch: Number(epoch) }),
      });
      expect(keyring.ttlMs ?? 0).toBeLessThanOrEqual(900_000);
      expect(keyring.minimumEpoch ?? 1).toSatisfy((least) => Number(least) >= 1 && Number(least) < 2 ** 32);
      const { fileBytes } = limits;
      expect(Number.isSafeInteger(fileBytes) && fileBytes >= 1 && fileBytes < 2 ** 30).toBe(true);
      expect(tenant).toMatch(/^[a-z0-9][a-z0-9-]{0,62}$/);
    },
  });

  fuzz('keeps what is secret out of its sentence', {
    runs: 2_000,
    inputs: [
      fc.constantFrom('SEALED_MEMORY_ROOT_KEY', 'SEALED_MEMORY_STORE', 'SEALED_MEMORY_S3_ENDPOINT'),
      pieces,
      pieces,
    ],
    check(name, before, after) {
      try {
        readConfig({ ...COMPLETE, [name]: `${before}${SECRET}${after}` });
      } catch (error) {
        expect(String(error)).not.toContain(SECRET);
      }
    },
  });
});

describe('the location of a store', () => {
  fuzz('is one of three kinds, or refused', {
    runs: 5_000,
    inputs: [mutatedTexts(STORES, pieces)],
    check(text) {
      const verdict = verdictOf(() => parseStoreLocation(text, 'store'));
      if ('code' in verdict) {
        expect(verdict.code).toBe('misconfigured');
        return;
      }
      const location = verdict.value;
      const written =
        location.kind === 'memory'
          ? 'memory:'
          : location.kind === 'sqlite'
            ? `sqlite:${location.path}`
            : `s3://${location.bucket}${location.prefix === '' ? '' : `/${location.prefix}`}`;
      expect([written, `${written}/`, `${written}//`]).toContain(text);
      if (location.kind === 's3') expect(parseStoreLocation(`${written}/`, 'store')).toEqual(location);
    },
  });
});

describe('a root key file', () => {
  const file = join(directory, 'root.key');
  const texts = mutatedTexts([KEY, `${KEY}\n`, `${KEY}\n${OTHER_KEY}\n`, `${KEY},${OTHER_KEY}`], pieces).map(
    (text) => Buffer.from(text),
  );

  fuzz('holds root keys, or is refused', {
    runs: 500,
    inputs: [fc.oneof({ weight: 3, arbitrary: texts }, fc.uint8Array({ maxLength: 200 }))],
    check(bytes) {
      writeFileSync(file, bytes, { mode: 0o600 });
      const { SEALED_MEMORY_ROOT_KEY: _, ...rest } = COMPLETE;
      const verdict = verdictOf(() => readConfig({ ...rest, SEALED_MEMORY_ROOT_KEY_FILE: file }));
      if ('code' in verdict) {
        expect(verdict.code).toBe('misconfigured');
        return;
      }
      const written = Buffer.from(bytes).toString().trim().split(/[,\n]/);
      expect(verdict.value.rootKeys).toEqual(written.map((key) => key.trim()));
    },
  });
});
