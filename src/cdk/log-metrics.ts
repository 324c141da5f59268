import { Duration, Stack } from 'aws-cdk-lib';
import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, type IFilterPattern, type JsonPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { BundledFunction } from './bundled-function.ts';

/** Lines that the functions log (docs/worker.md, "Log"), as a metric over five minutes, of sums unless it says other. */
interface LogMetric {
  readonly functions: readonly BundledFunction[];
  readonly name: string;
  readonly pattern: IFilterPattern;
  /** A field of the line whose values count, such as `$.inputTokens`; absent: lines are counted. */
  readonly value?: string;
  readonly statistic?: 'Maximum';
}

/** Matches lines with one of these codes. */
export function withCode(...codes: readonly string[]): JsonPattern {
  return FilterPattern.any(...codes.map((code) => FilterPattern.stringValue('$.code', '=', code)));
}

export function withMessage(...messages: readonly string[]): JsonPattern {
  return FilterPattern.any(...messages.map((text) => FilterPattern.stringValue('$.message', '=', text)));
}

/** Codes of turns that wait as they should: for their next day, for one another, or for another worker. */
const QUIET_CODES = ['tokens_per_day', 'tokens_reserved', 'conversation_busy', 'running', 'taken_over'];
/** Codes of what the worker needs besides Claude (docs/worker.md, "Again, or not"). */
const CLOUD_CODES = ['unavailable', 'timeout', 'outcome_unknown', 'access_denied', 'key_unavailable'];
const RETRIED = withMessage('turn will be retried');

/** Narrows a pattern to failures of root keys that the settings of a tenant name, or to everything else. */
export function ofKeyHolder(holder: 'tenant' | 'operator', pattern: JsonPattern): IFilterPattern {
  return FilterPattern.all(
    pattern,
    holder === 'tenant'
      ? FilterPattern.stringValue('$.keyHolder', '=', holder)
      : FilterPattern.notExists('$.keyHolder'),
  );
}

/**
 * Matches turns of a queue that will be tried again, but for those that wait for their tenant's next day, or for a key
 * that their tenant holds.
 */
export function waiting(): IFilterPattern {
  return ofKeyHolder(
    'operator',
    FilterPattern.all(
      FilterPattern.numberValue('$.waitedSeconds', '>=', 0),
      FilterPattern.stringValue('$.code', '!=', 'tokens_per_day'),
    ),
  );
}

/**
 * Matches turns that will be tried again, by what they wait for: the worker's cloud, or by any other code Claude. A turn
 * that came further is tried again at once, and matches neither.
 */
export function retriedFor(what: 'claude' | 'cloud'): IFilterPattern {
  const others = [...QUIET_CODES, ...CLOUD_CODES].map((code) =>
    FilterPattern.stringValue('$.code', '!=', code),
  );
  return what === 'cloud'
    ? ofKeyHolder('operator', FilterPattern.all(RETRIED, withCode(...CLOUD_CODES)))
    : FilterPattern.all(RETRIED, FilterPattern.numberValue('$.afterSeconds', '>', 0), ...others);
}

export function ofLogs(scope: Construct, { functions, name, pattern, value, statistic }: LogMetric): IMetric {
  const named = {
    namespace: `SealedMemory/${Stack.of(scope).stackName}/${scope.node.id}`,
    metricName: name,
  };
  for (const { logs: logGroup } of functions) {
    new MetricFilter(logGroup, name, {
      logGroup,
      filterPattern: pattern,
      metricNamespace: named.namespace,
      metricName: named.metricName,
      metricValue: value ?? '1',
    });
  }
  return new Metric({ ...named, statistic: statistic ?? 'Sum', period: Duration.minutes(5) });
}

export interface Tokens {
  readonly input: IMetric;
  readonly output: IMetric;
}

/** Makes the sums of Claude's input and output tokens, from every line that ends a delivery, whatever its outcome. */
export function tokensOf(scope: Construct, functions: readonly BundledFunction[]): Tokens {
  const sum = (name: string, value: string): IMetric =>
    ofLogs(scope, { functions, name, value, pattern: FilterPattern.numberValue(value, '>', 0) });
  return { input: sum('InputTokens', '$.inputTokens'), output: sum('OutputTokens', '$.outputTokens') };
}

/** Makes the number of deliveries and expiries that failed for want of a root key that the settings of a tenant name. */
export function customerKeysOf(scope: Construct, functions: readonly BundledFunction[]): IMetric {
  const pattern = ofKeyHolder(
    'tenant',
    withMessage('turn will be retried', 'files of a tenant could not be expired'),
  );
  return ofLogs(scope, { functions, name: 'CustomerKeyUnavailable', pattern });
}
