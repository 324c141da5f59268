import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createSlackEvents,
  type SlackAnswer,
  type SlackRequest,
  type SlackTurn,
  signatureOf,
} from '../../examples/slack/slack-events.ts';
import { createSlackReplies } from '../../examples/slack/slack-replies.ts';
import { startLocalWorker } from '../../infra/local/lambda/local-worker.ts';
import { closedBehindEach } from '../stage/closed-behind.ts';

const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const TOKEN = 'xoxb-canary';
const MENTION = {
  type: 'app_mention',
  user: 'U1',
  text: '<@U0APP> when is the <launch>?',
  channel: 'C1',
  ts: '1700000000.000100',
};

type Handler = (request: SlackRequest) => Promise<SlackAnswer>;
interface Posted {
  readonly channel: string;
  readonly thread_ts: string;
  readonly text: string;
}

/** Slack's side: it signs and sends events, again where it was not answered 2xx, and takes messages as its API does. */
async function startSlack() {
  const posted: Posted[] = [];
  const refusals: string[] = [];
  const judge = (
    authorization: string | undefined,
    type: string | undefined,
    body: string,
  ): string | undefined => {
    if (authorization !== `Bearer ${TOKEN}`) return 'invalid_auth';
    if (type !== 'application/json; charset=utf-8') return 'invalid_post_type';
    const { channel, thread_ts, text, ...others } = JSON.parse(body);
    if (Object.keys(others).length > 0) return 'invalid_arguments';
    if (channel !== 'C1' && channel !== 'D1') return 'channel_not_found';
    if (!/^\d{10}\.\d{6}$/.test(thread_ts)) return 'invalid_thread_ts';
    if (typeof text !== 'string' || text === '') return 'no_text';
    if (text.length > 40_000) return 'msg_too_long';
    posted.push({ channel, thread_ts, text });
    return undefined;
  };
  const server = createServer(async (request, response) => {
    const next = refusals.shift();
    if (next === 'ratelimited') {
      response.writeHead(429, { 'retry-after': '1' }).end();
      return;
    }
    const isPost = request.method === 'POST' && request.url === '/api/chat.postMessage';
    const { authorization, 'content-type': type } = request.headers;
    const body = await readText(request);
    const error = next ?? (isPost ? judge(authorization, type, body) : 'unknown_method');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(error === undefined ? { ok: true } : { ok: false, error }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let events = 0;
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posted,
    /** Codes of the next refusals of the API. */
    refusals,
    /** Sends one event, up to four times, and tells the statuses. */
    async send(handler: Handler, event: object, team = 'T1'): Promise<readonly number[]> {
      events += 1;
      const body = JSON.stringify({ type: 'event_callback', team_id: team, event_id: `Ev${events}`, event });
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 4; attempt++) {
        const headers = { ...signed(body), ...(attempt > 0 && { 'x-slack-retry-num': String(attempt) }) };
        const answer = await handler({ headers, body, isBase64Encoded: false }).catch(() => undefined);
        statuses.push(answer?.statusCode ?? 500);
        if (statuses.at(-1) === 200) break;
      }
      return statuses;
    },
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The headers of a request that Slack signed. */
function signed(body: string, { secret = SECRET, at = Math.floor(Date.now() / 1_000) } = {}) {
  const hex = createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex');
  return { 'x-slack-request-timestamp': String(at), 'x-slack-signature': `v0=${hex}` };
}

const recordsOf = (replies: readonly unknown[]): SQSEvent =>
  ({ Records: replies.map((reply, i) => ({ messageId: `m${i}`, body: JSON.stringify(reply) })) }) as SQSEvent;

const closedBehind = closedBehindEach();
let slack: Awaited<ReturnType<typeof startSlack>>;
let sent: SlackTurn[];
let refused: string[];
let failing: number;
let handler: Handler;
let replies: ReturnType<typeof createSlackReplies>;
beforeEach(async () => {
  slack = closedBehind(await startSlack());
  [sent, refused, failing] = [[], [], 0];
  handler = createSlackEvents({
    signingSecret: async () => SECRET,
    tenantOf: (team) => ({ T1: 'acme' })[team],
    async send(message) {
      sent.push(message);
      failing -= 1;
      if (failing >= 0) throw new Error('the queue is away');
    },
  });
  replies = createSlackReplies({
    botToken: async () => TOKEN,
    onRefusal: (code) => void refused.push(code),
    origin: slack.origin,
  });
});
afterEach(() => void vi.useRealTimers());

describe('examples/slack', () => {
  it('answers a mention in its thread, with words that call nobody', async () => {
    const site = closedBehind(await startLocalWorker(undefined));
    expect(await slack.send(handler, MENTION)).toEqual([200]);
    expect(sent).toEqual([
      {
        tenant: 'acme',
        turn: 'slack/Ev1/C1/1700000000.000100',
        conversation: 'slack/C1/1700000000.000100',
        prompt: 'when is the <launch>?',
      },
    ]);
    await site.deliver(sent);
    expect(await replies(recordsOf(site.replies))).toEqual({ batchItemFailures: [] });
    expect(slack.posted).toEqual([
      { channel: 'C1', thread_ts: MENTION.ts, text: 'You said: when is the &lt;launch&gt;?' },
    ]);
  });

  it('makes one turn of an event that Slack sends again, and one conversation of a thread', async () => {
    const site = closedBehind(await startLocalWorker(undefined));
    failing = 2;
    expect(await slack.send(handler, MENTION)).toEqual([500, 500, 200]);
    await site.deliver(sent.slice(0, 1));
    await site.deliver(sent.slice(2));
    expect(site.scenes).toHaveLength(1);
    await slack.send(handler, { ...MENTION, ts: '1700000009.000100', thread_ts: MENTION.ts });
    await site.deliver(sent.slice(3));
    expect(site.scenes[1]?.messages).toHaveLength(3);
  });

  it('answers a direct message, and says where there is no answer', async () => {
    const site = closedBehind(await startLocalWorker(undefined, () => ({ say: '', stop: 'refusal' })));
    await slack.send(handler, { ...MENTION, type: 'message', channel_type: 'im', channel: 'D1' });
    await site.deliver(sent);
    await replies(recordsOf(site.replies));
    expect(slack.posted).toMatchObject([{ channel: 'D1', text: 'I have no answer (refused).' }]);
  });

  it.each([
    ['its own words', { ...MENTION, bot_id: 'B1' }],
    ['an edit', { ...MENTION, type: 'message', channel_type: 'im', subtype: 'message_changed' }],
    ['talk of others', { ...MENTION, type: 'message', channel_type: 'channel' }],
    ['what has no time', { ...MENTION, ts: undefined }],
    ['nothing but the mention', { ...MENTION, text: '<@U0APP>' }],
  ])('passes over %s', async (_, event) => {
    expect(await slack.send(handler, event)).toEqual([200]);
    expect(sent).toEqual([]);
  });

  it('passes over a workspace that is nobody’s', async () => {
    expect(await slack.send(handler, MENTION, 'T2')).toEqual([200]);
    expect(sent).toEqual([]);
  });
});

describe('examples/slack believes a request', () => {
  const body = '{"type":"url_verification","challenge":"c"}';
  const ask = (headers: SlackRequest['headers'], text = body) =>
    handler({ headers, body: Buffer.from(text).toString('base64'), isBase64Encoded: true });

  it('that Slack signed, by the example of its documentation', async () => {
    const form =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    expect(signatureOf(SECRET, '1531420618', form)).toBe(
      'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    );
    expect(await ask(signed(body))).toEqual({ statusCode: 200, body: 'c' });
  });

  it('within five minutes', async () => {
    vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] });
    const statusAt = async (at: number) => (await ask(signed(body, { at }))).statusCode;
    expect(await statusAt(1_700_000_000 - 300)).toBe(200);
    expect(await statusAt(1_700_000_000 - 301)).toBe(401);
    expect(await statusAt(1_700_000_000 + 301)).toBe(401);
  });

  it('and no other, before it is parsed', async () => {
    const headers = signed(body);
    const wrong = [
      {},
      signed(body, { secret: 'another' }),
      { ...headers, 'x-slack-signature': headers['x-slack-signature'].slice(0, -1) },
      { ...headers, 'x-slack-signature': '' },
      { ...headers, 'x-slack-request-timestamp': `${headers['x-slack-request-timestamp']}.0` },
    ];
    for (const each of wrong) expect((await ask(each)).statusCode).toBe(401);
    expect((await ask(headers, 'no JSON')).statusCode).toBe(401);
    const unset = createSlackEvents({
      signingSecret: async () => '',
      tenantOf: () => 'acme',
      send: async () => {},
    });
    const empty = signed(body, { secret: '' });
    expect((await unset({ headers: empty, body, isBase64Encoded: false })).statusCode).toBe(401);
  });
});

describe('a reply that Slack does not take', () => {
  const reply = (text: string, channel = 'C1') => ({
    tenant: 'acme',
    turn: `slack/Ev1/${channel}/1700000000.000100`,
    outcome: 'answered',
    text,
  });

  it('stays in the queue, and its code is told', async () => {
    slack.refusals.push('ratelimited', 'is_archived');
    const event = recordsOf([reply('a'), reply('b'), reply('c'), reply('d', 'C2')]);
    expect(await replies(event)).toEqual({
      batchItemFailures: ['m0', 'm1', 'm3'].map((itemIdentifier) => ({ itemIdentifier })),
    });
    expect(refused).toEqual(['http_429', 'is_archived', 'channel_not_found']);
    expect(slack.posted.map(({ text }) => text)).toEqual(['c']);
  });

  it('is not sent too long, nor for a turn of somebody else’s', async () => {
    await replies(recordsOf([reply('<'.repeat(20_000)), { ...reply('x'), turn: 'other-turn' }]));
    expect(slack.posted.map(({ text }) => text.length)).toEqual([40_000]);
    expect(refused).toEqual([]);
  });
});
