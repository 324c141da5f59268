import type { BetaContextManagementConfig, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { MemoryError } from '../errors.ts';
import type { ModelFeature } from './model-features.ts';

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
  /** The replacement of the conversation so far with a summary; true by default. */
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
  /** The fewest tokens that one clearing removes: each clearing costs the part of the prompt cache behind it. */
  readonly clearAtLeastTokens?: number;
  /** True to clear the inputs of all tools as well; or the names of the tools whose inputs are cleared. */
  readonly clearInputs?: boolean | readonly string[];
}

export interface Compaction {
  /** The number of input tokens from which on the conversation is summarised; 150,000 by default. */
  readonly triggerTokens?: number;
  /** Instructions for the summary, instead of the API's own. */
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
 * Makes the part of a request that manages the context, without the edits that the model lacks. A conversation that
 * holds a summary already needs the header of compaction even when no edit compacts.
 */
export function manageContext(
  edits: readonly ContextEdit[],
  context: { readonly lacks: ReadonlySet<ModelFeature>; readonly messages: readonly BetaMessageParam[] },
): ManagedContext {
  const { lacks, messages } = context;
  const used = edits.filter(({ type }) => !lacks.has(type));
  const compacts = used.some(({ type }) => type === 'compact_20260112');
  const betas: string[] = [];
  if (used.some(({ type }) => type !== 'compact_20260112')) betas.push(CLEARING_BETA);
  if (compacts || messages.some(holdsSummary)) betas.push(COMPACTION_BETA);
  return { betas, config: used.length > 0 ? { edits: used } : undefined };
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

function compactionEdit({ triggerTokens = 150_000, instructions }: Compaction): ContextEdit {
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
