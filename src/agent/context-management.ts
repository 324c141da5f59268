import type { BetaContextManagementConfig, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { MemoryError } from '../errors.ts';
import type { ModelFeature } from './model-features.ts';
import { leadingSummary } from './turn-progress.ts';

export type ContextEdit = NonNullable<BetaContextManagementConfig['edits']>[number];

/**
 * The API's means to keep a long conversation short. Clearing of tool uses and compaction are on unless they are
 * `false`.
 */
export interface ContextManagement {
  /** The clearing of the results of older tool uses, never those of the memory tool; true by default. */
  readonly clearToolUses?: boolean | ClearToolUses;
  /**
   * The number of newest turns that keep their thoughts, or `all`; the thoughts of older turns are cleared. Absent: as
   * the model does by itself.
   */
  readonly keepThinkingTurns?: number | 'all';
  /**
   * The replacement of the conversation so far with a summary, on demand where client and model have that, else at a
   * threshold; true by default.
   */
  readonly compaction?: boolean | Compaction;
  /** The edits themselves, as the API takes them and in this order; the other fields are then ignored. */
  readonly edits?: readonly ContextEdit[];
}

export interface ClearToolUses {
  /** The number of input tokens from which on results are cleared; 100,000 by default. */
  readonly triggerTokens?: number;
  /** The number of newest tool uses that stay; 3 by default. */
  readonly keep?: number;
  /** Names of more tools whose results stay. */
  readonly exclude?: readonly string[];
  /**
   * The fewest tokens that one clearing removes: each clearing costs the part of the prompt cache that comes after it.
   */
  readonly clearAtLeastTokens?: number;
  /** True to clear the inputs of all tools as well; or the names of the tools whose inputs are cleared. */
  readonly clearInputs?: boolean | readonly string[];
}

export interface Compaction {
  /**
   * The number of tokens from which on the conversation is summarised; 150,000 by default. On demand they are those of
   * the whole conversation, with what the API clears of it: told by the last reply within a turn, and estimated at its
   * beginning, at three bytes a token.
   */
  readonly triggerTokens?: number;
  /** Instructions for the summary, instead of the API's own. */
  readonly instructions?: string;
}

const TRIGGER_TOKENS = 150_000;
const CLEARING_BETA = 'context-management-2025-06-27';
const THRESHOLD_BETA = 'compact-2026-01-12';
export const ON_DEMAND_BETA = 'compact-2026-09-04';

/** The part of a request that manages the context, and the beta headers that exactly this part needs. */
interface ManagedContext {
  readonly betas: readonly string[];
  readonly config: BetaContextManagementConfig | undefined;
}

/** Compaction on demand, as a turn wants it. */
export interface OnDemand {
  readonly triggerTokens: number;
  readonly instructions: string | undefined;
}

/**
 * Makes the part of a request that manages the context, without the edits that the model lacks. Where the turn can have
 * its summaries on demand, none is asked for at a threshold: the API takes no two kinds in one conversation. One that
 * holds a summary already needs the header of its kind even when nothing compacts.
 */
export function manageContext(
  edits: readonly ContextEdit[],
  context: {
    readonly lacks: ReadonlySet<ModelFeature>;
    readonly messages: readonly BetaMessageParam[];
    readonly isOnDemand: boolean;
  },
): ManagedContext {
  const { lacks, messages, isOnDemand } = context;
  const isSigned = leadingSummary(messages) !== undefined;
  const mayCompact = !isSigned && (!isOnDemand || lacks.has('compaction'));
  const used = edits.filter(({ type }) => !lacks.has(type) && (type !== 'compact_20260112' || mayCompact));
  const compacts = used.some(({ type }) => type === 'compact_20260112');
  const betas: string[] = [];
  if (used.some(({ type }) => type !== 'compact_20260112')) betas.push(CLEARING_BETA);
  if (isSigned) betas.push(ON_DEMAND_BETA);
  else if (compacts || messages.some(holdsSummary)) betas.push(THRESHOLD_BETA);
  return { betas, config: used.length > 0 ? { edits: used } : undefined };
}

/** Answers how a turn wants its summaries on demand; undefined where it wants none so. */
export function onDemandOf(
  options: ContextManagement | false | undefined,
  messages: readonly BetaMessageParam[],
): OnDemand | undefined {
  const { compaction = true, edits } = options || { compaction: options ?? true };
  const isAtThreshold = messages.some(holdsSummary) && leadingSummary(messages) === undefined;
  if (compaction === false || edits !== undefined || isAtThreshold) return undefined;
  const { triggerTokens = TRIGGER_TOKENS, instructions } = compaction === true ? {} : compaction;
  return { triggerTokens, instructions };
}

/**
 * Makes the edits in the order in which the API takes them: thoughts first.
 *
 * @throws MemoryError `misconfigured` when a number is no whole number in its range.
 */
export function editsOf(options: ContextManagement | false | undefined): readonly ContextEdit[] {
  if (options === false) return [];
  const { clearToolUses = true, compaction = true, keepThinkingTurns, edits } = options ?? {};
  if (edits !== undefined) return edits;
  return [
    ...(keepThinkingTurns === undefined ? [] : [thinkingEdit(keepThinkingTurns)]),
    ...(clearToolUses === false ? [] : [clearingEdit(clearToolUses === true ? {} : clearToolUses)]),
    ...(compaction === false ? [] : [compactionEdit(compaction === true ? {} : compaction)]),
  ];
}

function thinkingEdit(keep: number | 'all'): ContextEdit {
  const value = keep === 'all' ? 1 : wholeNumber('keepThinkingTurns', keep, 1);
  return {
    type: 'clear_thinking_20251015',
    keep: keep === 'all' ? keep : { type: 'thinking_turns', value },
  };
}

function clearingEdit(options: ClearToolUses): ContextEdit {
  const { triggerTokens = 100_000, keep = 3, exclude = [], clearAtLeastTokens, clearInputs } = options;
  return {
    type: 'clear_tool_uses_20250919',
    trigger: { type: 'input_tokens', value: wholeNumber('triggerTokens', triggerTokens, 1) },
    keep: { type: 'tool_uses', value: wholeNumber('keep', keep, 0) },
    exclude_tools: [...new Set(['memory', ...exclude])],
    ...(clearAtLeastTokens !== undefined && {
      clear_at_least: {
        type: 'input_tokens',
        value: wholeNumber('clearAtLeastTokens', clearAtLeastTokens, 0),
      },
    }),
    ...(clearInputs !== undefined && {
      clear_tool_inputs: typeof clearInputs === 'boolean' ? clearInputs : [...clearInputs],
    }),
  };
}

function compactionEdit({ triggerTokens = TRIGGER_TOKENS, instructions }: Compaction): ContextEdit {
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
