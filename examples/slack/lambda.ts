// Two functions: `events` behind a URL that Slack calls, `replies` behind the queue of replies. docs/recipes.md deploys them.
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { createSlackEvents } from './slack-events.ts';
import { createSlackReplies } from './slack-replies.ts';

interface SlackSecrets {
  readonly signingSecret: string;
  /** A bot token (`xoxb-…`) with `chat:write`. */
  readonly botToken: string;
}

/** `SLACK_TEAMS`: `T0123=acme,T0456=other`. */
const { SLACK_SECRET_ARN, SLACK_TEAMS = '', TURN_QUEUE_URL } = process.env;
const teams = new Map(
  SLACK_TEAMS.split(',').map((pair): [string, string] => {
    const [team = '', tenant = ''] = pair.split('=');
    return [team, tenant];
  }),
);
const sqs = new SQSClient({});
let secrets: SlackSecrets | undefined;

async function readSecrets(): Promise<SlackSecrets> {
  if (secrets !== undefined) return secrets;
  const command = new GetSecretValueCommand({ SecretId: SLACK_SECRET_ARN });
  const { SecretString = '{}' } = await new SecretsManagerClient({}).send(command);
  const read: SlackSecrets = JSON.parse(SecretString);
  secrets = read;
  return read;
}

export const events = createSlackEvents({
  signingSecret: async () => (await readSecrets()).signingSecret,
  tenantOf: (team) => teams.get(team),
  send: (message) =>
    sqs.send(
      new SendMessageCommand({
        QueueUrl: TURN_QUEUE_URL,
        MessageBody: JSON.stringify(message),
        MessageGroupId: message.tenant,
      }),
    ),
});

export const replies = createSlackReplies({
  botToken: async () => (await readSecrets()).botToken,
  onRefusal: (code) =>
    console.log(JSON.stringify({ level: 'error', message: 'Slack took no message', code })),
});
