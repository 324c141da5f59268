import { ApiRefusal } from './api-refusal.ts';

/** A way to the API; `bedrock` and `vertex` take other paths and headers. */
export type Platform = 'api' | 'bedrock' | 'vertex';

/** A model's facts in the public documentation, as far as a request may go wrong by them. */
export interface ModelFacts {
  /** "Max output" of the model's overview page. */
  readonly maxOutput: number;
  /** "Thinking support, defaults, and rejected configurations by model" of the page on troubleshooting thinking. */
  readonly thinking: 'enabled' | 'enabled or adaptive' | 'adaptive';
  readonly thinksByDefault: boolean;
  readonly mayDisableThinking: boolean;
  /** Among the models of the page "Prefix checks on thinking blocks". */
  readonly bindsThoughts: boolean;
  /** "Sampling parameters" of the page on thinking: refused always, or while the model thinks. */
  readonly sampling: 'never' | 'without thinking';
  /** "Prefill not supported" of the page on errors. */
  readonly takesPrefill: boolean;
  /** The page on effort. */
  readonly hasEffort: boolean;
  /** The page "Mid-conversation system messages". */
  readonly takesSystemMessages: boolean;
  /** The supported models of the pages on context editing and compaction. */
  readonly edits: readonly string[];
  /** The supported models of the page "Compaction on demand". */
  readonly compactsOnDemand: boolean;
}

const CLEARING = ['clear_tool_uses_20250919', 'clear_thinking_20251015'];
const COMPACTION = 'compact_20260112';

const BEFORE_ADAPTIVE: ModelFacts = {
  maxOutput: 64_000,
  thinking: 'enabled',
  thinksByDefault: false,
  mayDisableThinking: true,
  bindsThoughts: false,
  sampling: 'without thinking',
  takesPrefill: true,
  hasEffort: false,
  takesSystemMessages: false,
  edits: CLEARING,
  compactsOnDemand: false,
};
const OPUS_4_6: ModelFacts = {
  ...BEFORE_ADAPTIVE,
  maxOutput: 128_000,
  thinking: 'enabled or adaptive',
  takesPrefill: false,
  hasEffort: true,
  edits: [...CLEARING, COMPACTION],
  compactsOnDemand: true,
};
const OPUS_4_7: ModelFacts = { ...OPUS_4_6, thinking: 'adaptive', sampling: 'never' };
const OPUS_4_8: ModelFacts = { ...OPUS_4_7, takesSystemMessages: true };
const CURRENT: ModelFacts = { ...OPUS_4_8, thinksByDefault: true, bindsThoughts: true };

/** The documentation of this one is silent on `disabled` for the others of `CURRENT`, which take it here. */
const MODELS: ReadonlyMap<string, ModelFacts> = new Map([
  ['claude-haiku-4-5', BEFORE_ADAPTIVE],
  ['claude-sonnet-4-5', BEFORE_ADAPTIVE],
  ['claude-opus-4-5', { ...BEFORE_ADAPTIVE, hasEffort: true }],
  ['claude-opus-4-6', OPUS_4_6],
  ['claude-opus-4-7', OPUS_4_7],
  ['claude-opus-4-8', OPUS_4_8],
  ['claude-sonnet-5', { ...CURRENT, bindsThoughts: false }],
  ['claude-sonnet-5-5', CURRENT],
  ['claude-opus-5-5', CURRENT],
  ['claude-fable-5-1', { ...CURRENT, mayDisableThinking: false }],
]);

/**
 * Finds the facts of a model as a platform knows it. Bedrock compacts for the models of its own page on compaction; on
 * Google Cloud the documentation says nothing else than for the API. Neither has system messages within a conversation.
 *
 * Throws `ApiRefusal` for a model that is not known.
 */
export function factsOf(model: string, platform: Platform): ModelFacts {
  const name = model
    .replace(/^(?:[a-z]+\.)?anthropic\./, '')
    .replace(/-v\d+(?::\d+)?$/, '')
    .replace(/[-@]\d{8}$/, '');
  const facts = MODELS.get(name);
  if (facts === undefined) {
    throw new ApiRefusal(`model: ${model}`, { status: 404, type: 'not_found_error' });
  }
  if (platform === 'api') return facts;
  const edits = platform === 'vertex' || name === 'claude-opus-4-6' ? facts.edits : CLEARING;
  return { ...facts, edits, takesSystemMessages: false };
}
