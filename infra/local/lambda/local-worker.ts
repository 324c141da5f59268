import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { ChangeMessageVisibilityCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSRecord } from 'aws-lambda';
import type { ObjectStore } from '../../../src/store/port.ts';
import type { ScriptedPart } from '../../../src/testing/claude/reply.ts';
import type { ScriptedFault, ScriptedScene } from '../../../src/testing/claude/scripted-claude.ts';
import { createJsonLogger } from '../../../src/worker/json-log.ts';
import { createReplies } from '../../../src/worker/queue/replies.ts';
import { createWorker, type Worker, type WorkerOptions } from '../../../src/worker/worker.ts';
import { startScriptedClaude } from '../claude/scripted-claude.ts';

/** Plays Claude, request by request; by default it says the user's last words back. */
export type Play = (
  scene: ScriptedScene,
) => ScriptedPart | ScriptedFault | Promise<ScriptedPart | ScriptedFault>;

export interface LocalWorker extends AsyncDisposable {
  readonly worker: Worker;
  /** A client of the scripted Claude. */
  readonly client: Anthropic;
  /** One more process on the same store, with the same Claude and queues. */
  another(options?: Partial<WorkerOptions>): Worker;
  /** Delivers messages in one batch. */
  deliver(messages: readonly unknown[], request?: DeliverRequest): Promise<SQSBatchResponse>;
  /** The conversations as Claude was shown them, request by request. */
  readonly scenes: readonly ScriptedScene[];
  readonly replies: readonly unknown[];
  /** Seconds after which messages that went back are visible again. */
  readonly visibility: readonly (number | undefined)[];
  /** Seconds for which messages were hidden at their receive. */
  readonly received: readonly (number | undefined)[];
  /** Seconds for which messages were hidden next: while their turn runs, if it was taken. */
  readonly taken: readonly (number | undefined)[];
  readonly lines: readonly string[];
  /** Has the queue refuse what the worker sends. */
  failSending(error: Error | undefined): void;
}

interface DeliverRequest {
  readonly worker?: Worker;
  readonly remainingMs?: number;
}

/** A credential that leak tests look for. */
export const TEST_API_KEY = 'sk-ant-canary-credential';

/** A worker on a store of its own, the scripted Claude, and a queue that takes what the worker sends. */
export async function startLocalWorker(
  store: ObjectStore | undefined,
  play: Play = echo,
  options: Partial<WorkerOptions> = {},
): Promise<LocalWorker> {
  const scenes: ScriptedScene[] = [];
  const replies: unknown[] = [];
  const visibility: (number | undefined)[] = [];
  const received: (number | undefined)[] = [];
  const taken: (number | undefined)[] = [];
  const changes = new Map<string | undefined, (number | undefined)[]>();
  let deliveries = 0;
  const lines: string[] = [];
  let failure: Error | undefined;
  const claude = await startScriptedClaude({
    play(scene) {
      scenes.push(scene);
      return play(scene);
    },
  });
  const sqs = {
    async send(command: unknown) {
      if (command instanceof ChangeMessageVisibilityCommand) {
        const { ReceiptHandle, VisibilityTimeout } = command.input;
        const earlier = changes.get(ReceiptHandle) ?? [];
        if (earlier.length === 0) received.push(VisibilityTimeout);
        if (earlier.length === 1) taken.push(VisibilityTimeout);
        changes.set(ReceiptHandle, [...earlier, VisibilityTimeout]);
      } else if (!(command instanceof SendMessageCommand)) throw new Error('unexpected command');
      else if (failure !== undefined) throw failure;
      else replies.push(JSON.parse(command.input.MessageBody ?? ''));
    },
  } as unknown as Pick<SQSClient, 'send'>;
  const client = new Anthropic({ baseURL: claude.url, apiKey: TEST_API_KEY, maxRetries: 0 });
  const rootKey = randomBytes(32).toString('base64');
  const workers: Worker[] = [];
  const another = (more: Partial<WorkerOptions> = {}): Worker => {
    const worker = createWorker({
      memory: { store: store ?? 'memory:', rootKey },
      client: async () => client,
      model: 'claude-sonnet-5-5',
      queue: { sqs, url: 'https://queue.example/turns' },
      replies: createReplies({ sqs, queueUrl: 'https://queue.example/replies', mode: 'inline' }),
      logger: createJsonLogger({ write: (line) => lines.push(line), level: 'debug' }),
      ...options,
      ...more,
    });
    workers.push(worker);
    return worker;
  };
  const worker = another();
  return {
    worker,
    client,
    another,
    scenes,
    replies,
    visibility,
    received,
    taken,
    lines,
    async deliver(messages, { worker: other = worker, remainingMs = 60_000 } = {}) {
      const Records = messages.map((message, i) => recordOf(message, { index: i, delivery: deliveries }));
      deliveries++;
      const answer = await other.handler({ Records }, timeOf(remainingMs));
      for (const { itemIdentifier } of answer.batchItemFailures) {
        const back = Records.find(({ messageId }) => messageId === itemIdentifier);
        visibility.push(changes.get(back?.receiptHandle)?.at(-1));
      }
      return answer;
    },
    failSending(error) {
      failure = error;
    },
    async [Symbol.asyncDispose]() {
      for (const each of workers) await each[Symbol.asyncDispose]();
      await claude[Symbol.asyncDispose]();
    },
  };
}

export function timeOf(remainingMs: number): { getRemainingTimeInMillis(): number; awsRequestId: string } {
  const end = performance.now() + remainingMs;
  return { getRemainingTimeInMillis: () => Math.max(0, end - performance.now()), awsRequestId: 'request-1' };
}

/** The text of the last message that is the user's own words. */
export function wordsOf({ messages }: ScriptedScene): string {
  const texts = messages.flatMap(({ role, content }) =>
    role === 'user' ? content.flatMap((block) => (block.type === 'text' ? [block.text] : [])) : [],
  );
  return texts.at(-1) ?? '';
}

/** The user's last words end in JSON: the memory commands of each step. Claude carries them out, then says `done`. */
export function playSteps(scene: ScriptedScene): ScriptedPart {
  const { messages } = scene;
  const steps = JSON.parse(wordsOf(scene).replace(/^[^[]*/, '')) as readonly (readonly unknown[])[];
  const isAnswer = ({ content }: ScriptedScene['messages'][number]): boolean =>
    content.some(({ type }) => type === 'tool_result');
  const asked = messages.findLastIndex(
    (message) => message.role === 'user' && !isAnswer(message) && message.content.length > 0,
  );
  const step = steps[messages.slice(asked).filter(isAnswer).length];
  return step === undefined ? { say: 'done' } : { calls: step.map((input) => ({ name: 'memory', input })) };
}

function echo(scene: ScriptedScene): ScriptedPart {
  return { say: `You said: ${wordsOf(scene)}` };
}

function recordOf(
  message: unknown,
  { index, delivery }: { readonly index: number; readonly delivery: number },
): SQSRecord {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  const receiptHandle = `h${delivery}-${index}`;
  return { messageId: `m${index}`, body, receiptHandle, attributes: {} } as unknown as SQSRecord;
}
