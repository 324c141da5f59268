import { inspect } from 'node:util';
import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { createReplies } from '../../../../src/worker/queue/replies.ts';
import type { TurnAnswer } from '../../../../src/worker/turn/turn-answer.ts';
import { parseTurnMessage, type TurnMessage } from '../../../../src/worker/turn/turn-message.ts';

const QUEUE = 'https://sqs.example/replies';
const MESSAGE = messageOf('turn/1 with signs');

function messageOf(turn: string, tenant = 'acme'): TurnMessage {
  return parseTurnMessage({ tenant, turn, prompt: 'hello' });
}

function answerOf(text: string, more: Partial<TurnAnswer> = {}): TurnAnswer {
  return { outcome: 'answered', text, model: 'm', messages: [], usage: {} as TurnAnswer['usage'], ...more };
}

/** Replies on a queue that keeps what it is sent, or refuses it. */
function repliesOn(queueUrl: string, mode: 'pointer' | 'inline', refusal?: Error) {
  const sent: SendMessageCommand['input'][] = [];
  const send = async (command: unknown) => {
    if (!(command instanceof SendMessageCommand)) throw new Error('unexpected command');
    if (refusal !== undefined) throw refusal;
    sent.push(command.input);
  };
  const sqs = { send } as unknown as Pick<SQSClient, 'send'>;
  return { replies: createReplies({ sqs, queueUrl, mode }), sent };
}

const bodiesOf = (sent: readonly SendMessageCommand['input'][]): readonly unknown[] =>
  sent.map(({ MessageBody }) => JSON.parse(MessageBody ?? ''));

describe('createReplies', () => {
  it('points to the answer, and leaves its text in the store', async () => {
    const { replies, sent } = repliesOn(QUEUE, 'pointer');
    await replies.send(MESSAGE, answerOf('canary'));
    await replies.send(MESSAGE, answerOf('canary', { outcome: 'truncated', reason: 'max_tokens' }));
    expect(bodiesOf(sent)).toEqual([
      { tenant: 'acme', turn: MESSAGE.turn, outcome: 'answered' },
      { tenant: 'acme', turn: MESSAGE.turn, outcome: 'truncated', reason: 'max_tokens' },
    ]);
    expect(sent[0]).toEqual({ QueueUrl: QUEUE, MessageBody: expect.any(String) });
  });

  it('carries the text where that is wanted, unless a message cannot hold it', async () => {
    const { replies, sent } = repliesOn(QUEUE, 'inline');
    const large = 'ä'.repeat(500_000);
    await replies.send(MESSAGE, answerOf('short'));
    await replies.send(MESSAGE, answerOf(large));
    await replies.send(MESSAGE, answerOf(large.slice(0, 499_000)));
    const pointer = { tenant: 'acme', turn: MESSAGE.turn, outcome: 'answered' };
    expect(bodiesOf(sent)).toEqual([
      { ...pointer, text: 'short' },
      pointer,
      { ...pointer, text: large.slice(0, 499_000) },
    ]);
    for (const { MessageBody = '' } of sent) {
      expect(new TextEncoder().encode(MessageBody).length).toBeLessThanOrEqual(1_024 * 1_024);
    }
  });

  it('groups by tenant on a FIFO queue, where the same turn is the same message', async () => {
    const { replies, sent } = repliesOn(`${QUEUE}.fifo`, 'inline');
    for (const message of [MESSAGE, MESSAGE, messageOf('other'), messageOf(MESSAGE.turn, 'bolt')]) {
      await replies.send(message, answerOf('x'));
    }
    expect(sent.map(({ MessageGroupId }) => MessageGroupId)).toEqual(['acme', 'acme', 'acme', 'bolt']);
    const ids = sent.map(({ MessageDeduplicationId }) => MessageDeduplicationId);
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9]{1,128}$/);
  });

  it('is unavailable, without a word of the answer, when the queue takes nothing', async () => {
    const { replies } = repliesOn(QUEUE, 'inline', new Error('no'));
    const refused = replies.send(MESSAGE, answerOf('canary'));
    await expect(refused).rejects.toMatchObject({ code: 'unavailable', retry: 'later' });
    await expect(refused).rejects.not.toThrow(/canary/);
  });

  it('tells of a refusal what it was, and nothing that the queue says', async () => {
    const refusal = Object.assign(new Error(`no queue ${QUEUE}`), {
      name: 'QueueDoesNotExist',
      $metadata: { httpStatusCode: 400 },
    });
    const error = await repliesOn(QUEUE, 'pointer', refusal)
      .replies.send(MESSAGE, answerOf('text'))
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'unavailable', cause: { name: 'QueueDoesNotExist', status: 400 } });
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain('sqs.example');
  });
});
