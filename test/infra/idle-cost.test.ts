import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Template } from './iam/template.ts';
import { synthesize } from './synthesized.ts';

/** List prices of us-east-1 in 2025, a month: those that docs/deployment.md names. */
const ALARM_METRIC = 0.1;
const DASHBOARD = 3;
const KMS_KEY = 1;
const SECRET = 0.4;
const SQS_REQUEST = 0.4 / 1_000_000;
/** Lambda polls a standard queue with five pollers, each of which waits for 20 s. */
const POLLS_OF_A_QUEUE = 5 * ((30 * 24 * 3_600) / 20);

const all = ({ Resources }: Template, type: string) =>
  Object.values(Resources).filter(({ Type }) => Type === type);

/** Answers what a stack costs in a month in which nothing runs, line by line. */
function idleCosts(template: Template): readonly number[] {
  const metrics = all(template, 'AWS::CloudWatch::Alarm').map(
    ({ Properties: { Metrics = [{ MetricStat: {} }] } }) =>
      (Metrics as readonly object[]).filter((each) => 'MetricStat' in each),
  );
  return [
    metrics.flat().length * ALARM_METRIC,
    all(template, 'AWS::CloudWatch::Dashboard').length * DASHBOARD,
    all(template, 'AWS::KMS::Key').length * KMS_KEY,
    all(template, 'AWS::SecretsManager::Secret').length * SECRET,
    all(template, 'AWS::Lambda::EventSourceMapping').length * POLLS_OF_A_QUEUE * SQS_REQUEST,
  ];
}

const sumOf = (costs: readonly number[]): number => costs.reduce((sum, each) => sum + each, 0);

describe('an idle stack', () => {
  const page = readFileSync('docs/deployment.md', 'utf8');
  const [, rows = ''] = /\| idle \| a month \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(page) ?? [];
  const told = [...rows.matchAll(/\$([0-9.]+)\*{0,2} \|$/gm)].map(({ 1: price }) => Number(price));
  const template = synthesize();

  it('costs what docs/deployment.md adds up', () => {
    const costs = idleCosts(template);
    expect(told).toEqual([...costs, sumOf(costs)].map((cost) => Number(cost.toFixed(2))));
    expect(rows).toContain(`${all(template, 'AWS::CloudWatch::Alarm').length} alarms on 16 metrics`);
  });

  it('has no more alarms than the estimate of a busy one counts', () => {
    const [alarms] = /(\d+) alarms, one dashboard/.exec(page)?.slice(1) ?? [];
    expect(Number(alarms)).toBe(all(template, 'AWS::CloudWatch::Alarm').length);
  });

  it('costs $3 less without a dashboard, of which there is no output then, and $1 without a key of the queues', () => {
    const bare = synthesize({ dashboard: 'false', queueKey: 'sqs' });
    expect(sumOf(idleCosts(template)) - sumOf(idleCosts(bare))).toBeCloseTo(4);
    expect(Object.keys(bare.Outputs ?? {})).not.toContain('DashboardName');
    expect(sumOf(idleCosts(synthesize({ direct: 'true' }))) - sumOf(idleCosts(template))).toBeCloseTo(0.3);
  });
});
