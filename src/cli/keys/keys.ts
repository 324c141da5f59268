import type { Command } from 'commander';
import { LEAST_TTL_MS, LONGEST_TTL_MS } from '../../keys/keyring-cache.ts';
import { runOnAdmin } from '../run/admin.ts';
import { type ChosenVerb, CONTINUES, EXIT_FAILED, type Invocation, ofOneChange } from '../run/invocation.ts';
import { wholeNumber } from '../run/typed.ts';
import { noteWhereUnseen } from '../run/waits.ts';
import {
  migrationLines,
  migrationStep,
  rewrapLines,
  rootKeyLines,
  rotationLines,
  statusLines,
} from '../show/operate-lines.ts';

const TTL_SECONDS = { least: LEAST_TTL_MS / 1_000, most: LONGEST_TTL_MS / 1_000 };

const REACHING = 'reaching the store';

/** Declares `keys status`. */
export function declareStatus(keys: Command, run: ChosenVerb<typeof runStatus>): void {
  keys
    .command('status')
    .description('show the keyring: epoch, root key, key versions')
    .action(() => run());
}

/** Resolves to 1 where the keyring is locked. */
export function runStatus(invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const status = await report.during(REACHING, () => admin.keyStatus({ signal }));
      await report.done({ ...status }, statusLines(status));
      return status.state === 'locked' ? EXIT_FAILED : 0;
    },
    { invocation },
  );
}

/** Declares `keys show-root`. */
export function declareShowRoot(keys: Command, run: ChosenVerb<typeof runShowRoot>): void {
  keys
    .command('show-root')
    .description("show the id of each configured root key, and which one wraps the tenant's keyring")
    .action(() => run());
}

export function runShowRoot(invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const status = await report.during(REACHING, () => admin.rootKeyStatus({ signal }));
      await report.done({ ...status }, rootKeyLines(status));
      return status.keyring === 'locked' || status.keyring === 'unread' ? EXIT_FAILED : 0;
    },
    { invocation },
  );
}

/** Declares `keys rotate`. */
export function declareRotate(keys: Command, run: ChosenVerb<typeof runRotate>): void {
  keys
    .command('rotate')
    .description(
      'make a new tenant key, which seals all that is written from now on; does nothing within an hour of the last time',
    )
    .option('--if-active <version>', 'only while that key version is the active one', wholeNumber())
    .option('--force', 'also within the hour')
    .action((options: RotateArguments) => run(options));
}

interface RotateArguments {
  readonly force?: boolean;
  readonly ifActive?: number;
}

export function runRotate({ force, ifActive }: RotateArguments, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const rotation = await report.during(REACHING, () => admin.rotate({ force, ifActive, signal }));
      await report.done({ ...rotation }, rotationLines(rotation));
      return 0;
    },
    { invocation, interrupted: ofOneChange },
  );
}

/** Declares `keys migrate`. */
export function declareMigrate(keys: Command, run: ChosenVerb<typeof runMigrate>): void {
  keys
    .command('migrate')
    .description('bring every object under the active key, and retire old keys that nothing needs')
    .option('--reencrypt', 'seal every object again with a fresh data key, as after a compromise')
    .option('--wait', 'go on until the old keys are retired')
    .option(
      '--ttl <seconds>',
      'the longest keyring TTL of any process, 60-900; default 900',
      wholeNumber(TTL_SECONDS),
    )
    .action((options: MigrateArguments) => run(options));
}

interface MigrateArguments {
  readonly reencrypt?: boolean;
  readonly wait?: boolean;
  /** Seconds. */
  readonly ttl?: number;
}

export function runMigrate(
  { reencrypt, wait, ttl }: MigrateArguments,
  invocation: Invocation,
): Promise<number> {
  const ttlMs = ttl === undefined ? undefined : ttl * 1_000;
  const note = noteWhereUnseen(invocation);
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const migration = await report.during(REACHING, () =>
        admin.migrate({
          reencrypt,
          wait,
          ttlMs,
          signal,
          onProgress(progress) {
            report.progress({ ...progress }, migrationStep(progress));
            note(progress.waitingUntil, 'waiting before old keys are retired');
          },
        }),
      );
      await report.done({ ...migration }, migrationLines(migration, { reencrypt }));
      return migration.problems.length > 0 ? EXIT_FAILED : 0;
    },
    { invocation, interrupted: CONTINUES },
  );
}

/** Declares `keys rewrap-root`. */
export function declareRewrap(keys: Command, run: ChosenVerb<typeof runRewrap>): void {
  keys
    .command('rewrap-root')
    .description('wrap the keyring with the first configured root key')
    .option('--force', 'also when that key wraps it already')
    .action((options: RotateArguments) => run(options));
}

export function runRewrap({ force }: { readonly force?: boolean }, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const rewrapping = await report.during(REACHING, () => admin.rewrapRoot({ force, signal }));
      await report.done({ ...rewrapping }, rewrapLines(rewrapping));
      return 0;
    },
    { invocation, interrupted: ofOneChange },
  );
}
