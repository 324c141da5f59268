import { Duration, Stack } from 'aws-cdk-lib';
import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, type IFilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { BundledFunction } from './bundled-function.ts';

/** What the functions log (docs/worker.md, "Log"), as sums of five minutes. */
interface LogMetric {
  readonly functions: readonly BundledFunction[];
  readonly name: string;
  readonly pattern: IFilterPattern;
  /** A field of the line whose values are summed, such as `$.inputTokens`; without one lines are counted. */
  readonly value?: string;
}

/** Lines with one of these codes. */
export function withCode(...codes: readonly string[]): IFilterPattern {
  return FilterPattern.any(...codes.map((code) => FilterPattern.stringValue('$.code', '=', code)));
}

export function withMessage(...messages: readonly string[]): IFilterPattern {
  return FilterPattern.any(...messages.map((text) => FilterPattern.stringValue('$.message', '=', text)));
}

/** Turns that will be tried again and were sent so long ago, unless they have this code. */
export function waitedFor(seconds: number, { butFor }: { readonly butFor: string }): IFilterPattern {
  return FilterPattern.all(
    FilterPattern.numberValue('$.waitedSeconds', '>=', seconds),
    FilterPattern.stringValue('$.code', '!=', butFor),
  );
}

export function sumOfLogs(scope: Construct, { functions, name, pattern, value }: LogMetric): IMetric {
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
  return new Metric({ ...named, statistic: 'Sum', period: Duration.minutes(5) });
}

export interface Tokens {
  readonly input: IMetric;
  readonly output: IMetric;
}

/** What Claude took and gave, by every line that ends a delivery, whatever came of it. */
export function tokensOf(scope: Construct, functions: readonly BundledFunction[]): Tokens {
  const sum = (name: string, value: string): IMetric =>
    sumOfLogs(scope, { functions, name, value, pattern: FilterPattern.numberValue(value, '>', 0) });
  return { input: sum('InputTokens', '$.inputTokens'), output: sum('OutputTokens', '$.outputTokens') };
}
