import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Environment, optionsFromEnvironment } from '../../src/index.ts';
import { readSettings } from '../../src/open/options.ts';

/** The environment of both conversations, and what to tell the user about it. */
export interface Setup {
  readonly env: Environment;
  readonly store: string;
  readonly tenant: string;
  readonly rootKey: string;
  readonly namesAreEncrypted: boolean;
}

/**
 * Fills in a store, a tenant and a root key where none is configured. No other part of the project has such
 * defaults: a memory under a key that is gone, or a tenant that was not named, is lost. Throws `misconfigured`.
 */
export function setUp(given: Environment): Setup {
  const id = randomBytes(6).toString('hex');
  const file = join(tmpdir(), `sealed-memory-demo-${id}`, 'memory.sqlite');
  const store = given['SEALED_MEMORY_STORE'] || `sqlite:${file}`;
  const tenant = given['SEALED_MEMORY_TENANT'] || `demo-${id}`;
  const hasRootKey = Boolean(given['SEALED_MEMORY_ROOT_KEY'] || given['SEALED_MEMORY_ROOT_KEY_FILE']);
  const env = {
    ...given,
    SEALED_MEMORY_STORE: store,
    SEALED_MEMORY_TENANT: tenant,
    ...(!hasRootKey && { SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64') }),
  };
  const settings = readSettings(optionsFromEnvironment(env));
  if (settings.store.kind === 'memory') {
    throw new Error(
      'SEALED_MEMORY_STORE is memory:, which ends with its process; the demo needs sqlite:PATH or s3://bucket/prefix for its two.',
    );
  }
  if (store === `sqlite:${file}`) mkdirSync(dirname(file), { mode: 0o700 });
  return {
    env,
    store: given['SEALED_MEMORY_STORE'] ? store : `${store} (made for this run; it stays for you to look at)`,
    tenant: given['SEALED_MEMORY_TENANT'] ? tenant : `${tenant} (made for this run)`,
    rootKey: hasRootKey
      ? 'yours'
      : 'made for this run, written nowhere: afterwards this memory cannot be opened',
    namesAreEncrypted: settings.names !== 'plain',
  };
}
