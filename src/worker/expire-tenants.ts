import type { TenantExpiry } from '../admin/expire.ts';
import type { TenantId } from '../format/object-keys.ts';
import type { MemoryOptions } from '../open/options.ts';
import { createTenantPool, type TenantPool } from '../open/pool.ts';
import type { LambdaTime } from './direct-handler.ts';
import { codeOf, type JsonLog } from './json-log.ts';
import type { TenantCredentialProvider } from './tenant-credentials.ts';

export interface ScheduledExpiryOptions {
  /** Of the store and the root keys. */
  readonly memory: Omit<MemoryOptions, 'tenant' | 'credentials' | 'logger'>;
  /** Credentials of one tenant. Absent: all tenants are reached with the credentials of the process. */
  readonly credentials?: ((tenant: TenantId) => TenantCredentialProvider) | undefined;
  readonly dryRun?: boolean | undefined;
  readonly log: JsonLog;
}

/** What one run did, over all tenants it came to. */
export interface ExpirySummary extends Omit<TenantExpiry, 'busy'> {
  readonly tenants: number;
  /** Tenants whose files could not be expired; the log has the codes. */
  readonly failed: number;
  /** The time was up before all tenants had their turn; the next run begins elsewhere. */
  readonly isPartial: boolean;
}

export type ScheduledExpiry = (event: unknown, context: LambdaTime) => Promise<ExpirySummary>;

const RESERVE_MS = 30_000;

/**
 * The scheduled function: deletes, tenant by tenant, what expired. One tenant's failure does not keep the others from
 * their turn.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export function createExpiry(options: ScheduledExpiryOptions): ScheduledExpiry {
  return async (_event, context) => {
    const memory = { lazy: true, ...options.memory, mounts: [], logger: options.log };
    const pool = createTenantPool(memory);
    try {
      return await expireAll(options, pool, context);
    } finally {
      await pool.close();
    }
  };
}

async function expireAll(
  options: ScheduledExpiryOptions,
  pool: TenantPool,
  context: LambdaTime,
): Promise<ExpirySummary> {
  const { log } = options;
  const tenants = fromRandomPlace(await pool.tenants());
  let summary: ExpirySummary = {
    ...{ tenants: 0, failed: 0, isPartial: false },
    ...{ files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, tombstones: 0 },
  };
  for (const tenant of tenants) {
    const remainingMs = Math.floor(context.getRemainingTimeInMillis() - RESERVE_MS);
    if (remainingMs <= 0) {
      summary = { ...summary, isPartial: true };
      break;
    }
    try {
      const report = await expireTenant(options, { pool, tenant, signal: AbortSignal.timeout(remainingMs) });
      const { busy, ...counts } = report;
      log.info('expired files of a tenant', { tenant, busy, ...counts });
      summary = add(summary, report);
    } catch (error) {
      log.error('files of a tenant could not be expired', { tenant, code: codeOf(error) });
      summary = { ...summary, tenants: summary.tenants + 1, failed: summary.failed + 1 };
    }
  }
  log.info('expiry ended', { ...summary });
  return summary;
}

async function expireTenant(
  options: ScheduledExpiryOptions,
  {
    pool,
    tenant,
    signal,
  }: { readonly pool: TenantPool; readonly tenant: TenantId; readonly signal: AbortSignal },
): Promise<TenantExpiry> {
  const { dryRun = false } = options;
  const credentials = options.credentials?.(tenant);
  await credentials?.();
  const { memory, expire } = await pool.open(tenant, { credentials });
  try {
    return await expire({ dryRun, signal });
  } finally {
    await memory.close();
  }
}

/** So that no tenant is always the last one. */
function fromRandomPlace<T>(items: readonly T[]): readonly T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}

function add(summary: ExpirySummary, report: TenantExpiry): ExpirySummary {
  return {
    ...summary,
    tenants: summary.tenants + 1,
    files: summary.files + report.files,
    deleted: summary.deleted + report.deleted,
    marked: summary.marked + report.marked,
    records: summary.records + report.records,
    sessions: summary.sessions + report.sessions,
    tombstones: summary.tombstones + report.tombstones,
  };
}
