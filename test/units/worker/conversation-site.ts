import Anthropic from '@anthropic-ai/sdk';
import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { startScriptedClaude } from '../../../infra/local/claude/scripted-claude.ts';
import { NO_USAGE } from '../../../src/agent/turn-outcome.ts';
import type { ScriptedPart } from '../../../src/testing/claude/reply.ts';
import type {
  ScriptedClaudeOptions,
  ScriptedFault,
  ScriptedScene,
} from '../../../src/testing/claude/scripted-claude.ts';
import { headId } from '../../../src/turns/conversation-id.ts';
import { createJsonLogger } from '../../../src/worker/json-log.ts';
import type { ConversationLease } from '../../../src/worker/leases/conversation-lease.ts';
import { createConversations } from '../../../src/worker/leases/conversations.ts';
import { createReceipts } from '../../../src/worker/leases/receipts.ts';
import type { AskRequest } from '../../../src/worker/turn/ask-claude.ts';
import { deliverTurn } from '../../../src/worker/turn/deliver-turn.ts';
import type { Delivery } from '../../../src/worker/turn/delivery.ts';
import type { TurnAnswer } from '../../../src/worker/turn/turn-answer.ts';
import { parseTurnMessage } from '../../../src/worker/turn/turn-message.ts';
import type { StoreCall } from '../../stage/store-wrappers.ts';
import { createSite, type StoreKind, type TestClient, type TestSite } from '../../stage/test-tree.ts';

export const LEASE_MS = 90_000;

type TurnOptions = Partial<AskRequest['turn']>;

/** One worker of the tenant, on caches of its own. */
export interface ConversationWorker {
  readonly client: TestClient;
  /** Delivers a turn of the conversation `chat`. */
  deliver(
    message: { readonly turn: string; readonly prompt: string; readonly system?: string },
    options?: {
      readonly turn?: TurnOptions;
      readonly signal?: AbortSignal;
      readonly remainingMs?: () => number;
    },
  ): Promise<Delivery>;
}

/** A message as it was sent to Claude. */
export interface SentMessage {
  readonly role: string;
  readonly content: unknown;
}

export interface ConversationSite extends AsyncDisposable {
  readonly site: TestSite;
  worker(): Promise<ConversationWorker>;
  /** The messages of each request that Claude got. */
  readonly asked: readonly (readonly SentMessage[])[];
  /** Sets what Claude does from now on; at first it says which answer it is. */
  play(
    play: (scene: ScriptedScene) => ScriptedPart | ScriptedFault | Promise<ScriptedPart | ScriptedFault>,
  ): void;
  /** How Claude summarises a conversation from now on. */
  summarise(summarise: NonNullable<ScriptedClaudeOptions['summarise']>): void;
  /** Stores a conversation of one turn, in which Claude looked at so many images of 1 MB, or with these messages. */
  begin(messages: number | readonly BetaMessageParam[]): Promise<void>;
  /** Answers what the store holds of the conversation; it costs nothing. */
  conversation(): Promise<readonly unknown[]>;
  readonly lines: readonly string[];
  /** Ids of the objects of the class, with their sizes. */
  stored(cls: string): Promise<ReadonlyMap<string, number>>;
  /** Answers the key of the head of the conversation `chat`. */
  headKey(): Promise<string>;
}

const memory: AskRequest['memory'] = { execute: async () => ({ isError: false, content: 'nothing' }) };

const ANSWER: TurnAnswer = {
  outcome: 'answered',
  text: 'An image.',
  model: 'claude-sonnet-5-5',
  messages: [],
  usage: NO_USAGE,
};

/** Turns of the conversation `chat` of the tenant `acme`, on a clock of the test's own. */
export async function startConversations(kind: StoreKind = 'guarded'): Promise<ConversationSite> {
  const site = await createSite(kind);
  const asked: (readonly SentMessage[])[] = [];
  const lines: string[] = [];
  let play: (scene: ScriptedScene) => ScriptedPart | ScriptedFault | Promise<ScriptedPart | ScriptedFault> =
    () => ({
      say: `answer ${asked.length}`,
    });
  let summarise: NonNullable<ScriptedClaudeOptions['summarise']> = () => 'Words were said.';
  const claude = await startScriptedClaude({
    onRequest: ({ body }) => asked.push((JSON.parse(body) as { messages: readonly SentMessage[] }).messages),
    play: (scene) => play(scene),
    summarise: (scene) => summarise(scene),
  });
  const log = createJsonLogger({ write: (line) => lines.push(line) });
  const anthropic = new Anthropic({ baseURL: claude.url, apiKey: 'test', maxRetries: 0 });
  return {
    site,
    asked,
    lines,
    async begin(given) {
      const lease = await hold(site, 'turn-1');
      const messages = typeof given === 'number' ? lookAtImages(given) : given;
      await lease.keep(0, { ...ANSWER, messages });
    },
    async conversation() {
      const lease = await hold(site, 'look');
      await lease.release({});
      return lease.messages;
    },
    play(next) {
      play = next;
    },
    summarise(next) {
      summarise = next;
    },
    async worker() {
      const client = await site.client();
      const { tenant } = await client.open();
      client.calls.length = 0;
      return {
        client,
        deliver: (message, { turn, signal = new AbortController().signal, remainingMs } = {}) =>
          deliverTurn({
            message: parseTurnMessage({ tenant: 'acme', conversation: 'chat', ...message }),
            memory,
            receipts: createReceipts(tenant),
            conversations: createConversations(tenant),
            client: async () => anthropic,
            turn: { model: 'claude-sonnet-5-5', ...turn },
            signal,
            ...(remainingMs && { remainingMs }),
            leaseMs: LEASE_MS,
            log,
          }),
      };
    },
    async stored(cls) {
      const found = new Map<string, number>();
      const prefix = `tenants/acme/${cls}/`;
      for await (const { objects } of site.base.list({ prefix })) {
        for (const { key, size } of objects) found.set(key.slice(prefix.length), size);
      }
      return found;
    },
    async headKey() {
      const { keyring } = await (await site.client()).open();
      return `tenants/acme/conversations/${headId(keyring.names, 'chat')}`;
    },
    async [Symbol.asyncDispose]() {
      await claude[Symbol.asyncDispose]();
      await site.base[Symbol.asyncDispose]();
    },
  };
}

/**
 * The place where a process is killed: at one of its requests, counted from 0, before the store has executed it or
 * after that.
 */
export interface Kill {
  readonly request: number;
  readonly side: 'before' | 'after';
}

/** Stops the process at that request for good. Resolves, when it is stopped, to the request. */
export function killAt(client: TestClient, { request, side }: Kill): Promise<StoreCall> {
  const killed = Promise.withResolvers<StoreCall>();
  let requests = 0;
  let isDead = false;
  client.intercept(async (call, proceed) => {
    const isLast = requests++ === request;
    if (isDead) return new Promise(() => {});
    if (isLast && side === 'after') await proceed();
    if (!isLast) return proceed();
    isDead = true;
    killed.resolve(call);
    return new Promise(() => {});
  });
  return killed.promise;
}

async function hold(site: TestSite, turn: string): Promise<ConversationLease> {
  const { tenant } = await (await site.client()).open();
  const name = await createReceipts(tenant).nameOf(turn);
  const claim = await createConversations(tenant).claim('chat', { turn: name, leaseMs: LEASE_MS });
  if (claim.state !== 'ours') throw new Error(`the conversation is ${claim.state}`);
  return claim.lease;
}

/** The first turn, in which Claude looked at images of 1 MB. */
function lookAtImages(images: number): readonly BetaMessageParam[] {
  const data = 'A'.repeat(1_000_000);
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } } as const;
  const [id, input] = ['toolu_1', { command: 'view', path: '/memories/image.png' }];
  return [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'memory', input }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: id, content: Array.from({ length: images }, () => image) },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: ANSWER.text }] },
  ];
}
