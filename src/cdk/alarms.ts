import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IFilterPattern } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { BundledFunction } from './bundled-function.ts';
import {
  ofKeyHolder,
  ofLogs,
  retriedFor,
  type Tokens,
  waiting,
  withCode,
  withMessage,
} from './log-metrics.ts';
import type { Queues } from './queues.ts';

/** The parts that the alarms watch and the dashboard shows. */
export interface Watched {
  readonly queues: Queues;
  readonly worker: BundledFunction;
  readonly directWorker: BundledFunction | undefined;
  readonly expiry: BundledFunction;
  readonly tokens: Tokens;
  /** The deliveries and expiries that failed for want of a root key that a tenant holds: no alarm watches them. */
  readonly customerKeys: IMetric;
}

/** Codes that the worker logs when the API key fails (docs/worker.md, "Again, or not"). */
const API_KEY_CODES = [
  ...['authentication_error', 'permission_error', 'billing_error', 'not_found_error'],
  ...['http_401', 'http_402', 'http_403', 'api_key_unavailable'],
];
const NOT_EXPIRED = ['files of a tenant could not be expired', 'a message of the queue of expiry failed'];
const LONGEST_RUN = Duration.hours(12);
const FIVE_MINUTES = Duration.minutes(5);
const SELDOM = { evaluationPeriods: 6, datapointsToAlarm: 3 };
/** The part of the deliveries that is tried again from which on an alarm goes off. */
const RATE = { threshold: 0.5 };
/** The fewest retries in five minutes that make a rate: one turn alone is tried again three times in the first five. */
const FEWEST_RETRIES = 3;

/**
 * Makes the alarms for which an operator should be woken (docs/deployment.md, "Alarms"). Missing data raises no alarm.
 *
 * @param options.oldestMessage The wait of a turn from which on the workers do not keep up. The queue's own metric
 * leaves out turns that were received three times, so how long those wait is told by the log.
 * @param options.alarmTokensPerHour The input and output tokens of all tenants from which on an alarm goes off.
 */
export function createAlarms(
  scope: Construct,
  {
    watched,
    oldestMessage,
    alarmTokensPerHour,
    action,
  }: {
    readonly watched: Watched;
    readonly oldestMessage: Duration;
    readonly alarmTokensPerHour: number;
    readonly action?: IAlarmAction;
  },
): readonly Alarm[] {
  const { queues, worker, directWorker, expiry, tokens } = watched;
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
  const directAlarms = (direct: BundledFunction): readonly Alarm[] => [
    alarm(
      'DirectErrorsAlarm',
      new MathExpression({
        expression: 'errors - FILL(customers, 0)',
        usingMetrics: {
          errors: direct.run.metricErrors(sum),
          customers: ofLogs(scope, {
            functions: [direct],
            name: 'CustomerKeyErrors',
            pattern: withMessage('the function fails for want of a key that the tenant holds'),
          }),
        },
        period: FIVE_MINUTES,
        label: 'DirectErrors',
      }),
      'callers that wait got no answer five times in five minutes',
      {
        threshold: 5,
      },
    ),
    alarm(
      'DirectThrottlesAlarm',
      direct.run.metricThrottles(sum),
      'callers that wait were refused for want of room',
      SELDOM,
    ),
  ];
  const answered = ofLogs(scope, {
    functions: [worker],
    name: 'TurnsAnswered',
    pattern: withMessage('turn answered'),
  });
  const rateOf = (name: string, pattern: IFilterPattern): IMetric =>
    new MathExpression({
      expression: `IF(retried >= ${FEWEST_RETRIES}, retried / (retried + FILL(answered, 0)), 0)`,
      usingMetrics: { retried: ofLogs(scope, { functions: [worker], name, pattern }), answered },
      period: FIVE_MINUTES,
      label: name,
    });
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
      ofLogs(scope, { functions, name: 'IntegrityErrors', pattern: withCode('integrity') }),
      'a stored object is not what was sealed there: the bucket may have been tampered with',
    ),
    alarm(
      'ApiKeyAlarm',
      ofLogs(scope, { functions: runners, name: 'ApiKeyErrors', pattern: withCode(...API_KEY_CODES) }),
      'Claude refuses the API key, or its account may spend no more; turns wait',
    ),
    alarm(
      'ThrottlesAlarm',
      worker.run.metricThrottles(sum),
      'Lambda refused to start workers in three of the last six five-minute periods',
      SELDOM,
    ),
    alarm(
      'OldestTurnAlarm',
      queues.turns.metricApproximateAgeOfOldestMessage({ statistic: 'Maximum', period: FIVE_MINUTES }),
      'turns wait longer than they should',
      { threshold: oldestMessage.toSeconds() },
    ),
    alarm(
      'WaitingTurnsAlarm',
      ofLogs(scope, {
        functions: [worker],
        name: 'WaitedSeconds',
        pattern: waiting(),
        value: '$.waitedSeconds',
        statistic: 'Maximum',
      }),
      'turns are tried again and again: something does not work that they need',
      { threshold: oldestMessage.toSeconds() },
    ),
    alarm(
      'ClaudeRetriesAlarm',
      rateOf('ClaudeRetries', retriedFor('claude')),
      'half of the deliveries end without an answer: Claude refuses, is down, or does not come to an end',
      RATE,
    ),
    alarm(
      'CloudRetriesAlarm',
      rateOf('CloudRetries', retriedFor('cloud')),
      'half of the deliveries end without an answer: the store, a key, a role or the queue of replies does not work',
      RATE,
    ),
    alarm('WorkerAlarm', worker.run.metricErrors(sum), 'workers die, or cannot start', {
      evaluationPeriods: 2,
    }),
    alarm('ExpiryAlarm', expiry.run.metricErrors(sum), 'the expiry function failed'),
    alarm(
      'ExpiryTenantsAlarm',
      ofLogs(scope, {
        functions: [expiry],
        name: 'TenantsNotExpired',
        pattern: ofKeyHolder('operator', withMessage(...NOT_EXPIRED)),
      }),
      'the files of a tenant could not be expired',
    ),
    alarm(
      'ExpiryUnfinishedAlarm',
      queues.expiry.metricApproximateAgeOfOldestMessage({ statistic: 'Maximum', period: FIVE_MINUTES }),
      'a run of the expiry has tenants left after twelve hours',
      { threshold: LONGEST_RUN.toSeconds() },
    ),
    alarm(
      'TokensAlarm',
      new MathExpression({
        expression: 'input + output',
        usingMetrics: { input: tokens.input, output: tokens.output },
        period: Duration.hours(1),
        label: 'Tokens',
      }),
      'Claude takes and gives more tokens in an hour than expected',
      { threshold: alarmTokensPerHour },
    ),
    ...(directWorker === undefined ? [] : directAlarms(directWorker)),
  ];
}
