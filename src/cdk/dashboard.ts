import { Duration } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { Watched } from './alarms.ts';

const PERIOD = { period: Duration.minutes(5) };
const SUM = { ...PERIOD, statistic: 'Sum' };

/** Creates one page that shows if the alarms are quiet, if turns flow, and how long they take. */
export function createDashboard(
  scope: Construct,
  { watched, alarms }: { readonly watched: Watched; readonly alarms: readonly Alarm[] },
): Dashboard {
  const { queues, worker, directWorker, expiry, tokens, customerKeys } = watched;
  const maximum = { ...PERIOD, statistic: 'Maximum' };
  const graph = (title: string, ...left: IMetric[]) => new GraphWidget({ title, left, width: 8, height: 6 });
  return new Dashboard(scope, 'Dashboard', {
    defaultInterval: Duration.days(1),
    widgets: [
      [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 24, height: 3 })],
      [
        graph(
          'Turns',
          queues.turns.metricNumberOfMessagesSent(SUM),
          queues.turns.metricNumberOfMessagesDeleted(SUM),
          queues.replies.metricNumberOfMessagesSent(SUM),
        ),
        graph(
          'Waiting',
          queues.turns.metricApproximateNumberOfMessagesVisible(maximum),
          queues.turns.metricApproximateNumberOfMessagesNotVisible(maximum),
          queues.deadLetters.metricApproximateNumberOfMessagesVisible(maximum),
        ),
        graph('Oldest turn (s)', queues.turns.metricApproximateAgeOfOldestMessage(maximum)),
      ],
      [
        graph(
          'Worker duration (ms)',
          worker.run.metricDuration({ ...PERIOD, statistic: 'p50' }),
          worker.run.metricDuration({ ...PERIOD, statistic: 'p99' }),
        ),
        graph(
          'Worker',
          worker.run.metricInvocations(SUM),
          worker.run.metricErrors(SUM),
          worker.run.metricThrottles(SUM),
        ),
        graph('Expiry', expiry.run.metricInvocations(SUM), expiry.run.metricErrors(SUM)),
      ],
      [
        graph('Tokens', tokens.input, tokens.output),
        graph('Tenants to expire', queues.expiry.metricApproximateNumberOfMessagesVisible(maximum)),
        graph(
          'Keys of customers',
          customerKeys,
          ...(queues.customerDeadLetters === undefined
            ? []
            : [queues.customerDeadLetters.metricApproximateNumberOfMessagesVisible(maximum)]),
        ),
        ...(directWorker === undefined
          ? []
          : [
              graph(
                'Direct worker',
                directWorker.run.metricInvocations(SUM),
                directWorker.run.metricErrors(SUM),
                directWorker.run.metricThrottles(SUM),
              ),
            ]),
      ],
    ],
  });
}
