import { Duration, Stack } from 'aws-cdk-lib';
import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, type IFilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { BundledFunction } from './bundled-function.ts';

/** Lines that the functions log (docs/worker.md, "Log"), as a metric of sums over five minutes. */
interface LogMetric {
  readonly functions: readonly BundledFunction[];
  readonly name: string;
  readonly pattern: IFilterPattern;
  /** A field of the line whose values are summed, such as `$.inputTokens`; absent: lines are counted. */
  readonly value?: string;
}

/** Matches lines with one of these codes. */
export function withCode(...codes: readonly string[]): IFilterPattern {
  return FilterPattern.any(...codes.map((code) => FilterPattern.stringValue('$.code', '=', code)));
}

export function withMessage(...messages: readonly string[]): IFilterPattern {
  return FilterPattern.any(...messages.map((text) => FilterPattern.stringValue('$.message', '=', text)));
}

/** Matches turns that will be tried again and were sent at least `seconds` ago, unless they have the code `butFor`. */
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

/** Makes the sums of Claude's input and output tokens, from every line that ends a delivery, whatever its outcome. */
export function tokensOf(scope: Construct, functions: readonly BundledFunction[]): Tokens {
  const sum = (name: string, value: string): IMetric =>
    sumOfLogs(scope, { functions, name, value, pattern: FilterPattern.numberValue(value, '>', 0) });
  return { input: sum('InputTokens', '$.inputTokens'), output: sum('OutputTokens', '$.outputTokens') };
}
