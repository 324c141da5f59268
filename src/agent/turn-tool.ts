import { randomUUID } from 'node:crypto';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type {
  BetaMessage,
  BetaMessageParam,
  BetaThinkingConfigParam,
  BetaToolUseBlock,
} from '@anthropic-ai/sdk/resources/beta';
import { type KeyHolder, keyHolderOf, type MemoryError, type MemoryErrorCode } from '../errors.ts';
import { fromBase64url } from '../format/encoding.ts';
import { type CommandName, echoOf } from '../language/command.ts';
import type { Memory, MemoryResult, MemoryToolProps, ToolErrorClass } from '../tool/memory-tool.ts';
import type { KeptCall } from '../tree/tenant.ts';
import { collectTouches, type Touches } from '../tree/touches.ts';
import { createOnce } from './once.ts';
import type { PendingReply } from './turn-progress.ts';

/** A report of one memory command of a turn, fit for a log: it has no path and no text. */
export interface CommandReport {
  /** The command; undefined when the model asked for something else. */
  readonly command: CommandName | undefined;
  readonly durationMs: number;
  /** The error's code; undefined when the command succeeded. */
  readonly code: MemoryErrorCode | undefined;
  /** The holder of the root key that refused or was away, where the settings of the tenant name that key. */
  readonly keyHolder?: KeyHolder;
}

/** The memory as a tool of one turn. */
export interface TurnTool {
  readonly tool: BetaRunnableTool;
  /** Runs a command outside the runner, reported and judged like one inside. */
  run(input: unknown, signal?: AbortSignal | null): Promise<MemoryResult>;
  /**
   * Begins the calls of a reply: its commands take effect once.
   *
   * @param before the touches of the time before; given where the calls may have been made.
   */
  begin(reply: PendingReply, before?: Touches): void;
  /** Answers the first failure after which the turn must end: the memory itself does not work. */
  failure(): MemoryError | undefined;
  /** Answers the commands' touches on files so far. */
  touches(): Touches;
}

/** Codes of failures that the model cannot mend. `outcome_unknown` is left out: the model can look again. */
const MEMORY_IS_DOWN: ReadonlySet<MemoryErrorCode> = new Set([
  'unavailable',
  'timeout',
  'access_denied',
  'key_unavailable',
  'unsupported_format',
  'misconfigured',
  'integrity',
]);

export function createTurnTool(options: {
  readonly memory: Pick<Memory, 'execute'>;
  readonly toolError: ToolErrorClass;
  readonly props?: MemoryToolProps | undefined;
  readonly onCommand?: ((report: CommandReport) => void) | undefined;
  /** The touches of an earlier run of the turn. */
  readonly touches?: Touches | undefined;
}): TurnTool {
  const { memory, toolError: Failure, props, onCommand } = options;
  const collected = collectTouches(options.touches);
  let failure: MemoryError | undefined;
  let onces: ReadonlyMap<string, KeptCall['once']> = new Map();
  const run = async (
    input: unknown,
    signal?: AbortSignal | null,
    once?: KeptCall['once'],
  ): Promise<MemoryResult> => {
    const started = performance.now();
    const call: KeptCall = { signal: signal ?? undefined, onTouch: collected.add, once };
    const result = await memory.execute(input, call);
    if (result.isError && MEMORY_IS_DOWN.has(result.error.code)) failure ??= result.error;
    const error = result.isError ? result.error : undefined;
    const keyHolder = keyHolderOf(error);
    onCommand?.({
      command: echoOf(input).command,
      durationMs: performance.now() - started,
      code: error?.code,
      ...(keyHolder && { keyHolder }),
    });
    return result;
  };
  return {
    tool: {
      ...props,
      type: 'memory_20250818',
      name: 'memory',
      parse: (input: unknown) => input,
      run: async (input: unknown, context) => {
        const result = await run(input, context?.signal, onces.get(context?.toolUse.id ?? ''));
        if (result.isError) throw new Failure(result.content);
        return result.content;
      },
    },
    run: (input, signal) => run(input, signal),
    begin({ reply, key: name, since }, before) {
      const key = fromBase64url(name) ?? new Uint8Array();
      const again = before && { since, seen: versionsIn(before) };
      onces = new Map(
        writesOf(reply.content).map(({ id }, index) => [id, createOnce({ key, index }, again)]),
      );
    },
    failure: () => failure,
    touches: collected.touches,
  };
}

/** Lists the calls of a reply that write to the memory. */
export function writesOf(content: BetaMessage['content']): readonly BetaToolUseBlock[] {
  const writes = content.filter((block) => block.type === 'tool_use');
  return writes.filter(
    ({ name, input }) => name === 'memory' && (echoOf(input).command ?? 'view') !== 'view',
  );
}

function versionsIn({ list }: Touches): ReadonlySet<string> {
  return new Set(list.flatMap((touch) => ('version' in touch ? [touch.version] : [])));
}

const VIEW = { command: 'view', path: '/memories' } as const;

/**
 * Answers the conversation with a view of the memory directory after the user's message, as if Claude had asked for it.
 * It stays as it is when the last message is not the user's, or when the API wants Claude's thoughts before each call
 * (`thinking` of type `enabled`).
 */
export async function primed(request: {
  readonly messages: readonly BetaMessageParam[];
  readonly tool: TurnTool;
  readonly thinking: BetaThinkingConfigParam | undefined;
  readonly signal?: AbortSignal;
}): Promise<readonly BetaMessageParam[]> {
  const { messages, tool, thinking, signal } = request;
  if (messages.at(-1)?.role !== 'user' || thinking?.type === 'enabled') return messages;
  const { isError, content } = await tool.run(VIEW, signal);
  const id = `toolu_${randomUUID().replaceAll('-', '')}`;
  return [
    ...messages,
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'memory', input: VIEW }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: id,
          content: typeof content === 'string' ? content : [...content],
          ...(isError && { is_error: true }),
        },
      ],
    },
  ];
}
