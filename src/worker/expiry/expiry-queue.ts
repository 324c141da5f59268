import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { MemoryError } from '../../errors.ts';
import { parseTenantId, type TenantId } from '../../format/object-keys.ts';
import type { TenantPool } from '../../open/pool.ts';
import { redactedCause } from '../../store/failures.ts';
import { isoOf } from '../../time.ts';
import { heardJsonLogger, toldFailure } from '../json-log.ts';
import type { LambdaContext } from '../queue/direct-handler.ts';
import { receivesOf } from '../queue/queue-records.ts';
import { ask, loadSqs } from '../queue/replies.ts';
import { expireTenant, remainingOf, type ScheduledExpiryOptions, withExpiryPool } from './expire-tenant.ts';

/** A message of the queue: one tenant of a run, or the place where a run's list of tenants goes on. */
interface ExpiryTask {
  /** The time at which the run began, in ISO 8601. */
  readonly run: string;
  readonly tenant?: string;
  /** The tenant after which tenants are still to be sent. */
  readonly after?: string;
  /** The number of tenants in the run. */
  readonly of?: number;
}

/** Tenants that this call has sent to the queue; `isPartial`: a message there goes on with the others. */
export interface ExpiryPlan {
  readonly run: string;
  readonly tenants: number;
  readonly of: number;
  readonly isPartial: boolean;
}

export type ScheduledExpiry = (
  event: unknown,
  context: LambdaContext,
) => Promise<ExpiryPlan | SQSBatchResponse>;

/** The most messages that SQS takes in one request. */
const BATCH = 10;
const CONCURRENT_BATCHES = 8;
/** The number of failures after which a tenant waits for the next run. */
const MOST_RECEIVES = 3;

/**
 * Makes the scheduled function, with a queue between the list of tenants and the work: called by a schedule it sends a
 * message for each tenant, called with these messages it deletes expired files and records. Tenants thus expire beside
 * one another, one that fails returns to the queue alone, and the log tells how many of a run's tenants are done.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed; `unavailable` when the queue
 * takes no message.
 */
export function createExpiry(given: ScheduledExpiryOptions): ScheduledExpiry {
  const options = { ...given, logger: heardJsonLogger(given.logger) };
  return (event, context) =>
    withExpiryPool<ExpiryPlan | SQSBatchResponse>(given, (pool) => {
      if (isQueueEvent(event)) return expireRecords({ ...options, pool, context }, event.Records);
      return plan({ ...options, pool, context }, { run: isoOf(options.clock?.() ?? Date.now()) });
    });
}

interface Expiring extends ScheduledExpiryOptions {
  readonly pool: TenantPool;
  readonly context: LambdaContext;
}

async function plan(options: Expiring, { run, after = '' }: ExpiryTask): Promise<ExpiryPlan> {
  const { pool, context, logger: log } = options;
  const all = [...(await pool.tenants())].sort();
  const tenants = all.filter((tenant) => tenant > after);
  const of = all.length;
  let sent = 0;
  while (sent < tenants.length && remainingOf(context) > 0) {
    const round = tenants.slice(sent, sent + BATCH * CONCURRENT_BATCHES);
    await send(
      options,
      round.map((tenant) => ({ run, tenant, of })),
    );
    sent += round.length;
  }
  const isPartial = sent < tenants.length;
  if (isPartial) await send(options, [{ run, after: tenants[sent - 1] ?? after, of }]);
  const report = { run, tenants: sent, of, isPartial };
  log.info('expiry began', { ...report });
  return report;
}

async function expireRecords(options: Expiring, records: readonly SQSRecord[]): Promise<SQSBatchResponse> {
  const returned: string[] = [];
  for (const record of records) {
    const remainingMs = remainingOf(options.context);
    if (remainingMs <= 0 || !(await isDone(options, record, remainingMs))) returned.push(record.messageId);
  }
  return { batchItemFailures: returned.map((itemIdentifier) => ({ itemIdentifier })) };
}

async function isDone(options: Expiring, record: SQSRecord, remainingMs: number): Promise<boolean> {
  const isLast = receivesOf(record) >= MOST_RECEIVES;
  try {
    const task = taskOf(record.body);
    const { run, tenant, of } = task;
    if (tenant === undefined) {
      await plan(options, task);
      return true;
    }
    const fields = { run, ...(of !== undefined && { of }) };
    const report = await expireTenant({ ...options, tenant, remainingMs, fields });
    return !('code' in report) || isLast;
  } catch (error) {
    options.logger.error('a message of the queue of expiry failed', toldFailure(error));
    return isLast;
  }
}

/**
 * Parses a task.
 *
 * @throws MemoryError, SyntaxError for a message that this function did not send.
 */
function taskOf(body: string): ExpiryTask & { readonly tenant?: TenantId } {
  const { run, tenant, ...rest } = JSON.parse(body) as ExpiryTask;
  return { run: String(run), ...rest, ...(tenant !== undefined && { tenant: parseTenantId(tenant) }) };
}

async function send({ queue }: Expiring, tasks: readonly ExpiryTask[]): Promise<void> {
  const { SendMessageBatchCommand } = await loadSqs();
  const starts = Array.from({ length: Math.ceil(tasks.length / BATCH) }, (_, index) => index * BATCH);
  await Promise.all(
    starts.map(async (start) => {
      const batch = tasks.slice(start, start + BATCH);
      const command = new SendMessageBatchCommand({
        QueueUrl: queue.url,
        Entries: batch.map((task, index) => ({ Id: String(index), MessageBody: JSON.stringify(task) })),
      });
      const answer = await ask((within) => queue.sqs.send(command, within)).catch((error: unknown) => {
        throw notSent(redactedCause(error, 'SQS'));
      });
      if ((answer.Failed ?? []).length > 0) throw notSent();
    }),
  );
}

function notSent(cause?: Error): MemoryError {
  return new MemoryError('unavailable', 'tenants could not be sent to the queue of expiry', {
    ...(cause !== undefined && { cause }),
  });
}

function isQueueEvent(event: unknown): event is SQSEvent {
  return typeof event === 'object' && event !== null && 'Records' in event;
}
