// The part of the SDK of queues that the worker needs, in a module of its own: the first message that is sent loads it.
export {
  ChangeMessageVisibilityCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
