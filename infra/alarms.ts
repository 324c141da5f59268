import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { BundledFunction } from './bundled-function.ts';
import type { Queues } from './queues.ts';

/** What the alarms watch and the dashboard shows. */
export interface Watched {
  readonly queues: Queues;
  readonly worker: BundledFunction;
  readonly directWorker: BundledFunction | undefined;
  readonly expiry: BundledFunction;
}

const FIVE_MINUTES = Duration.minutes(5);

/**
 * What an operator should be woken for (docs/deployment.md, "Alarms"). No data is no alarm.
 *
 * @param options.oldestMessage A turn that waits longer means that the workers do not keep up.
 */
export function createAlarms(
  scope: Construct,
  {
    watched,
    oldestMessage,
    action,
  }: {
    readonly watched: Watched;
    readonly oldestMessage: Duration;
    readonly action?: IAlarmAction;
  },
): readonly Alarm[] {
  const { queues, worker, directWorker, expiry } = watched;
  const functions = [worker, directWorker, expiry].filter((each) => each !== undefined);
  const sum = { statistic: 'Sum', period: FIVE_MINUTES };
  const alarm = (
    id: string,
    metric: IMetric,
    description: string,
    props: Partial<AlarmProps> = {},
  ): Alarm => {
    const made = new Alarm(scope, id, {
      metric,
      alarmDescription: `sealed-memory: ${description}`,
      threshold: 1,
      evaluationPeriods: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...props,
    });
    if (action !== undefined) {
      made.addAlarmAction(action);
      made.addOkAction(action);
    }
    return made;
  };
  return [
    alarm(
      'DeadLettersAlarm',
      queues.deadLetters.metricApproximateNumberOfMessagesVisible({
        statistic: 'Maximum',
        period: Duration.minutes(1),
      }),
      'turns that cannot succeed wait in the dead-letter queue',
    ),
    alarm(
      'IntegrityAlarm',
      integrityErrors(scope, functions),
      'a stored object is not what was sealed there: the bucket may have been tampered with',
    ),
    alarm(
      'ThrottlesAlarm',
      worker.run.metricThrottles(sum),
      'Lambda refused to start workers in three of the last six five-minute periods',
      { evaluationPeriods: 6, datapointsToAlarm: 3 },
    ),
    alarm(
      'OldestTurnAlarm',
      queues.turns.metricApproximateAgeOfOldestMessage({ statistic: 'Maximum', period: FIVE_MINUTES }),
      'turns wait longer than they should',
      { threshold: oldestMessage.toSeconds() },
    ),
    alarm('ExpiryAlarm', expiry.run.metricErrors(sum), 'the expiry function failed'),
  ];
}

/** Counts the log lines of failures with the code `integrity`. */
function integrityErrors(scope: Construct, functions: readonly BundledFunction[]): IMetric {
  const named = {
    namespace: `SealedMemory/${Stack.of(scope).stackName}/${scope.node.id}`,
    metricName: 'IntegrityErrors',
  };
  for (const { logs: logGroup } of functions) {
    new MetricFilter(logGroup, 'IntegrityErrors', {
      logGroup,
      filterPattern: FilterPattern.stringValue('$.code', '=', 'integrity'),
      metricNamespace: named.namespace,
      metricName: named.metricName,
      metricValue: '1',
    });
  }
  return new Metric({ ...named, statistic: 'Sum', period: FIVE_MINUTES });
}
