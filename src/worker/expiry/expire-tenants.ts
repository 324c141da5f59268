import type { TenantExpiry } from '../../admin/expiry/expire.ts';
import type { TenantPool } from '../../open/pool.ts';
import type { LambdaContext } from '../queue/direct-handler.ts';
import { expireTenant, remainingOf, type ScheduledExpiryOptions, withExpiryPool } from './expire-tenant.ts';

/** The report of one run, over all tenants that it reached. */
export interface ExpirySummary extends Omit<TenantExpiry, 'busy'> {
  readonly tenants: number;
  /** Tenants whose files could not be expired; the log has the codes. */
  readonly failed: number;
  /** True where the time was up before all tenants had their turn; the next run begins elsewhere. */
  readonly isPartial: boolean;
}

export type ScheduledExpiry = (event: unknown, context: LambdaContext) => Promise<ExpirySummary>;

/**
 * Makes the scheduled function, which deletes expired files and records tenant by tenant. One tenant's failure leaves
 * the others their turn.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export function createExpiry(options: ScheduledExpiryOptions): ScheduledExpiry {
  return (_event, context) => withExpiryPool(options, (pool) => expireAll(options, pool, context));
}

async function expireAll(
  options: ScheduledExpiryOptions,
  pool: TenantPool,
  context: LambdaContext,
): Promise<ExpirySummary> {
  const tenants = fromRandomPlace(await pool.tenants());
  let summary: ExpirySummary = {
    tenants: 0,
    failed: 0,
    isPartial: false,
    files: 0,
    deleted: 0,
    marked: 0,
    records: 0,
    sessions: 0,
    tombstones: 0,
  };
  for (const tenant of tenants) {
    const remainingMs = remainingOf(context);
    if (remainingMs <= 0) {
      summary = { ...summary, isPartial: true };
      break;
    }
    const report = await expireTenant({ ...options, pool, tenant, remainingMs });
    summary =
      'code' in report
        ? { ...summary, tenants: summary.tenants + 1, failed: summary.failed + 1 }
        : add(summary, report);
  }
  options.logger.info('expiry ended', { ...summary, of: tenants.length });
  return summary;
}

/** Begins at a random place, so that the last tenant is another one each time. */
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
    ...(report.history !== undefined && { history: (summary.history ?? 0) + report.history }),
    tombstones: summary.tombstones + report.tombstones,
  };
}
