import type { TenantExpiry } from '../../admin/expiry/expire.ts';
import { isAlarm, isUntold } from '../../admin/findings.ts';
import type { TenantId } from '../../format/object-keys.ts';
import type { LogFields } from '../../logger.ts';
import type { MemoryOptions } from '../../open/options.ts';
import { createTenantPool, type TenantPool } from '../../open/pool.ts';
import { codeOf, type JsonLog } from '../json-log.ts';
import type { LambdaTime } from '../queue/direct-handler.ts';
import type { TenantCredentialProvider } from '../tenant-credentials.ts';

export interface ScheduledExpiryOptions {
  /** Of the store and the root keys. */
  readonly memory: Omit<MemoryOptions, 'tenant' | 'credentials' | 'logger'>;
  /** Credentials of one tenant. Absent: all tenants are reached with the credentials of the process. */
  readonly credentials?: ((tenant: TenantId) => TenantCredentialProvider) | undefined;
  /** Of files and sessions it is only told which would go; receipts and answers go all the same. */
  readonly dryRun?: boolean | undefined;
  /**
   * Compare each tenant with its last checkpoint after that, and where no alarm is found write a new one, and its line into the log,
   * where who writes the store cannot write.
   */
  readonly checkpoints?: boolean | undefined;
  readonly log: JsonLog;
}

const RESERVE_MS = 30_000;

/** What is left for tenants of a function's time, in whole milliseconds; 0 or less: nothing. */
export function remainingOf(context: LambdaTime): number {
  return Math.floor(context.getRemainingTimeInMillis() - RESERVE_MS);
}

/** @throws MemoryError `misconfigured` when an option is missing, unknown or malformed; what `work` throws. */
export async function withExpiryPool<T>(
  { memory, log }: ScheduledExpiryOptions,
  work: (pool: TenantPool) => Promise<T>,
): Promise<T> {
  const pool = createTenantPool({ lazy: true, ...memory, logger: log }, { opens: 'tenants' });
  try {
    return await work(pool);
  } finally {
    await pool.close();
  }
}

/** Deletes what expired of one tenant, and logs it. Never rejects: `code` says what went wrong. */
export async function expireTenant(
  options: ScheduledExpiryOptions & {
    readonly pool: TenantPool;
    readonly tenant: TenantId;
    readonly remainingMs: number;
    /** In the line of the log besides. */
    readonly fields?: LogFields;
  },
): Promise<TenantExpiry | { readonly code: string }> {
  const { pool, tenant, dryRun = false, checkpoints = false, log, fields = {} } = options;
  const signal = AbortSignal.timeout(options.remainingMs);
  try {
    const credentials = options.credentials?.(tenant);
    await credentials?.();
    const { memory, expire, checkpoint } = await pool.open(tenant, { credentials });
    try {
      const report = await expire({ dryRun: dryRun ? 'files' : false, signal });
      const { busy, ...counts } = report;
      log.info('expired files of a tenant', { tenant, busy, ...counts, ...fields });
      if (checkpoints) {
        const taken = await checkpoint({ since: 'last', signal });
        if (taken.line === undefined) {
          const alarms = taken.findings.filter(isAlarm).length;
          log.error('no checkpoint of a tenant: alarms since the last one', { tenant, alarms, ...fields });
        } else {
          const { line, files, unread, findings } = taken;
          const untold = findings.filter(isUntold).length;
          const counts = { files, unread: unread.length, untold };
          log.info('checkpoint of a tenant', { tenant, line, ...counts, ...fields });
        }
      }
      return report;
    } finally {
      await memory.close();
    }
  } catch (error) {
    const code = codeOf(error);
    log.error('files of a tenant could not be expired', { tenant, code, ...fields });
    return { code };
  }
}
