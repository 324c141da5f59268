import { MemoryError } from '../errors.ts';
import { optionsFromEnvironment } from '../open/environment.ts';
import { openAdmin } from '../open/open-admin.ts';
import { type AdminRun, runOnAdmin } from './admin-command.ts';
import {
  expiryLines,
  migrationLines,
  migrationStatus,
  rewrapLines,
  rotationLines,
  shredLines,
  shredStatus,
  statusLines,
} from './admin-lines.ts';
import { createOperatorLogger, EXIT_FAILED, type Invocation } from './terminal.ts';

export interface CommonOptions {
  readonly json?: boolean;
}

export interface MigrateArguments extends CommonOptions {
  readonly reencrypt?: boolean;
  readonly wait?: boolean;
  /** Seconds. */
  readonly ttl?: number;
}

/** Each resolves to the exit code: 1 when something is left for the operator to mend. */
export function runStatus({ json = false }: CommonOptions, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, events, signal }) => {
      const status = await admin.keyStatus({ signal });
      await events.done({ ...status }, statusLines(status));
      return status.state === 'locked' ? EXIT_FAILED : 0;
    },
    { json, invocation },
  );
}

export interface RotateArguments extends CommonOptions {
  readonly force?: boolean;
  readonly ifActive?: number;
}

export function runRotate(
  { json = false, force, ifActive }: RotateArguments,
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    async ({ admin, events, signal }) => {
      const rotation = await admin.rotate({ force, ifActive, signal });
      await events.done({ ...rotation }, rotationLines(rotation));
      return 0;
    },
    { json, invocation },
  );
}

export function runRewrap(
  { json = false, force }: CommonOptions & { readonly force?: boolean },
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    async ({ admin, events, signal }) => {
      const rewrapping = await admin.rewrapRoot({ force, signal });
      await events.done({ ...rewrapping }, rewrapLines(rewrapping));
      return 0;
    },
    { json, invocation },
  );
}

export function runMigrate(
  { json = false, reencrypt, wait, ttl }: MigrateArguments,
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    async ({ admin, events, signal }) => {
      const report = await admin.migrate({
        reencrypt,
        wait,
        ttlMs: inMs(ttl),
        signal,
        onProgress: (progress) => events.progress({ ...progress }, migrationStatus(progress)),
      });
      await events.done({ ...report }, migrationLines(report));
      return report.problems.length > 0 ? EXIT_FAILED : 0;
    },
    { json, invocation },
  );
}

export interface ShredArguments extends CommonOptions {
  readonly confirm?: string;
  readonly ttl?: number;
}

export function runShred(
  { json = false, confirm, ttl }: ShredArguments,
  invocation: Invocation,
): Promise<number> {
  const shred = async ({ admin, events, signal }: AdminRun): Promise<number> => {
    await requireConsent(admin.tenant, { confirm, invocation });
    const report = await admin.shred({
      ttlMs: inMs(ttl),
      signal,
      onProgress: (progress) => events.progress({ ...progress }, shredStatus(progress)),
    });
    await events.done({ ...report }, shredLines(report));
    return 0;
  };
  return runOnAdmin(shred, { json, invocation });
}

/** Requires the tenant's name, as an option or typed, so that the operator cannot destroy another tenant by mistake. */
async function requireConsent(
  tenant: string,
  { confirm, invocation }: { readonly confirm: string | undefined; readonly invocation: Invocation },
): Promise<void> {
  const { terminal } = invocation;
  if (confirm === tenant) return;
  if (confirm !== undefined) throw refusal('--confirm does not name the configured tenant');
  if (!terminal.isInteractive || !terminal.isForEyes) {
    throw refusal('"tenant shred" needs --confirm with the tenant\'s name');
  }
  await terminal.out(
    `This destroys the keys of "${tenant}" for good: nothing that is stored for it can be read again.\nType the tenant's name to go on: `,
  );
  if ((await readLine(terminal.stdin)) !== tenant) throw refusal("that is not the tenant's name");
}

function refusal(why: string): MemoryError {
  return new MemoryError('misconfigured', `${why}; nothing was changed`);
}

async function readLine(stdin: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of stdin) {
    text += decoder.decode(bytes, { stream: true });
    const end = text.indexOf('\n');
    if (end >= 0) return text.slice(0, end).trim();
  }
  return text.trim();
}

function inMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** Prints the object key of the file at a path. */
export async function runEncodeName(path: string, { terminal, signal }: Invocation): Promise<number> {
  const logger = createOperatorLogger(terminal.complain);
  await using admin = await openAdmin(optionsFromEnvironment(undefined, { logger }));
  await terminal.out(`${await admin.encodeName(path, { signal })}\n`);
  return 0;
}

/** Prints the path of the file under an object key. @throws MemoryError `not_found` when it is none of the tenant's. */
export async function runDecodeName(key: string, { terminal, signal }: Invocation): Promise<number> {
  const logger = createOperatorLogger(terminal.complain);
  await using admin = await openAdmin(optionsFromEnvironment(undefined, { logger }));
  const path = await admin.decodeName(key, { signal });
  if (path === undefined)
    throw new MemoryError('not_found', 'That is not the object key of a file of this tenant.');
  await terminal.out(`${path}\n`);
  return 0;
}

export interface ExpireArguments {
  readonly dryRun?: boolean;
  /** Days. */
  readonly after?: number;
  readonly json?: boolean;
}

/** Deletes files that were not used for long. Resolves to the exit code. */
export function runExpire(
  { dryRun = false, after, json = false }: ExpireArguments,
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    async ({ admin, events, signal }) => {
      const report = await admin.expire({
        dryRun,
        ...(after !== undefined && { afterDays: after }),
        signal,
        onProgress: (progress) =>
          events.progress(
            { ...progress },
            { stage: 'deleting', line: `${progress.done} of ${progress.total} unused files` },
          ),
      });
      await events.done({ dryRun, ...report }, expiryLines(report, { dryRun }));
      return 0;
    },
    { json, invocation },
  );
}
