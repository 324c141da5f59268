import type { ShredProgress } from '../../admin/keys/shred.ts';
import { checkWholeNumber, MemoryError } from '../../errors.ts';
import { LEAST_TTL_MS, LONGEST_TTL_MS } from '../../keys/keyring-cache.ts';
import type { MemoryOptions } from '../../open/options.ts';
import { runOnAdmin } from '../run/admin.ts';
import { answerTo } from '../run/consent.ts';
import {
  CONTINUES,
  EXIT_FAILED,
  type Invocation,
  NOTHING_CHANGED,
  ofOneChange,
  wrongCall,
} from '../run/invocation.ts';
import { readOptions } from '../run/settings.ts';
import { ofAdmin, tellIfAbsent } from '../run/tenant-state.ts';
import { onceAWait } from '../run/waits.ts';
import {
  expiryLines,
  migrationLines,
  migrationStep,
  rewrapLines,
  rootKeyLines,
  rotationLines,
  shredLine,
  shredLines,
  statusLines,
} from '../show/operate-lines.ts';

const REACHING = 'reaching the store';

/** Each resolves to the exit code: 1 when something is left for the operator to mend. */
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

export interface RotateArguments {
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

export interface MigrateArguments {
  readonly reencrypt?: boolean;
  readonly wait?: boolean;
  /** Seconds. */
  readonly ttl?: number;
}

export function runMigrate(
  { reencrypt, wait, ttl }: MigrateArguments,
  invocation: Invocation,
): Promise<number> {
  const ttlMs = inMs(ttl, LEAST_TTL_MS);
  const note = noteWhereUnseen(invocation);
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const migration = await report.during(REACHING, () =>
        admin.migrate({
          ...{ reencrypt, wait, ttlMs, signal },
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

export interface ShredArguments {
  readonly confirm?: string;
  /** Seconds. */
  readonly ttl?: number;
}

export function runShred({ confirm, ttl }: ShredArguments, invocation: Invocation): Promise<number> {
  const ttlMs = inMs(ttl, 0);
  const note = noteWhereUnseen(invocation);
  let isAgreed = false;
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      await requireConsent(admin.tenant, { confirm, invocation });
      isAgreed = true;
      const onProgress = (progress: ShredProgress): void => {
        report.progress({ ...progress }, { line: shredLine(progress) });
        if (progress.phase === 'waiting') note(progress.until, 'waiting for the last cache to expire');
      };
      const shredding = await report.during(REACHING, () => admin.shred({ ttlMs, signal, onProgress }));
      await report.done({ ...shredding }, shredLines(shredding));
      return 0;
    },
    { invocation, interrupted: () => (isAgreed ? CONTINUES : NOTHING_CHANGED) },
  );
}

/** Tells of a wait, once, where no display of progress shows it. */
function noteWhereUnseen({ terminal }: Invocation): (until: number | undefined, line: string) => void {
  const note = onceAWait(terminal);
  return (until, line) => {
    if (until !== undefined && terminal.progressStream === undefined) note(line, { until, line });
  };
}

/** Requires the tenant's name, as an option or typed, so that the operator cannot destroy another tenant by mistake. */
async function requireConsent(
  tenant: string,
  { confirm, invocation }: { readonly confirm: string | undefined; readonly invocation: Invocation },
): Promise<void> {
  const { terminal } = invocation;
  if (confirm === tenant) return;
  if (confirm !== undefined) throw unconfirmed('--confirm does not name the configured tenant');
  if (!terminal.isInteractive || !terminal.isForEyes) {
    throw unconfirmed('"tenant shred" needs --confirm with the tenant\'s name');
  }
  const question = `This destroys the keys of "${tenant}" for good: nothing that is stored for it can be read again.\nType the tenant's name to go on: `;
  if ((await answerTo(question, invocation)) !== tenant) throw unconfirmed("that is not the tenant's name");
}

function unconfirmed(why: string): MemoryError {
  return wrongCall(`${why}; nothing was changed`);
}

/** @throws MemoryError `misconfigured` that names the bounds in seconds. */
function inMs(seconds: number | undefined, leastMs: number): number | undefined {
  if (seconds === undefined) return undefined;
  checkWholeNumber('--ttl', seconds, { least: leastMs / 1_000, most: LONGEST_TTL_MS / 1_000 });
  return seconds * 1_000;
}

/** Prints the object key of the file at a path. */
export function runEncodeName(path: string, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const key = await report.during(REACHING, () => admin.encodeName(path, { signal }));
      await report.done({ path, key }, [key]);
      return 0;
    },
    { invocation },
  );
}

/** Prints the path of the file under an object key. @throws MemoryError `not_found` when it is none of the tenant's. */
export function runDecodeName(key: string, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const path = await report.during(REACHING, () => admin.decodeName(key, { signal }));
      if (path === undefined) {
        throw new MemoryError('not_found', 'That is not the object key of a file of this tenant.');
      }
      await report.done({ path, key }, [path]);
      return 0;
    },
    { invocation },
  );
}

export interface ExpireArguments {
  readonly dryRun?: boolean;
  /** Days. */
  readonly after?: number;
}

/** Deletes files that were not used for long. Resolves to the exit code. */
export function runExpire(
  { dryRun = false, after }: ExpireArguments,
  invocation: Invocation,
): Promise<number> {
  requireDays(after, readOptions(invocation));
  return runOnAdmin(
    async (run) => {
      const { admin, report, signal } = run;
      const expiry = await report.during('looking for unused files', () =>
        admin.expire({
          ...{ dryRun, signal },
          ...(after !== undefined && { afterDays: after }),
          onProgress: (progress) => report.progress({ ...progress }, { what: 'unused files', ...progress }),
        }),
      );
      const state = expiry.files === 0 ? await tellIfAbsent(ofAdmin(run, invocation)) : {};
      await report.done({ dryRun, ...expiry, ...state }, expiryLines(expiry, { dryRun }));
      return 0;
    },
    { invocation, interrupted: dryRun ? NOTHING_CHANGED : CONTINUES },
  );
}

/** @throws MemoryError `misconfigured` where nothing says after how many days anything expires. */
function requireDays(after: number | undefined, { expireAfterDays, history }: MemoryOptions): void {
  if (after !== undefined || expireAfterDays !== undefined || history?.days !== undefined) return;
  throw wrongCall(
    'expire needs days: set SEALED_MEMORY_EXPIRE_AFTER_DAYS for files, SEALED_MEMORY_HISTORY_DAYS for versions, or both; "expire --dry-run --after 90" shows what 90 days would delete.',
  );
}
