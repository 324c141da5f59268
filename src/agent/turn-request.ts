import type { Middleware } from '@anthropic-ai/sdk/client';
import type { BetaToolRunnerParams } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type {
  BetaMessage,
  BetaMessageParam,
  BetaOutputConfig,
  BetaRawMessageStreamEvent,
  BetaTextBlockParam,
} from '@anthropic-ai/sdk/resources/beta';
import {
  loadToolError,
  type Memory,
  type MemoryToolProps,
  type ToolErrorClass,
} from '../tool/memory-tool.ts';
import type { ContextManagement } from './context-management.ts';
import type { TurnProgress } from './turn-progress.ts';
import type { CommandReport } from './turn-tool.ts';

/**
 * Parameters of the request that a turn leaves alone, such as `thinking` or `metadata`. `cache_control` is `ephemeral`
 * unless it is given; `null` turns the prompt cache off.
 */
export type RequestExtras = Omit<
  BetaToolRunnerParams,
  | 'model'
  | 'messages'
  | 'max_tokens'
  | 'system'
  | 'tools'
  | 'context_management'
  | 'stream'
  | 'thread'
  | 'max_iterations'
  | 'runToolsEagerly'
>;

export interface TurnRequest {
  readonly client: MessagesClient;
  readonly memory: Pick<Memory, 'execute'>;
  readonly model: string;
  /** The conversation so far; Claude answers its last message. */
  readonly messages: readonly BetaMessageParam[];
  /**
   * The digest of these messages, as the turn before gave it with them; absent: the prompts are taken to be the same.
   */
  readonly digest?: string;
  /**
   * The choice for a digest that says that the system prompt or the tools have changed, which makes Claude's thoughts
   * in the messages invalid: `fail` (`conversation_changed`, before Claude is asked) by default, or `drop_thinking`,
   * which goes on without these thoughts.
   */
  readonly whenPromptsChange?: 'fail' | 'drop_thinking';
  /** The most tokens of each reply, Claude's thoughts included; 16,000 by default. */
  readonly maxTokens?: number;
  /** The effort that Claude puts into a reply, its thoughts included; absent: as the model does by itself. */
  readonly effort?: NonNullable<BetaOutputConfig['effort']>;
  readonly system?: SystemPrompt;
  /** Ends the turn: requests to the API, the client's pauses before it repeats one, and every access to the store. */
  readonly signal?: AbortSignal;
  readonly contextManagement?: ContextManagement | false;
  /**
   * True to put a view of the memory directory into the first request, which saves the request Claude would make for
   * it.
   */
  readonly prime?: boolean;
  readonly systemAdditions?: SystemAdditions;
  /** Further tools. They have to obey the signal of their context, or the turn waits for them. */
  readonly tools?: BetaToolRunnerParams['tools'];
  /** Further fields of the memory tool's definition, such as `cache_control`. */
  readonly toolProps?: MemoryToolProps;
  /**
   * True to run each call of these tools as soon as Claude has written it, while the reply goes on; false by default.
   * Such a call may have run although its reply does not count, and run again: where the reply is cut and asked for once
   * more, and where it is cut short by a limit. Calls of the memory always wait for the whole reply.
   */
  readonly runToolsEagerly?: boolean;
  /**
   * The most replies of one turn, over all runs of it; 64 by default. A turn that goes on from a progress that has used
   * them up already, because there were more when it was kept, has one more.
   */
  readonly maxRequests?: number;
  /** How often the client asks again for a reply that did not begin; as the client itself says unless given. */
  readonly maxRetries?: number;
  /**
   * The course when the memory itself does not work: the turn ends (`stop`, the default), or Claude answers without it
   * (`go_on`).
   */
  readonly whenMemoryFails?: 'stop' | 'go_on';
  readonly extras?: RequestExtras;
  /** The progress of an earlier run of the same turn that was interrupted, as its `onStep` was told. */
  readonly resumeFrom?: TurnProgress;
  /**
   * Hears the progress after each reply of Claude's but the last, when its tools have run; of one that writes to the
   * memory also before they run, with the reply in `pending`. The progress is enough for another process to go on, and
   * to make an edit of that reply once. `stop` ends the turn there. The turn goes on where it fails, or gives no answer
   * within 60 s.
   */
  readonly onStep?: (progress: TurnProgress) => Promise<'go_on' | 'stop'>;
  /** Hears of each memory command, once it is done. A failure of it or of a listener below changes nothing. */
  readonly onCommand?: (report: CommandReport) => void;
  /** Hears Claude's words of every reply as they arrive. It hears a reply that was cut again from its beginning. */
  readonly onText?: (delta: string) => void;
  /**
   * Hears of each call of a tool, the memory's too, in the order in which the reply made them, once all calls of the
   * reply are done. A worker that goes on with a turn tells no call of an earlier one again, but for
   * those of the reply that one died with.
   */
  readonly onToolUse?: (use: ToolUseReport) => void;
  /** Hears each reply; `requestId` is the API's id of the request. */
  readonly onReply?: (reply: BetaMessage, requestId: string | undefined) => void;
}

/** A report of one call of a tool, fit for a screen or a log: it has no input and no result. */
export interface ToolUseReport {
  /** The tool's name, `memory` for the memory. */
  readonly name: string;
  readonly outcome: 'ok' | 'error';
}

/**
 * Additions to the system prompt. The API explains the memory tool to Claude by itself whenever it is given, so they
 * leave that out.
 */
export interface SystemAdditions {
  /** True to ask Claude to keep the memory directory in order. */
  readonly tidy?: boolean;
  /** Asks Claude to write down only what concerns this topic. */
  readonly topic?: string;
}

export type SystemPrompt = string | readonly BetaTextBlockParam[];

const TIDY =
  'Keep your memory directory in order while you work: correct and merge what is there before you add to it, delete or rename files that have become useless or misleading, and make a new file only when no existing one fits.';

/** Answers the system prompt followed by the additions; undefined when both are missing. */
export function withAdditions(
  system: SystemPrompt | undefined,
  { tidy = false, topic }: SystemAdditions,
): string | BetaTextBlockParam[] | undefined {
  const additions = [
    ...(tidy ? [TIDY] : []),
    ...(topic === undefined ? [] : [`Write to your memory only what concerns ${topic}.`]),
  ];
  if (additions.length === 0) return typeof system === 'object' ? [...system] : system;
  const text = additions.join('\n\n');
  if (typeof system === 'object') return [...system, { type: 'text', text }];
  return system === undefined ? text : `${system}\n\n${text}`;
}

/**
 * The part of a client that a turn needs: the tool runner of its beta messages. Clients of Anthropic's API, Bedrock and
 * Vertex have it; batches, token counting, files and server-held message threads are not used.
 */
export interface MessagesClient {
  readonly beta: {
    readonly messages: {
      toolRunner(
        params: BetaToolRunnerParams & { readonly stream: true },
        options?: {
          readonly signal?: AbortSignal | null;
          readonly maxRetries?: number;
          readonly middleware?: readonly Middleware[];
        },
      ): TurnRunner;
    };
  };
}

/** The conversation loop of the SDK, as far as a turn drives it. */
export interface TurnRunner extends AsyncIterable<ReplyStream> {
  readonly params: { readonly messages: readonly BetaMessageParam[] };
  /** Runs the tools that the current reply calls, once; before the first request those that the last message calls. */
  generateToolResponse(): Promise<BetaMessageParam | null>;
  /** Makes the next request one for a summary of the conversation. */
  compactBeforeNextTurn(compaction: { readonly type: 'summarize'; readonly instructions?: string }): void;
  /** Holds the call with this id until `generateToolResponse`, where the runner runs tools eagerly. */
  deferToolCall(id: string): void;
  /** Adds messages to the conversation. */
  pushMessages(...messages: BetaMessageParam[]): void;
}

/** One streamed reply. */
export interface ReplyStream {
  on(event: 'connect', listener: () => void): unknown;
  on(event: 'text', listener: (delta: string) => void): unknown;
  /** Hears each event from the first one on, with the reply and its usage so far. */
  on(
    event: 'streamEvent',
    listener: (event: BetaRawMessageStreamEvent, snapshot: BetaMessage) => void,
  ): unknown;
  finalMessage(): Promise<BetaMessage>;
  /** Ends the reply; `finalMessage` rejects. */
  abort(): void;
  /** The API's id of the request, known with the reply. */
  readonly request_id?: string | null | undefined;
}

/**
 * Finds the class whose instances the client's runner hands to the model as they are. The runner matches by
 * `instanceof`, and a client may bring its own copy of the SDK, so that copy is asked first.
 */
export async function toolErrorOf(client: MessagesClient): Promise<ToolErrorClass> {
  const { ToolError: own } = client.beta.messages.constructor as { readonly ToolError?: ToolErrorClass };
  return own ?? loadToolError();
}
