import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Flags } from '../../../../src/cli/run/invocation.ts';
import { readEnvironment, readOptions } from '../../../../src/cli/run/settings.ts';
import type { Environment } from '../../../../src/open/options/environment.ts';
import { CLI_MEMORY_ENV } from '../../../stage/cli.ts';
import { invocationOf } from '../../../stage/invocation.ts';

let cwd: string;
let home: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'sealed-memory-settings-'));
  home = join(cwd, 'home');
});
afterEach(() => rmSync(cwd, { recursive: true }));

const read = (flags: Flags = {}, env: Environment = {}): Environment =>
  readEnvironment(flags, { env, cwd, home });

function write(path: string, text: string): void {
  const file = join(cwd, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

describe('readEnvironment', () => {
  it('takes each setting from the first that has it: flag, environment, .env, profile', () => {
    write(
      '.sealed-memory/config.toml',
      '[default]\ntenant = "config"\nwording = "sdk"\nnames = "plain"\non_exists = "error"\n',
    );
    write(
      '.env',
      'SEALED_MEMORY_TENANT=dotenv\nSEALED_MEMORY_NAMES=encrypted\nSEALED_MEMORY_ON_EXISTS=overwrite\n',
    );
    const env = { SEALED_MEMORY_TENANT: 'environment', SEALED_MEMORY_ON_EXISTS: '' };
    expect(read({ tenant: 'flag' }, env)).toEqual({
      SEALED_MEMORY_TENANT: 'flag',
      SEALED_MEMORY_NAMES: 'encrypted',
      SEALED_MEMORY_ON_EXISTS: 'overwrite',
      SEALED_MEMORY_WORDING: 'sdk',
    });
    expect(read({}, env)).toMatchObject({ SEALED_MEMORY_TENANT: 'environment' });
    expect(read()).toMatchObject({ SEALED_MEMORY_TENANT: 'dotenv' });
  });

  it('has a flag for each of mounts, policy, read-only and events', () => {
    expect(
      read({
        mount: ['/memories/a=org:ro', '/memories/b=b'],
        policy: 'secrets',
        readOnly: true,
        events: '/dev/stderr',
      }),
    ).toEqual({
      SEALED_MEMORY_MOUNTS: '/memories/a=org:ro,/memories/b=b',
      SEALED_MEMORY_POLICY: 'secrets',
      SEALED_MEMORY_READ_ONLY: '1',
      SEALED_MEMORY_EVENTS_FILE: '/dev/stderr',
    });
  });

  it('takes nothing of .env but what is about this program and AWS', () => {
    write('.env', 'SEALED_MEMORY_TENANT=a\nAWS_REGION=eu-central-1\nNODE_OPTIONS=--inspect\nSECRET=x\n');
    expect(read()).toEqual({ SEALED_MEMORY_TENANT: 'a', AWS_REGION: 'eu-central-1' });
  });

  it('lets a root key hide what a later source says of it, in a file or not', () => {
    write('.sealed-memory/config.toml', '[default]\nroot_key_file = "root.key"\n');
    expect(read()).toEqual({ SEALED_MEMORY_ROOT_KEY_FILE: join(cwd, '.sealed-memory/root.key') });
    expect(read({}, { SEALED_MEMORY_ROOT_KEY: 'k' })).toEqual({ SEALED_MEMORY_ROOT_KEY: 'k' });
    expect(read({ rootKeyFile: 'other.key' }, { SEALED_MEMORY_ROOT_KEY: 'k' })).toEqual({
      SEALED_MEMORY_ROOT_KEY_FILE: 'other.key',
    });
  });

  it('reads the configuration of the project, else of the person, else none', () => {
    expect(read()).toEqual({});
    write('home/.config/sealed-memory/config.toml', '[default]\ntenant = "person"\n');
    expect(read()).toEqual({ SEALED_MEMORY_TENANT: 'person' });
    write('xdg/sealed-memory/config.toml', '[default]\ntenant = "xdg"\n');
    expect(read({}, { XDG_CONFIG_HOME: join(cwd, 'xdg') })).toMatchObject({ SEALED_MEMORY_TENANT: 'xdg' });
    write('.sealed-memory/config.toml', '[default]\ntenant = "project"\n');
    expect(read()).toEqual({ SEALED_MEMORY_TENANT: 'project' });
    write('named.toml', '[default]\ntenant = "named"\n');
    expect(read({}, { SEALED_MEMORY_CONFIG: 'named.toml' })).toMatchObject({ SEALED_MEMORY_TENANT: 'named' });
  });

  it('chooses a profile by flag or variable, and counts its relative paths from the file', () => {
    write(
      '.sealed-memory/config.toml',
      '[default]\ntenant = "a"\n[work]\ntenant = "b"\nstore = "sqlite:b.sqlite"\nmax_file_bytes = 5\ns3_guarded = true\nevents_file = "events.jsonl"\nmax_files = 7\n',
    );
    const work = {
      SEALED_MEMORY_TENANT: 'b',
      SEALED_MEMORY_STORE: `sqlite:${join(cwd, '.sealed-memory/b.sqlite')}`,
      SEALED_MEMORY_MAX_FILE_BYTES: '5',
      SEALED_MEMORY_S3_GUARDED: 'true',
      SEALED_MEMORY_EVENTS_FILE: join(cwd, '.sealed-memory/events.jsonl'),
      SEALED_MEMORY_MAX_FILES: '7',
    };
    expect(read({ profileName: 'work' })).toMatchObject(work);
    expect(read({}, { SEALED_MEMORY_PROFILE_NAME: 'work' })).toMatchObject(work);
  });

  it('takes a profile that was asked for before .env, which has the store and the tenant of init', () => {
    write(
      '.sealed-memory/config.toml',
      '[default]\ntenant = "a"\n[work]\ntenant = "b"\nroot_key_file = "b.key"\n',
    );
    write(
      '.env',
      'SEALED_MEMORY_TENANT=dotenv\nSEALED_MEMORY_ROOT_KEY=k\nSEALED_MEMORY_STORE=memory:\nSEALED_MEMORY_PROFILE_NAME=default\n',
    );
    const work = {
      SEALED_MEMORY_TENANT: 'b',
      SEALED_MEMORY_ROOT_KEY_FILE: join(cwd, '.sealed-memory/b.key'),
      SEALED_MEMORY_STORE: 'memory:',
      SEALED_MEMORY_PROFILE_NAME: 'work',
    };
    expect(read({ profileName: 'work' })).toEqual(work);
    expect(read({}, { SEALED_MEMORY_PROFILE_NAME: 'work' })).toEqual(work);
    expect(read({ profileName: 'work', tenant: 'flag' })).toMatchObject({ SEALED_MEMORY_TENANT: 'flag' });
    expect(read()).toMatchObject({ SEALED_MEMORY_TENANT: 'dotenv', SEALED_MEMORY_ROOT_KEY: 'k' });
  });

  it('takes a configuration file that the environment names before the .env of the folder it runs in', () => {
    write('demo/config.toml', '[default]\ntenant = "demo"\n');
    write('.env', 'SEALED_MEMORY_TENANT=dotenv\nSEALED_MEMORY_STORE=memory:\n');
    const named = { SEALED_MEMORY_CONFIG: join(cwd, 'demo/config.toml') };
    expect(read({}, named)).toMatchObject({ SEALED_MEMORY_TENANT: 'demo', SEALED_MEMORY_STORE: 'memory:' });
    write('.env', `SEALED_MEMORY_TENANT=dotenv\nSEALED_MEMORY_CONFIG=${named.SEALED_MEMORY_CONFIG}\n`);
    expect(read()).toMatchObject({ SEALED_MEMORY_TENANT: 'dotenv' });
  });
});

it('the options of a verb bring the variables of AWS of a configuration file into the process', () => {
  vi.stubEnv('SEALED_MEMORY_ROOT_KEY', CLI_MEMORY_ENV['SEALED_MEMORY_ROOT_KEY']);
  vi.stubEnv('AWS_PROFILE', '');
  write('.env', 'AWS_PROFILE=work\n');
  const folder = vi.spyOn(process, 'cwd').mockReturnValue(cwd);
  try {
    const { invocation } = invocationOf({ flags: { store: 'memory:', tenant: 'acme' } });
    expect(readOptions(invocation)).toMatchObject({ store: 'memory:', tenant: 'acme' });
    expect(process.env['AWS_PROFILE']).toBe('work');
  } finally {
    folder.mockRestore();
    vi.unstubAllEnvs();
  }
});
