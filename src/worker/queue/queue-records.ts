import type { SQSRecord } from 'aws-lambda';

/** Whether a queue keeps the order of each group. */
export function isFifo(queueUrl: string): boolean {
  return queueUrl.endsWith('.fifo');
}

/** How often a message was received, this time included. */
export function receivesOf({ attributes }: SQSRecord): number {
  const receives = Number(attributes.ApproximateReceiveCount);
  return Number.isInteger(receives) && receives > 0 ? receives : 1;
}

/** The attribute of a message that was sent on: when it was sent first, in milliseconds since the epoch. */
export const FIRST_SENT = 'firstSentAt';

/** When a message was sent for the first time, and whether this queue's worker has sent it on since. */
export interface Sending {
  /** In milliseconds since the epoch. */
  readonly firstMs: number;
  readonly isSentOn: boolean;
}

/**
 * Reads the time of first sending. Anybody may send the attribute, so it counts only where the worker could have written
 * it: a number of milliseconds that is not behind the queue's own time of this sending, and not before it by more than
 * `longestMs`, after which nothing is sent on.
 *
 * @param options.nowMs For a message of which the queue tells no time.
 */
export function sendingOf(
  { attributes, messageAttributes }: SQSRecord,
  { nowMs, longestMs }: { readonly nowMs: number; readonly longestMs: number },
): Sending {
  const sentMs = readTime(attributes.SentTimestamp);
  const { dataType, stringValue } = messageAttributes?.[FIRST_SENT] ?? {};
  const firstMs = dataType === 'Number' ? readTime(stringValue) : undefined;
  const isTrue =
    sentMs !== undefined && firstMs !== undefined && firstMs <= sentMs && sentMs - firstMs <= longestMs;
  return isTrue ? { firstMs, isSentOn: true } : { firstMs: sentMs ?? nowMs, isSentOn: false };
}

/** Undefined for anything but the milliseconds of a year from 2001 to 2286. */
function readTime(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9][0-9]{12}$/.test(text) ? Number(text) : undefined;
}

/** Messages without a group stand alone. A group orders nothing in a standard queue: there it is who sent, for fairness. */
export function groupsOf(records: readonly SQSRecord[], queueUrl: string): Iterable<readonly SQSRecord[]> {
  if (!isFifo(queueUrl)) return records.map((record) => [record]);
  const groups = new Map<string, SQSRecord[]>();
  for (const record of records) {
    const group = record.attributes.MessageGroupId;
    const name = group === undefined ? `message ${record.messageId}` : `group ${group}`;
    groups.set(name, [...(groups.get(name) ?? []), record]);
  }
  return groups.values();
}
