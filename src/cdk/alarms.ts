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

/** As the worker logs them (docs/worker.md, "Again, or not"). */
const API_KEY_CODES = [
  ...['authentication_error', 'permission_error', 'billing_error', 'not_found_error'],
  ...['http_401', 'http_402', 'http_403', 'api_key_unavailable'],
];
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
  const runners = [worker, directWorker].filter((each) => each !== undefined);
  const functions = [...runners, expiry];
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
      countCodes(scope, { functions, name: 'IntegrityErrors', codes: ['integrity'] }),
      'a stored object is not what was sealed there: the bucket may have been tampered with',
    ),
    alarm(
      'ApiKeyAlarm',
      countCodes(scope, { functions: runners, name: 'ApiKeyErrors', codes: API_KEY_CODES }),
      'Claude refuses the API key, or its account may spend no more; turns wait',
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

/** Counts the log lines with one of these codes. */
function countCodes(
  scope: Construct,
  {
    functions,
    name,
    codes,
  }: {
    readonly functions: readonly BundledFunction[];
    readonly name: string;
    readonly codes: readonly string[];
  },
): IMetric {
  const named = {
    namespace: `SealedMemory/${Stack.of(scope).stackName}/${scope.node.id}`,
    metricName: name,
  };
  for (const { logs: logGroup } of functions) {
    new MetricFilter(logGroup, name, {
      logGroup,
      filterPattern: FilterPattern.any(
        ...codes.map((code) => FilterPattern.stringValue('$.code', '=', code)),
      ),
      metricNamespace: named.namespace,
      metricName: named.metricName,
      metricValue: '1',
    });
  }
  return new Metric({ ...named, statistic: 'Sum', period: FIVE_MINUTES });
}
