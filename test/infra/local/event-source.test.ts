import { DeleteMessageBatchCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { startEventSource } from '../../../infra/local/lambda/event-source.ts';

const ARN = 'arn:aws:sqs:us-east-1:123456789012:turns';

/** Delivers the bodies once, and gives what was deleted when the function has answered to all of them. */
async function deliver(
  bodies: readonly string[],
  answer: (event: SQSEvent) => unknown,
  { batchSize = 10, maxConcurrency = 1 } = {},
) {
  const waiting = bodies.map((Body, i) => ({
    MessageId: `m${i}`,
    ReceiptHandle: `h${i}`,
    Body,
    Attributes: { SentTimestamp: '1767225600000' },
    MessageAttributes: { firstSentAt: { DataType: 'Number', StringValue: '1767225600000' } },
  }));
  const deleted: (string | undefined)[] = [];
  const events: SQSEvent[] = [];
  let [working, most] = [0, 0];
  const sqs = {
    async send(command: unknown) {
      if (command instanceof ReceiveMessageCommand) {
        return { Messages: waiting.splice(0, command.input.MaxNumberOfMessages) };
      }
      if (!(command instanceof DeleteMessageBatchCommand)) throw new Error('unexpected command');
      deleted.push(...(command.input.Entries ?? []).map(({ ReceiptHandle }) => ReceiptHandle));
      return {};
    },
  } as unknown as Pick<SQSClient, 'send'>;
  const source = startEventSource({
    sqs,
    queueUrl: 'http://queue/turns',
    queueArn: ARN,
    region: 'us-east-1',
    batchSize,
    maxConcurrency,
    target: {
      async invoke(event) {
        most = Math.max(most, ++working);
        events.push(event as SQSEvent);
        try {
          await new Promise((resolve) => setTimeout(resolve, 20));
          return answer(event as SQSEvent);
        } finally {
          working -= 1;
        }
      },
    },
    onError(error) {
      throw error;
    },
  });
  await expect.poll(() => events.flatMap(({ Records }) => Records).length).toBe(bodies.length);
  await source[Symbol.asyncDispose]();
  return { deleted, events, most };
}

describe('startEventSource', () => {
  it('makes records of messages and deletes what the function is done with', async () => {
    const { deleted, events } = await deliver(['a', 'b'], () => ({ batchItemFailures: [] }));
    expect(deleted).toEqual(['h0', 'h1']);
    expect(events).toMatchObject([
      { Records: [{ messageId: 'm0', receiptHandle: 'h0', body: 'a', eventSourceARN: ARN }, { body: 'b' }] },
    ]);
  });

  it('writes the attributes of a message as Lambda does', async () => {
    const { events } = await deliver(['a'], () => undefined);
    expect(events[0]?.Records[0]).toMatchObject({ attributes: { SentTimestamp: '1767225600000' } });
    expect(events[0]?.Records[0]?.messageAttributes).toEqual({
      firstSentAt: {
        dataType: 'Number',
        stringValue: '1767225600000',
        stringListValues: [],
        binaryListValues: [],
      },
    });
  });

  it('keeps the messages that the function gives back', async () => {
    const failures = { batchItemFailures: [{ itemIdentifier: 'm1' }] };
    expect((await deliver(['a', 'b', 'c'], () => failures)).deleted).toEqual(['h0', 'h2']);
  });

  it.each([
    { batchItemFailures: [{ itemIdentifier: '' }] },
    { batchItemFailures: [{}] },
    { batchItemFailures: 'all' },
  ])('keeps all of them when the answer is none: %j', async (answer) => {
    expect((await deliver(['a', 'b'], () => answer)).deleted).toEqual([]);
  });

  it.each([undefined, null, {}, { batchItemFailures: null }])('takes %j for success', async (answer) => {
    expect((await deliver(['a', 'b'], () => answer)).deleted).toEqual(['h0', 'h1']);
  });

  it('keeps the messages of an event on which the function fails', async () => {
    const { deleted } = await deliver(
      ['a', 'b'],
      ({ Records: [record] }) => {
        if (record?.body === 'a') throw new Error('killed');
      },
      { batchSize: 1 },
    );
    expect(deleted).toEqual(['h1']);
  });

  it('has so many events at once, and no more', async () => {
    const bodies = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { most, deleted } = await deliver(bodies, () => ({}), { batchSize: 1, maxConcurrency: 3 });
    expect(most).toBe(3);
    expect(deleted).toHaveLength(6);
  });
});
