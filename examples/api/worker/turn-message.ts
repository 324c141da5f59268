// Only compiled: it sends a message to a queue.
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { TenantId } from 'sealed-memory';
import type { AnswerForm, TurnMessage, TurnName } from 'sealed-memory/worker';

const answer: AnswerForm = 'text';
const name: TurnName = { tenant: 'acme' as TenantId, conversation: 'chat-7', turn: 'chat-7-2' };
const message: TurnMessage = {
  ...name,
  messages: [{ role: 'user', content: 'When is the launch?' }],
  answer,
};
const body = JSON.stringify(message);
await new SQSClient({}).send(new SendMessageCommand({ QueueUrl: 'https://sqs.…/turns', MessageBody: body }));
