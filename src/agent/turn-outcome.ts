import type { BetaMessage, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import type { MemoryError, RetryAdvice } from '../errors.ts';
import type { Touches } from '../tree/touches.ts';
import { isThought } from './resendable.ts';
import { meaningOf } from './stop-reasons.ts';

/** The end of a turn. Every edit of the memory that was answered is complete, whichever end it was. */
export type TurnOutcome = TurnEnding & {
  /**
   * The conversation as far as a next turn can build on it, with the user's next message after it. It has Claude's last
   * words when they arrived whole or met a limit, and lacks them when they did not arrive; after a refusal it is the
   * one that was given.
   */
  readonly messages: readonly BetaMessageParam[];
  /** The digest of the prompts that make these messages valid; it goes with them to the next turn. */
  readonly digest: string;
  readonly usage: TurnUsage;
  /** The touches of the turn's commands on files, and the versions that they read, in the order in which they ended. */
  readonly touches: Touches;
  /** The reason why the conversation was not summarised on demand; absent where it was, or was not long enough. */
  readonly compactionFailure?: CompactionFailure;
};

/** The reason why a conversation was not summarised although it was long enough. The turn went on without a summary. */
export interface CompactionFailure {
  /**
   * A code fit for a log: the stop reason of a reply without a summary, such as `max_tokens` or `refusal`, or as that of
   * a turn that failed, or the API's own code, such as `compaction_unavailable`.
   */
  readonly code: string;
  /** The API's id of the request. */
  readonly requestId: string | undefined;
}

export type TurnEnding =
  | {
      readonly outcome: 'answered';
      /** Claude's words since its last tool call. */
      readonly text: string;
      readonly reply: BetaMessage;
    }
  | {
      readonly outcome: 'refused';
      /** The kind of the refusal, where the API names it. */
      readonly category: string | undefined;
      readonly reply: BetaMessage;
    }
  | {
      readonly outcome: 'truncated';
      /**
       * The limit that was met: of the reply's length (`max_tokens`), the same before Claude had said a word
       * (`thinking`; `text` is empty), of the context, of requests in one turn, or one that this version does not know.
       * `wordless`: Claude ended its turn without a word, and again where it could be asked once more; `text` is empty.
       */
      readonly by: 'max_tokens' | 'thinking' | 'context_window' | 'max_requests' | 'wordless' | 'unknown';
      readonly text: string;
      readonly reply: BetaMessage;
    }
  | {
      readonly outcome: 'interrupted';
      /** `deadline` when the signal's reason is a timeout, as with `AbortSignal.timeout`; `stopped` by `onStep`. */
      readonly by: 'deadline' | 'aborted' | 'stopped';
    }
  | {
      readonly outcome: 'failed';
      readonly source: 'api' | 'memory' | 'conversation';
      /**
       * A code fit for a log: a `MemoryErrorCode`, the API's error type or its substitute, or `conversation_changed`:
       * the system prompt or the tools are not those over which Claude signed its thoughts in the messages.
       */
      readonly code: string;
      /** `later` when the same turn may succeed by itself, `never` when something must change first. */
      readonly retry: RetryAdvice;
      /** The pause that the API asked for, in milliseconds. */
      readonly retryAfterMs: number | undefined;
      /** The API's id of the request that it refused. */
      readonly requestId: string | undefined;
      readonly error: unknown;
    };

/** Makes the end of a turn whose prompts have changed. `error` is the API's refusal, where Claude was asked. */
export function conversationChanged(error?: unknown, requestId?: string): TurnEnding {
  return {
    outcome: 'failed',
    source: 'conversation',
    code: 'conversation_changed',
    retry: 'never',
    retryAfterMs: undefined,
    requestId,
    error,
  };
}

export function memoryFailure(error: MemoryError): TurnEnding {
  const { code, retry } = error;
  return {
    outcome: 'failed',
    source: 'memory',
    code,
    retry,
    retryAfterMs: undefined,
    requestId: undefined,
    error,
  };
}

export function interruption(signal: AbortSignal): TurnEnding {
  const { name } = (signal.reason ?? {}) as { readonly name?: unknown };
  return { outcome: 'interrupted', by: name === 'TimeoutError' ? 'deadline' : 'aborted' };
}

/**
 * Judges the reply after which the runner stopped. `text` is all that Claude said since its last tool call. A reply that
 * owes words and has none truncates the turn.
 */
export function endingOf(reply: BetaMessage, text: string): TurnEnding {
  const { ends, owesWords } = meaningOf(reply);
  if (ends === 'refused') {
    return { outcome: 'refused', category: reply.stop_details?.category ?? undefined, reply };
  }
  const isWordless = text.trim() === '';
  if (ends === 'answered') {
    if (owesWords && isWordless) return { outcome: 'truncated', by: 'wordless', text: '', reply };
    return { outcome: 'answered', text, reply };
  }
  const isThoughtAlone = ends === 'max_tokens' && isWordless && reply.content.some(isThought);
  return { outcome: 'truncated', by: isThoughtAlone ? 'thinking' : ends, text, reply };
}

/**
 * The tokens and requests of a turn, over all of its replies. For a reply that was cut, the input is the count that the
 * API told at its beginning; the output is the count that it had told by then, or one token for every four characters
 * that came, if that is more.
 */
export interface TurnUsage {
  /** Requests to the API, cut ones included; repetitions inside the client are not counted. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Tool uses whose results the API cleared, in the request that cleared most. */
  readonly clearedToolUses: number;
  /** The number of times that a summary replaced the conversation. */
  readonly compactions: number;
}

export const NO_USAGE: TurnUsage = {
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  clearedToolUses: 0,
  compactions: 0,
};

/**
 * Adds one reply. Its own counts leave out the tokens of a summary; the list of iterations, where it has one, includes
 * them. Every request reports the clearing that applies to it again, so clearing is not summed.
 */
export function addReply(usage: TurnUsage, { usage: counts, content, ...reply }: BetaMessage): TurnUsage {
  const parts = counts.iterations?.length ? counts.iterations : [counts];
  const sum = (pick: (part: (typeof parts)[number]) => number | null | undefined): number =>
    parts.reduce((total, part) => total + (pick(part) ?? 0), 0);
  const cleared = (reply.context_management?.applied_edits ?? []).map((edit) =>
    edit.type === 'clear_tool_uses_20250919' ? edit.cleared_tool_uses : 0,
  );
  return {
    requests: usage.requests,
    inputTokens: usage.inputTokens + sum((part) => part.input_tokens),
    outputTokens: usage.outputTokens + sum((part) => part.output_tokens),
    cacheReadTokens: usage.cacheReadTokens + sum((part) => part.cache_read_input_tokens),
    cacheWriteTokens: usage.cacheWriteTokens + sum((part) => part.cache_creation_input_tokens),
    clearedToolUses: Math.max(usage.clearedToolUses, ...cleared),
    compactions: usage.compactions + content.filter(({ type }) => type === 'compaction').length,
  };
}

const CHARACTERS_PER_TOKEN = 4;

/** Adds a reply that was cut. The API tells the tokens of its output only at its end. */
export function addCut(usage: TurnUsage, begun: BetaMessage, characters: number): TurnUsage {
  const { usage: told } = begun;
  const output_tokens = Math.max(told.output_tokens, Math.ceil(characters / CHARACTERS_PER_TOKEN));
  // The content of a cut reply is not used.
  return addReply(usage, { ...begun, content: [], usage: { ...told, output_tokens } });
}
