// Slack's events become messages of the turn queue, one turn for each event however often Slack sends it.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** A message as the queue of turns takes it. */
export interface SlackTurn {
  readonly tenant: string;
  readonly turn: string;
  readonly conversation: string;
  readonly prompt: string;
}

export interface SlackEventsOptions {
  /** The secret by which Slack signs (Basic Information, Signing Secret). */
  readonly signingSecret: () => Promise<string>;
  /** Tells whose memory people of a workspace use; undefined: the event is passed over. */
  readonly tenantOf: (team: string, user: string) => string | undefined;
  readonly send: (message: SlackTurn) => Promise<unknown>;
}

/** The fields that the handler reads of a request of a function URL or of API Gateway. */
export interface SlackRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
  readonly isBase64Encoded: boolean;
}

export interface SlackAnswer {
  readonly statusCode: number;
  readonly body: string;
}

const OLDEST_SECONDS = 300;

/** Signs a body as Slack does: `v0=` and an HMAC in hexadecimal digits. */
export function signatureOf(secret: string, timestamp: string, body: string | Buffer): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex')}`;
}

/** Makes the handler of Slack's events. It answers when the message is in the queue; Slack waits for 3 s. */
export function createSlackEvents({
  signingSecret,
  tenantOf,
  send,
}: SlackEventsOptions): (request: SlackRequest) => Promise<SlackAnswer> {
  return async ({ headers, body = '', isBase64Encoded }) => {
    const raw = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
    if (!isSigned(raw, headers, await signingSecret())) return { statusCode: 401, body: '' };
    const payload = JSON.parse(raw.toString());
    if (payload.type === 'url_verification') return { statusCode: 200, body: String(payload.challenge) };
    const message = turnOf(payload, tenantOf);
    // A failure is an answer of 500, and Slack sends the event again.
    if (message !== undefined) await send(message);
    return { statusCode: 200, body: '' };
  };
}

function isSigned(body: Buffer, headers: SlackRequest['headers'], secret: string): boolean {
  const { 'x-slack-request-timestamp': timestamp = '', 'x-slack-signature': signature = '' } = headers;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  // An old request may be one that somebody has kept.
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > OLDEST_SECONDS) return false;
  const [given, right] = [Buffer.from(signature), Buffer.from(signatureOf(secret, timestamp, body))];
  return secret !== '' && given.length === right.length && timingSafeEqual(given, right);
}

/** Makes the turn of words that people say to the app: where it is mentioned, and in a direct message. */
function turnOf(
  { type, team_id, event_id, event }: Readonly<Record<string, unknown>>,
  tenantOf: SlackEventsOptions['tenantOf'],
): SlackTurn | undefined {
  if (type !== 'event_callback' || typeof event !== 'object' || event === null) return undefined;
  const said: Readonly<Record<string, unknown>> = { ...event };
  const isToApp =
    said['type'] === 'app_mention' || (said['type'] === 'message' && said['channel_type'] === 'im');
  // The app's own words come back as an event, and so does each edit.
  if (!isToApp || said['bot_id'] !== undefined || said['subtype'] !== undefined) return undefined;
  const given = [
    event_id,
    team_id,
    said['user'],
    said['channel'],
    said['thread_ts'] ?? said['ts'],
    said['text'],
  ];
  if (!given.every((each) => typeof each === 'string')) return undefined;
  const [id, team = '', user = '', channel, at, text = ''] = given;
  const prompt = text.replaceAll(/<@\w+>/g, '').trim();
  const tenant = tenantOf(team, user);
  if (tenant === undefined || prompt === '') return undefined;
  const thread = `${channel}/${at}`;
  // The turn says where its answer belongs, because a reply has nothing else of the message.
  return { tenant, turn: `slack/${id}/${thread}`, conversation: `slack/${thread}`, prompt };
}
