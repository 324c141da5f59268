import type { Command } from 'commander';
import type { MigrateArguments, RotateArguments, ShredArguments } from '../keys/operate.ts';
import type { Choose } from '../run/choose.ts';
import { parseCount, pathArgument } from '../run/typed.ts';
import { addHistorySwitch } from './history-program.ts';

/** Adds the commands of docs/keys.md. What they do is loaded when one of them runs. */
export function addKeyVerbs(program: Command, choose: Choose): void {
  const keys = program.command('keys').description("look after the tenant's keys; docs/keys.md is the guide");
  keys
    .command('status')
    .description('show the keyring: epoch, root key, key versions')
    .action(() => choose(async (run) => (await verbs()).runStatus(run)));
  keys
    .command('show-root')
    .description("show the id of each configured root key, and which one wraps the tenant's keyring")
    .action(() => choose(async (run) => (await verbs()).runShowRoot(run)));
  keys
    .command('rotate')
    .description(
      'make a new tenant key, which seals from now on; does nothing within an hour of the last time',
    )
    .option('--if-active <version>', 'only while that key version is the active one', parseCount)
    .option('--force', 'also within the hour')
    .action((options: RotateArguments) => choose(async (run) => (await verbs()).runRotate(options, run)));
  keys
    .command('migrate')
    .description('bring every object under the active key, and retire old keys that nothing needs')
    .option('--reencrypt', 'seal every object again with a fresh data key, as after a compromise')
    .option('--wait', 'go on until the old keys are retired')
    .option('--ttl <seconds>', 'the longest keyring TTL of any process, 60-900; default 900', parseCount)
    .action((options: MigrateArguments) => choose(async (run) => (await verbs()).runMigrate(options, run)));
  keys
    .command('rewrap-root')
    .description('have the first configured root key wrap the keyring')
    .option('--force', 'also when it does so already')
    .action((options: RotateArguments) => choose(async (run) => (await verbs()).runRewrap(options, run)));

  const tenant = program.command('tenant').description('look after the tenant as a whole');
  addHistorySwitch(tenant, choose);
  tenant
    .command('shred')
    .description("destroy the tenant's keys, and with them all that is stored for it, for good")
    .option('--confirm <tenant>', "the tenant's name, instead of typing it")
    .option('--ttl <seconds>', 'the longest keyring TTL of any process, 0-900; default 900', parseCount)
    .action((options: ShredArguments) => choose(async (run) => (await verbs()).runShred(options, run)));

  const names = program.command('names').description('translate between paths and object keys');
  names
    .command('encode')
    .addArgument(pathArgument('<path>'))
    .description('print the object key of the file at a path')
    .action((path: string) => choose(async (run) => (await verbs()).runEncodeName(path, run)));
  names
    .command('decode <key>')
    .description('print the path of the file under an object key')
    .action((key: string) => choose(async (run) => (await verbs()).runDecodeName(key, run)));
}

const verbs = (): Promise<typeof import('../keys/operate.ts')> => import('../keys/operate.ts');
