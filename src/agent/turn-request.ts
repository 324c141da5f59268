import type { BetaToolRunnerParams } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type {
  BetaContextManagementConfig,
  BetaMessage,
  BetaMessageParam,
  BetaTextBlockParam,
} from '@anthropic-ai/sdk/resources/beta';
import { MemoryError } from '../errors.ts';
import { loadToolError, type ToolErrorClass } from '../tool/memory-tool.ts';

/** How the API keeps a long conversation short. Both ways are on unless they are `false`. */
export interface ContextManagement {
  /** Clears the results of older tool uses, never those of the memory tool. */
  readonly clearToolUses?: boolean | ClearToolUses;
  /** Replaces the conversation so far with a summary. */
  readonly compaction?: boolean | Compaction;
}

export interface ClearToolUses {
  /** Input tokens from which on results are cleared; 100,000 by default. */
  readonly triggerTokens?: number;
  /** How many of the newest tool uses stay; 3 by default. */
  readonly keep?: number;
  /** Names of more tools whose results stay. */
  readonly exclude?: readonly string[];
}

export interface Compaction {
  /** Input tokens from which on the conversation is summarised; 150,000 by default. */
  readonly triggerTokens?: number;
  /** What the summary should hold, instead of the API's own instructions for it. */
  readonly instructions?: string;
}

const CLEARING_BETA = 'context-management-2025-06-27';
const COMPACTION_BETA = 'compact-2026-01-12';

/** The part of a request that manages the context, and the beta headers that exactly this part needs. */
interface ManagedContext {
  readonly betas: readonly string[];
  readonly config: BetaContextManagementConfig | undefined;
}

/**
 * A conversation that holds a summary already needs the header of compaction even when nothing more is compacted.
 *
 * @throws MemoryError `misconfigured` when a number is no whole number in its range.
 */
export function manageContext(
  options: ContextManagement | false | undefined,
  messages: readonly BetaMessageParam[],
): ManagedContext {
  const { clearToolUses = true, compaction = true } =
    options === false ? { clearToolUses: false, compaction: false } : (options ?? {});
  const edits: NonNullable<BetaContextManagementConfig['edits']> = [];
  if (clearToolUses !== false) edits.push(clearingEdit(clearToolUses === true ? {} : clearToolUses));
  if (compaction !== false) edits.push(compactionEdit(compaction === true ? {} : compaction));
  const betas: string[] = [];
  if (clearToolUses !== false) betas.push(CLEARING_BETA);
  if (compaction !== false || messages.some(holdsSummary)) betas.push(COMPACTION_BETA);
  return { betas, config: edits.length > 0 ? { edits } : undefined };
}

type Edit = NonNullable<BetaContextManagementConfig['edits']>[number];

function clearingEdit({ triggerTokens = 100_000, keep = 3, exclude = [] }: ClearToolUses): Edit {
  return {
    type: 'clear_tool_uses_20250919',
    trigger: { type: 'input_tokens', value: wholeNumber('triggerTokens', triggerTokens, 1) },
    keep: { type: 'tool_uses', value: wholeNumber('keep', keep, 0) },
    exclude_tools: [...new Set(['memory', ...exclude])],
  };
}

function compactionEdit({ triggerTokens = 150_000, instructions }: Compaction): Edit {
  return {
    type: 'compact_20260112',
    trigger: { type: 'input_tokens', value: wholeNumber('triggerTokens', triggerTokens, 1) },
    ...(instructions !== undefined && { instructions }),
  };
}

function wholeNumber(name: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least) return value;
  throw new MemoryError(
    'misconfigured',
    `${name} of contextManagement must be a whole number from ${least}.`,
  );
}

function holdsSummary({ content }: BetaMessageParam): boolean {
  return typeof content === 'object' && content.some(({ type }) => type === 'compaction');
}

/**
 * Additions to the system prompt. The API explains the memory tool to Claude by itself whenever the tool is given, so
 * nothing of that is repeated.
 */
export interface PromptAdditions {
  /** Asks Claude to keep the memory directory in order. */
  readonly tidy?: boolean;
  /** Asks Claude to write down only what concerns this topic. */
  readonly topic?: string;
}

export type SystemPrompt = string | readonly BetaTextBlockParam[];

const TIDY =
  'Keep your memory directory in order while you work: correct and merge what is there before you add to it, delete or rename files that have become useless or misleading, and make a new file only when no existing one fits.';

/** The system prompt with the additions behind it; undefined when there is neither. */
export function withAdditions(
  system: SystemPrompt | undefined,
  { tidy = false, topic }: PromptAdditions,
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
 * What a turn needs of a client: the tool runner of its beta messages. Clients of Anthropic's API, Bedrock and Vertex
 * have it; batches, token counting, files and server-held message threads are not used.
 */
export interface MessagesClient {
  readonly beta: {
    readonly messages: {
      toolRunner(
        params: BetaToolRunnerParams & { readonly stream: true },
        options?: { readonly signal?: AbortSignal | null },
      ): TurnRunner;
    };
  };
}

/** The conversation loop of the SDK, as far as a turn drives it. */
export interface TurnRunner extends AsyncIterable<ReplyStream> {
  readonly params: { readonly messages: readonly BetaMessageParam[] };
  /** Runs the tools that the current reply calls, once. */
  generateToolResponse(): Promise<BetaMessageParam | null>;
}

/** One streamed reply. */
export interface ReplyStream {
  on(event: 'connect', listener: () => void): unknown;
  finalMessage(): Promise<BetaMessage>;
  /** Known with the reply. */
  readonly request_id?: string | null | undefined;
}

/**
 * The class whose instances the client's runner hands to the model as they are. It matches by `instanceof`, and a
 * client may bring its own copy of the SDK, so the copy is asked first.
 */
export async function toolErrorOf(client: MessagesClient): Promise<ToolErrorClass> {
  const { ToolError: own } = client.beta.messages.constructor as { readonly ToolError?: ToolErrorClass };
  return own ?? loadToolError();
}
