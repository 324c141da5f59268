// Only compiled: it sends to a queue.
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Replies, RepliesOptions, TurnAnswer, TurnMessage } from 'sealed-memory/worker';
import { createReplies } from 'sealed-memory/worker';

const options: RepliesOptions = { sqs: new SQSClient({}), queueUrl: 'https://sqs.…/replies', mode: 'inline' };
const toQueue: Replies = createReplies(options);

/** Replies by the queue, and tells of it. */
export const replies: Replies = {
  async send(message: TurnMessage, answer: TurnAnswer) {
    await toQueue.send(message, answer);
    console.log(message.turn, answer.outcome);
  },
};
