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
