import type { SQSClient } from '@aws-sdk/client-sqs';
import type { TenantExpiry } from '../../admin/expiry/expire.ts';
import { weightOf } from '../../admin/findings.ts';
import { hasReason } from '../../errors.ts';
import type { TenantId } from '../../format/object-keys.ts';
import type { LogFields } from '../../logger.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { createTenantPool, type TenantPool } from '../../open/pool.ts';
import { type JsonLogger, type ToldFailure, toldFailure } from '../json-log.ts';
import type { LambdaContext } from '../queue/direct-handler.ts';
import { credentialsOf, type TenantCredentialProvider } from '../tenant-credentials.ts';

export interface ScheduledExpiryOptions {
  /** The options of the store and the root keys. */
  readonly memory: Omit<MemoryOptions, 'tenant' | 'credentials' | 'logger'>;
  /** Gives the credentials of one tenant. Absent: all tenants are reached with the credentials of the process. */
  readonly credentials?: ((tenant: TenantId) => TenantCredentialProvider) | undefined;
  /** True to tell only which files and sessions would go; receipts and answers go all the same. */
  readonly dryRun?: boolean | undefined;
  /**
   * True to compare each tenant with its last checkpoint after that and, where no alarm is found, to write a new one
   * and its line into the log, where a writer of the store cannot write.
   */
  readonly checkpoints?: boolean | undefined;
  /** The queue between the list of tenants and the work; its messages call the function again. */
  readonly queue: { readonly sqs: Pick<SQSClient, 'send'>; readonly url: string };
  readonly clock?: () => number;
  readonly logger: JsonLogger;
}

const RESERVE_MS = 30_000;
/** The report of a tenant of which nothing opens any more. */
const NOTHING: TenantExpiry = {
  busy: false,
  files: 0,
  deleted: 0,
  marked: 0,
  records: 0,
  sessions: 0,
  tombstones: 0,
};

/**
 * Answers the part of a function's time that is left for tenants, in whole milliseconds; none where it is 0 or less.
 */
export function remainingOf(context: LambdaContext): number {
  return Math.floor(context.getRemainingTimeInMillis() - RESERVE_MS);
}

/**
 * Runs `work` with a pool for an expiry, and closes the pool.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed; the errors of `work`.
 */
export async function withExpiryPool<T>(
  { memory, logger: log }: ScheduledExpiryOptions,
  work: (pool: TenantPool) => Promise<T>,
): Promise<T> {
  const pool = createTenantPool({ lazy: true, ...memory, logger: log }, { opens: 'tenants' });
  try {
    return await work(pool);
  } finally {
    await pool.close();
  }
}

/** Deletes the expired files and records of one tenant, and logs the numbers. Never rejects: `code` names the error. */
export async function expireTenant(
  options: ScheduledExpiryOptions & {
    readonly pool: TenantPool;
    readonly tenant: TenantId;
    readonly remainingMs: number;
    /** Further fields of the line in the log. */
    readonly fields?: LogFields;
  },
): Promise<TenantExpiry | ToldFailure> {
  const { pool, tenant, dryRun = false, checkpoints = false, logger: log, fields = {} } = options;
  const signal = AbortSignal.timeout(options.remainingMs);
  try {
    const credentials = await credentialsOf(options.credentials, tenant, signal);
    const { memory, expire, checkpoint } = await pool.open(tenant, { credentials });
    try {
      const report = await expire({ dryRun: dryRun ? 'files' : false, signal });
      const { busy, ...counts } = report;
      log.info('expired files of a tenant', { tenant, busy, ...counts, ...fields });
      if (checkpoints) {
        const taken = await checkpoint({ since: 'last', signal });
        if (taken.line === undefined) {
          const alarms = taken.findings.filter((each) => weightOf(each) === 'alarm').length;
          log.error('no checkpoint of a tenant: alarms since the last one', { tenant, alarms, ...fields });
        } else {
          const { line, files, unread, findings } = taken;
          const untold = findings.filter((each) => weightOf(each) === 'untold').length;
          const counts = { files, unread: unread.length, untold };
          log.info('checkpoint of a tenant', { tenant, line, ...counts, ...fields });
        }
      }
      return report;
    } finally {
      await memory.close();
    }
  } catch (error) {
    // The marker of a shredded tenant stays in the place of its keyring, so each run meets it again.
    if (hasReason(error, 'destroyed')) {
      log.info('expired files of a tenant', { tenant, shredded: true, ...NOTHING, ...fields });
      return NOTHING;
    }
    const told = toldFailure(error);
    // The key that a tenant holds is his to give back.
    const level = told.keyHolder === undefined ? 'error' : 'warn';
    log[level]('files of a tenant could not be expired', { tenant, ...told, ...fields });
    return told;
  }
}
