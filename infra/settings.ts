import { Duration } from 'aws-cdk-lib';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { checkBounds } from '../src/cdk/bounds.ts';
import type { SealedMemoryProps } from '../src/cdk/sealed-memory-props.ts';
import { checkSettings, SETTINGS } from '../src/cdk/worker-settings.ts';

type Settings = Omit<SealedMemoryProps, 'bundle'>;
type Reader = (text: string, scope: Construct) => Settings;

const NAMESPACE = 'sealed-memory:';

/** Readers of what the functions are told, by the table of the construct. */
const TOLD = Object.entries(SETTINGS).map(([name, { form }]): readonly [string, Reader] => [
  name,
  (text) => ({ [name]: form === 'number' ? number(text) : form === 'flag' ? flag(text) : text }),
]);

/** Readers of the settings, named as in docs/deployment.md, "Settings"; lists are comma separated. */
const READERS: Readonly<Record<string, Reader>> = {
  ...Object.fromEntries(TOLD),
  entry: (text) => ({ entry: text }),
  prefix: (text) => ({ prefix: text }),
  timeoutSeconds: (text) => ({ timeout: Duration.seconds(count(text)) }),
  memorySize: (text) => ({ memorySize: count(text) }),
  maxConcurrency: (text) => ({ maxConcurrency: count(text) }),
  fifo: (text) => ({ fifo: flag(text) }),
  direct: (text) => ({ direct: flag(text) }),
  directConcurrency: (text) => ({ directConcurrency: count(text) }),
  noncurrentDays: (text) => ({ noncurrentDays: count(text) }),
  oldestMessageMinutes: (text) => ({ oldestMessage: Duration.minutes(count(text)) }),
  alarmTokensPerHour: (text) => ({ alarmTokensPerHour: count(text) }),
  alarmTopicArn: (text, scope) => ({
    alarmAction: new SnsAction(Topic.fromTopicArn(scope, 'AlarmTopic', text)),
  }),
  operatorRoleArns: (text) => ({ operatorRoleArns: list(text) }),
  tenantSettings: (text, scope) => ({
    tenantSettings: text.startsWith('arn:')
      ? Table.fromTableArn(scope, 'GivenTenantSettings', text)
      : flag(text),
  }),
  customerKeyArns: (text) => ({ customerKeyArns: list(text) }),
  adoptedBucketName: (text) => ({ adoptedBucketName: text }),
  rootKeyArn: (text, scope) => ({ rootKey: Key.fromKeyArn(scope, 'GivenRootKey', text) }),
  queueKey: (text, scope) => ({
    queueKey: text === 'sqs' ? 'sqs' : Key.fromKeyArn(scope, 'GivenQueueKey', text),
  }),
  accountKeyArn: (text, scope) => ({ accountKey: Key.fromKeyArn(scope, 'GivenAccountKey', text) }),
  dashboard: (text) => ({ dashboard: flag(text) }),
  permissionsBoundaryArn: (text, scope) => ({
    permissionsBoundary: ManagedPolicy.fromManagedPolicyArn(scope, 'PermissionsBoundary', text),
  }),
  rootKeyGeneration: (text) => ({ rootKeyGeneration: count(text) }),
  formerRootKeyArns: (text) => ({ formerRootKeyArns: list(text) }),
};

/**
 * Reads the settings of a deployment from the context: `cdk deploy -c sealed-memory:fifo=true`.
 *
 * @throws RangeError for a name under `sealed-memory:` that is no setting, and for a malformed value.
 */
export function readSettings(scope: Construct): Settings {
  const context: Readonly<Record<string, unknown>> = scope.node.getAllContext();
  const given = Object.entries(context).filter(([name]) => name.startsWith(NAMESPACE));
  const settings = given.map(([name, value]) => {
    const read = READERS[name.slice(NAMESPACE.length)];
    if (read === undefined) {
      throw new RangeError(`${name} is not a setting. The settings are ${Object.keys(READERS).join(', ')}.`);
    }
    try {
      const setting = read(String(value), scope);
      checkBounds(numbersOf(name, setting));
      checkSettings(setting);
      return setting;
    } catch (error) {
      throw new RangeError(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  });
  return Object.assign({}, ...settings) as Settings;
}

/** Answers the number under the setting's own name, which tells the unit of a duration. */
function numbersOf(name: string, setting: Settings): Readonly<Record<string, number | undefined>> {
  const { timeout, oldestMessage, ...rest } = setting;
  const value = timeout?.toSeconds() ?? oldestMessage?.toMinutes() ?? Object.values(rest)[0];
  return typeof value === 'number' ? { [name.slice(NAMESPACE.length)]: value } : {};
}

function count(text: string): number {
  if (!/^[1-9]/.test(text)) throw new RangeError('must be a whole number above 0');
  return number(text);
}

function number(text: string): number {
  if (!/^(0|[1-9][0-9]{0,14})$/.test(text)) throw new RangeError('must be a whole number');
  return Number(text);
}

function flag(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new RangeError('must be true or false');
  return text === 'true';
}

function list(text: string): readonly string[] {
  return text.split(',').map((each) => each.trim());
}
