import type { BetaContextManagementConfig } from '@anthropic-ai/sdk/resources/beta';

/**
 * A feature that a turn asks for by itself, and can do without: a context edit, compaction on demand (`compaction`), or
 * the prompt cache of the whole request.
 */
export type ModelFeature =
  | NonNullable<BetaContextManagementConfig['edits']>[number]['type']
  | 'compaction'
  | 'cache_control';

/** The names by which a refusal may name a feature. */
const NAMES: Readonly<Record<ModelFeature, readonly string[]>> = {
  compact_20260112: ['compact_20260112', 'compact-2026-01-12'],
  clear_tool_uses_20250919: ['clear_tool_uses_20250919', 'context-management-2025-06-27'],
  clear_thinking_20251015: ['clear_thinking_20251015', 'context-management-2025-06-27'],
  compaction: ['compact-2026-09-04'],
  cache_control: ['cache_control'],
};
const NO_EDITS = /\bcontext_management: Extra inputs are not permitted/;
/** The first models that compact: Opus and Sonnet 4.6. */
const COMPACTS_FROM = 406;
/** Names of models on Bedrock, which compacts at a threshold alone. */
const BEDROCK = /\banthropic\.|:bedrock:/;

/**
 * The features that each model lacks, by client and model, for as long as the client lives: another cloud may have
 * them.
 */
const lacking = new WeakMap<object, Map<string, Set<ModelFeature>>>();

/**
 * Answers the features that the model of this client is known to lack. A feature that the caller adds to the set
 * (`add`) is remembered for the turns that follow.
 */
export function lacksOf(client: object, model: string): Set<ModelFeature> {
  const models = lacking.get(client) ?? new Map<string, Set<ModelFeature>>();
  lacking.set(client, models);
  const known = models.get(model) ?? lackingAtFirst(model);
  models.set(model, known);
  return known;
}

function lackingAtFirst(model: string): Set<ModelFeature> {
  if (versionOf(model) < COMPACTS_FROM) return new Set(['compact_20260112', 'compaction']);
  return new Set(BEDROCK.test(model) ? ['compaction'] : []);
}

/**
 * Picks, from the features that were asked for, those that a refused request (400) names as the reason. Where the words
 * name several, as a list of the allowed ones does, the first is the reason.
 */
export function refusedFeatures(error: unknown, asked: readonly ModelFeature[]): readonly ModelFeature[] {
  const { status, message } = (error ?? {}) as { readonly status?: unknown; readonly message?: unknown };
  if (status !== 400 || typeof message !== 'string') return [];
  if (NO_EDITS.test(message)) return asked.filter((feature) => feature.includes('_20'));
  const named = asked.flatMap((feature) =>
    NAMES[feature].flatMap((name) => {
      const at = message.indexOf(name);
      return at < 0 ? [] : [{ feature, at }];
    }),
  );
  const first = Math.min(...named.map(({ at }) => at));
  return [...new Set(named.filter(({ at }) => at === first).map(({ feature }) => feature))];
}

/**
 * Reads the version from a model's name, 405 of `claude-haiku-4-5` on any cloud; infinite where the name tells none.
 */
function versionOf(model: string): number {
  const [, older, major = older, minor = 0] =
    /claude-(?:(\d)|[a-z]+-(\d)(?:-(\d{1,2})(?!\d))?)/.exec(model) ?? [];
  return major === undefined ? Number.POSITIVE_INFINITY : 100 * Number(major) + Number(minor);
}
