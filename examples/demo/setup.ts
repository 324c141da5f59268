import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, optionsFromEnvironment } from '../../src/index.ts';
import { readSettings } from '../../src/open/options/settings.ts';

/** The environment of both conversations, and what to tell the user about it. */
export interface Setup {
  readonly env: Environment;
  readonly store: string;
  readonly tenant: string;
  readonly rootKey: string;
  readonly namesAreEncrypted: boolean;
  /** The file of the store, where it was made for this run. */
  readonly file: string | undefined;
  /** The folder that was made for this run, if one was. */
  readonly folder: string | undefined;
  /** A configuration file for the command line, where something was made for this run. */
  readonly config: string | undefined;
}

/**
 * Fills in a store, a tenant and a root key where none is configured, in a new folder of mode 0700, with a
 * configuration file by which the command line finds them. No other part of the project has such defaults: a memory
 * under a key that is gone, or a tenant that was never named, is lost. Throws `misconfigured`.
 */
export function setUp(given: Environment): Setup {
  const id = randomBytes(6).toString('hex');
  const folder = join(tmpdir(), `sealed-memory-demo-${id}`);
  const file = given['SEALED_MEMORY_STORE'] ? undefined : join(folder, 'memory.sqlite');
  const store = given['SEALED_MEMORY_STORE'] || `sqlite:${file}`;
  const tenant = given['SEALED_MEMORY_TENANT'] || `demo-${id}`;
  const hasRootKey = Boolean(given['SEALED_MEMORY_ROOT_KEY'] || given['SEALED_MEMORY_ROOT_KEY_FILE']);
  const isComplete = file === undefined && hasRootKey;
  const settings = {
    SEALED_MEMORY_STORE: store,
    SEALED_MEMORY_TENANT: tenant,
    // Keeps versions, to look at and to take back.
    SEALED_MEMORY_HISTORY_DAYS: given['SEALED_MEMORY_HISTORY_DAYS'] || '30',
  };
  const key = randomBytes(32).toString('base64');
  const { store: location, names } = readSettings(
    optionsFromEnvironment({ ...given, ...settings, ...(!hasRootKey && { SEALED_MEMORY_ROOT_KEY: key }) }),
  );
  if (location.kind === 'memory') {
    throw new Error(
      'SEALED_MEMORY_STORE is memory:, which ends with its process; the demo needs sqlite:PATH or s3://bucket/prefix for its two.',
    );
  }
  const keyFile = join(folder, 'root.key');
  const config = join(folder, 'config.toml');
  if (!isComplete) {
    mkdirSync(folder, { mode: 0o700 });
    if (!hasRootKey) writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
    writeFileSync(config, configuration({ store, tenant, ...(!hasRootKey && { root_key_file: keyFile }) }));
  }
  return {
    env: { ...given, ...settings, ...(!hasRootKey && { SEALED_MEMORY_ROOT_KEY_FILE: keyFile }) },
    store: file === undefined ? store : `${store} (made for this run; it stays for you to look at)`,
    tenant: given['SEALED_MEMORY_TENANT'] ? tenant : `${tenant} (made for this run)`,
    rootKey: hasRootKey ? 'yours' : `${keyFile} (made for this run; only you may read it)`,
    namesAreEncrypted: names !== 'plain',
    file,
    folder: isComplete ? undefined : folder,
    config: isComplete ? undefined : config,
  };
}

function configuration(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  return `[default]\n${lines.join('')}`;
}
