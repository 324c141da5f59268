import { ApiRefusal, type JsonObject, record, wholeNumber } from './api-refusal.ts';
import type { ModelFacts } from './models.ts';

const LEAST_BUDGET = 1024;
const SAMPLING = ['temperature', 'top_p', 'top_k'];
/** From this version of the API on, no model takes a sampling parameter. */
const WITHOUT_SAMPLING = '2026-10-21';
const BINDING_BETA = 'thinking-binding-controls-2026-08-01';
const MOST_CACHE_MARKS = 4;
const EFFORTS: readonly unknown[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** The way in which Claude thinks in a request. */
export interface ThinkingMode {
  readonly mode: 'off' | 'enabled' | 'adaptive';
  readonly onMismatch: 'error' | 'drop_block';
}

/** Throws `ApiRefusal` for a limit that the model does not have ("Max output" of the page on each model). */
export function checkMaxTokens(value: unknown, { maxOutput }: ModelFacts, model: string): number {
  const tokens = wholeNumber(value, { at: 'max_tokens', least: 1 });
  if (tokens > maxOutput) {
    throw new ApiRefusal(
      `max_tokens: ${tokens} > ${maxOutput}, which is the maximum allowed number of output tokens for ${model}`,
    );
  }
  return tokens;
}

/**
 * Judges the kind of thinking that a model takes: "Troubleshooting thinking". The budget: "Extended thinking" (at least
 * 1,024, less than `max_tokens`). `block_binding` needs its beta header: "Fix a thinking block bound to a different
 * conversation".
 */
export function parseThinking(
  request: JsonObject,
  { facts, betas }: { readonly facts: ModelFacts; readonly betas: ReadonlySet<string> },
): ThinkingMode {
  if (request['thinking'] === undefined) {
    return { mode: facts.thinksByDefault ? 'adaptive' : 'off', onMismatch: 'error' };
  }
  const thinking = record(request['thinking'], 'thinking');
  const { type, block_binding: binding } = thinking;
  if (type === 'disabled') {
    record(thinking, 'thinking', ['type']);
    if (!facts.mayDisableThinking) {
      throw new ApiRefusal('"thinking.type.disabled" is not supported for this model.');
    }
    return { mode: 'off', onMismatch: 'error' };
  }
  if (type !== 'enabled' && type !== 'adaptive') {
    throw new ApiRefusal("thinking.type: Input should be 'enabled', 'disabled' or 'adaptive'");
  }
  if (!facts.thinking.split(' or ').includes(type)) {
    throw new ApiRefusal(
      type === 'enabled'
        ? '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        : 'adaptive thinking is not supported on this model',
    );
  }
  record(thinking, 'thinking', [
    'type',
    'display',
    'block_binding',
    ...(type === 'enabled' ? ['budget_tokens'] : []),
  ]);
  if (type === 'enabled') checkBudget(thinking['budget_tokens'], request['max_tokens']);
  if (binding !== undefined && !betas.has(BINDING_BETA)) {
    throw new ApiRefusal('thinking.block_binding: Extra inputs are not permitted');
  }
  const wanted = record(binding ?? {}, 'thinking.block_binding', ['prefix_mismatch_behavior']);
  const onMismatch = wanted['prefix_mismatch_behavior'];
  return { mode: type, onMismatch: onMismatch === 'drop_block' ? 'drop_block' : 'error' };
}

function checkBudget(budget: unknown, maxTokens: unknown): void {
  if (
    wholeNumber(budget, { at: 'thinking.enabled.budget_tokens', least: LEAST_BUDGET }) >= Number(maxTokens)
  ) {
    throw new ApiRefusal('`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
}

/**
 * "Sampling parameters" of the page on thinking: newer models refuse other values than the default, and so does every
 * model while it thinks (`top_p` from 0.95 on is taken); none takes two of them; from the API's version 2026-10-21 on,
 * all are refused. A forced tool is refused while the model thinks ("Extended thinking", tool use).
 */
export function checkSampling(
  request: JsonObject,
  context: { readonly facts: ModelFacts; readonly mode: ThinkingMode['mode']; readonly version: unknown },
): void {
  const { facts, mode, version } = context;
  const given = SAMPLING.filter((name) => request[name] !== undefined);
  const [first] = given;
  if (first !== undefined && String(version) >= WITHOUT_SAMPLING && /^\d/.test(String(version))) {
    throw new ApiRefusal(`${first}: Extra inputs are not permitted`);
  }
  if (given.includes('temperature') && given.includes('top_p')) {
    throw new ApiRefusal(
      '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    );
  }
  for (const name of given) {
    const value = Number(request[name]);
    const isDefault = name === 'temperature' && value === 1;
    const isTaken = isDefault || (name === 'top_p' && value >= 0.95 && facts.sampling !== 'never');
    if (facts.sampling === 'never' && !isTaken) {
      throw new ApiRefusal(`\`${name}\` is not supported for this model`);
    }
    if (mode !== 'off' && !isTaken) {
      throw new ApiRefusal(`\`${name}\` may only be set to 1 when thinking is enabled`);
    }
  }
  const choice = request['tool_choice'] as { readonly type?: unknown } | undefined;
  if (mode !== 'off' && (choice?.type === 'any' || choice?.type === 'tool')) {
    throw new ApiRefusal('Thinking may not be enabled when tool_choice forces tool use.');
  }
}

/** "Effort": the levels, and the models that have it. */
export function checkOutputConfig(value: unknown, { hasEffort }: ModelFacts): void {
  if (value === undefined || value === null) return;
  const { effort } = record(value, 'output_config', ['effort', 'format', 'task_budget']);
  if (effort === undefined || effort === null) return;
  if (!hasEffort) throw new ApiRefusal('This model does not support the effort parameter.');
  if (!EFFORTS.includes(effort)) {
    throw new ApiRefusal("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
  }
}

/** "Prompt caching": at most four marks, and the one for the whole request counts. */
export function checkCacheMarks(request: JsonObject): void {
  const marks = countMarks(request);
  if (marks > MOST_CACHE_MARKS) {
    throw new ApiRefusal(
      `A maximum of ${MOST_CACHE_MARKS} blocks with cache_control may be provided. Found ${marks}.`,
    );
  }
}

function countMarks(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const { input: _, input_schema: __, ...rest } = value as JsonObject;
  const own = 'cache_control' in rest && rest['cache_control'] !== null ? 1 : 0;
  return Object.values(rest).reduce<number>((sum, part) => sum + countMarks(part), own);
}
