import type { SQSRecord } from 'aws-lambda';

/** Tells whether a queue keeps the order of each group. */
export function isFifo(queueUrl: string): boolean {
  return queueUrl.endsWith('.fifo');
}

/** Answers how often a message was received, this time included. */
export function receivesOf({ attributes }: SQSRecord): number {
  const receives = Number(attributes.ApproximateReceiveCount);
  return Number.isInteger(receives) && receives > 0 ? receives : 1;
}

/** The attribute of a message that was sent on: the time of its first sending, in milliseconds since the epoch. */
export const FIRST_SENT = 'firstSentAt';

/** The time at which a message was first sent, and whether this queue's worker has sent it on since. */
export interface Sending {
  /** The time of the first sending, in milliseconds since the epoch. */
  readonly firstMs: number;
  readonly isSentOn: boolean;
}

/**
 * Reads the time of first sending. Anybody may send the attribute, so it counts only where the worker could have
 * written it: a number of milliseconds that is at most the queue's own time of this sending, and before it by at most
 * `longestMs`, after which the worker sends no message on.
 *
 * @param options.nowMs The time for a message of which the queue tells none.
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

/** Reads the milliseconds of a year from 2001 to 2286; undefined for any other text. */
function readTime(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9][0-9]{12}$/.test(text) ? Number(text) : undefined;
}

/**
 * Splits messages into their groups. Messages without a group stand alone. In a standard queue every message does: a
 * group orders none there, but names the sender, for fairness.
 */
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
