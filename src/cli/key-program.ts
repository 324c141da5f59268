import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { createRootKeyFile } from '../open/root-keys.ts';
import type { CommonOptions, MigrateArguments, RotateArguments, ShredArguments } from './admin-verbs.ts';
import type { Action } from './terminal.ts';

const JSON_HELP = 'answer with JSON lines, as it does when standard output is no terminal';

/** Adds the commands of docs/keys.md. What they do is loaded when one of them runs. */
export function addKeyCommands(program: Command, choose: (action: Action) => void): void {
  const keys = program.command('keys').description("look after the tenant's keys; docs/keys.md is the guide");

  keys
    .command('status')
    .description('show the keyring: epoch, root key, key versions')
    .option('--json', JSON_HELP)
    .action((options: CommonOptions) => choose(async (run) => (await commands()).runStatus(options, run)));

  keys
    .command('rotate')
    .description(
      'make a new tenant key, which seals from now on; does nothing within an hour of the last time',
    )
    .option('--if-active <version>', 'only while that key version is the active one', parseCount)
    .option('--force', 'also within the hour')
    .option('--json', JSON_HELP)
    .action((options: RotateArguments) => choose(async (run) => (await commands()).runRotate(options, run)));

  keys
    .command('migrate')
    .description('bring every object under the active key, and retire old keys that nothing needs')
    .option('--reencrypt', 'seal every object again with a fresh data key, as after a compromise')
    .option('--wait', 'go on until the old keys are retired')
    .option('--ttl <seconds>', 'the longest keyring TTL of any process, 60-900; default 900', parseCount)
    .option('--json', JSON_HELP)
    .action((options: MigrateArguments) =>
      choose(async (run) => (await commands()).runMigrate(options, run)),
    );

  keys
    .command('rewrap-root')
    .description('have the first configured root key wrap the keyring')
    .option('--force', 'also when it does so already')
    .option('--json', JSON_HELP)
    .action((options: RotateArguments) => choose(async (run) => (await commands()).runRewrap(options, run)));

  program
    .command('tenant')
    .description('look after the tenant as a whole')
    .command('shred')
    .description("destroy the tenant's keys, and with them all that is stored for it, for good")
    .option('--confirm <tenant>', "the tenant's name, instead of typing it")
    .option('--ttl <seconds>', 'the longest keyring TTL of any process, 0-900; default 900', parseCount)
    .option('--json', JSON_HELP)
    .action((options: ShredArguments) => choose(async (run) => (await commands()).runShred(options, run)));

  const names = program.command('names').description('translate between paths and object keys');
  names
    .command('encode <path>')
    .description('print the object key of the file at a path')
    .action((path: string) => choose(async (run) => (await commands()).runEncodeName(path, run)));
  names
    .command('decode <key>')
    .description('print the path of the file under an object key')
    .action((key: string) => choose(async (run) => (await commands()).runDecodeName(key, run)));
}

const commands = (): Promise<typeof import('./admin-verbs.ts')> => import('./admin-verbs.ts');

export function parseCount(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

export const DEFAULT_KEY_FILE = '.sealed-memory/root.key';

/**
 * Creates a root key file (mode 0600) and returns what to tell the user: where it is and the next step.
 *
 * @throws MemoryError `misconfigured` when anything lies at the path already, or it cannot be written.
 */
export function createKeyFile(path: string): string {
  createRootKeyFile(path, `${randomBytes(32).toString('base64')}\n`);
  return [
    `Root key created in ${path}; only you may read it.`,
    'Keep a copy in a safe place: without this key nothing that is stored under it can be read again.',
    '',
    'Next, say where the memory lies and whose it is, then let doctor check it:',
    `  export SEALED_MEMORY_ROOT_KEY_FILE=${quoted(resolve(path))}`,
    '  export SEALED_MEMORY_STORE=sqlite:.sealed-memory/store.sqlite   # or s3://bucket/prefix',
    '  export SEALED_MEMORY_TENANT=my-agent',
    '  sealed-memory doctor',
    '',
  ].join('\n');
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
