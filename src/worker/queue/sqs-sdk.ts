// What the worker needs of the SDK of queues, in a module of its own: it is loaded when a message is sent first.
export {
  ChangeMessageVisibilityCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
