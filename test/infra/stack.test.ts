import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../src/errors.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { readExpiryConfig, readWorkerConfig } from '../../src/worker/settings.ts';
import { failureOf, KEY_REFUSED } from '../../src/worker/turn/delivery.ts';
import { ADMINISTRATOR, deploy, tenantSession } from './iam/deployment.ts';
import { onlyResource, type Template } from './iam/template.ts';
import { synthesize } from './synthesized.ts';

type Properties = Readonly<Record<string, unknown>>;

/** Every code of the library, of which the page has a row each. */
const ALL_CODES = [...readFileSync('docs/errors.md', 'utf8').matchAll(/^\| `(\w+)` \|/gm)].map(
  ([, code]) => code as MemoryErrorCode,
);

const template = synthesize({ prefix: 'memories', expireAfterDays: '90' });
const propertiesOf = (type: string, name: string, of: Template = template): Properties =>
  onlyResource(of, type, `Memory${name}`).properties;

/** The variables of a function, with a key id as KMS makes them. */
function environmentOf(name: string, of: Template = template): Readonly<Record<string, string>> {
  const { Environment } = propertiesOf('AWS::Lambda::Function', name, of);
  const { Variables } = Environment as { readonly Variables: Readonly<Record<string, string>> };
  const text = JSON.stringify(Variables).replace(
    /key\/Memory\w+/,
    'key/11111111-2222-3333-4444-555555555555',
  );
  return JSON.parse(text) as Readonly<Record<string, string>>;
}

describe('the bucket', () => {
  const properties = propertiesOf('AWS::S3::Bucket', 'Bucket');

  it('keeps old versions for a while and shuts out the public', () => {
    expect(properties['VersioningConfiguration']).toEqual({ Status: 'Enabled' });
    expect(properties['PublicAccessBlockConfiguration']).toEqual({
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    });
    expect(properties['OwnershipControls']).toEqual({ Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] });
  });

  it('drops old versions, their delete markers and aborted uploads', () => {
    expect(properties['LifecycleConfiguration']).toEqual({
      Rules: [
        { Id: 'OldVersions', Status: 'Enabled', NoncurrentVersionExpiration: { NoncurrentDays: 30 } },
        { Id: 'DeleteMarkers', Status: 'Enabled', ExpiredObjectDeleteMarker: true },
        {
          Id: 'AbortedUploads',
          Status: 'Enabled',
          AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
        },
      ],
    });
  });

  it('outlives the stack, as does the root key', () => {
    for (const [type, name] of [
      ['AWS::S3::Bucket', 'MemoryBucket'],
      ['AWS::KMS::Key', 'MemoryRootKey'],
    ] as const) {
      expect(template.Resources[onlyResource(template, type, name).id]).toMatchObject({
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
      });
    }
  });
});

describe('the root key', () => {
  it('is rotated every year and waits 30 days to be deleted', () => {
    expect(propertiesOf('AWS::KMS::Key', 'RootKey')).toMatchObject({
      EnableKeyRotation: true,
      RotationPeriodInDays: 365,
      PendingWindowInDays: 30,
    });
  });
});

describe('the table of the settings of tenants', () => {
  const OPERATOR = 'arn:aws:iam::111122223333:role/operator';
  const READING = ['GetItem', 'BatchGetItem', 'Query', 'Scan', 'PartiQLSelect'];
  const WRITING = ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'PartiQLInsert', 'PartiQLUpdate'];
  const of = synthesize({ tenantSettings: 'true', direct: 'true', operatorRoleArns: OPERATOR });
  const operator = { roleArn: OPERATOR, tags: {} };

  it('is made where it is asked for, on demand, encrypted, restorable, and outlives the stack', () => {
    const { id, properties } = onlyResource(of, 'AWS::DynamoDB::Table');
    expect(properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      SSESpecification: { SSEEnabled: true },
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      KeySchema: [{ AttributeName: 'tenant', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'tenant', AttributeType: 'S' }],
    });
    expect(of.Resources[id]).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
    expect(Object.values(template.Resources).map(({ Type }) => Type)).not.toContain('AWS::DynamoDB::Table');
    expect(environmentOf('Worker')).not.toHaveProperty('SEALED_MEMORY_TENANTS');
  });

  it('is what every function reads, item by item', () => {
    const { id } = onlyResource(of, 'AWS::DynamoDB::Table');
    for (const name of ['Worker', 'DirectWorker', 'Expiry']) {
      const env = environmentOf(name, of);
      expect(env['SEALED_MEMORY_TENANTS']).toBe(`dynamodb:${id}`);
      expect(optionsFromEnvironment(env)).toMatchObject({ tenants: `dynamodb:${id}` });
    }
    const cloud = deploy(of);
    for (const role of ['WorkerRole', 'ExpiryRole']) {
      const session = cloud.functionSession(role);
      const allowed = [...READING, ...WRITING].filter(
        (action) => cloud.table(session, `dynamodb:${action}`) === 'allowed',
      );
      expect(allowed).toEqual(['GetItem']);
    }
  });

  it('is written by operators alone: not by a tenant, a function, or an administrator', () => {
    const administrator = { roleArn: ADMINISTRATOR.roleArn, tags: {} };
    for (const operatorRoleArns of [OPERATOR, undefined]) {
      const each = synthesize({ tenantSettings: 'true', ...(operatorRoleArns && { operatorRoleArns }) });
      const cloud = deploy({ ...each, Resources: { ...each.Resources, ...ADMINISTRATOR.resources } });
      const others = [tenantSession(cloud, 'acme'), cloud.functionSession('WorkerRole'), administrator];
      for (const action of WRITING) {
        for (const session of others)
          expect(cloud.table(session, `dynamodb:${action}`), action).toBe('denied');
      }
      const written = WRITING.filter((action) => cloud.table(operator, `dynamodb:${action}`) === 'allowed');
      expect(written).toEqual(operatorRoleArns === undefined ? [] : ['UpdateItem', 'DeleteItem']);
      expect(cloud.table(tenantSession(cloud, 'acme'), 'dynamodb:GetItem')).toBe('not allowed');
    }
  });

  it('may be one that is there', () => {
    const arn = 'arn:aws:dynamodb:eu-central-1:111122223333:table/of-earlier';
    const adopted = synthesize({ tenantSettings: arn });
    expect(environmentOf('Worker', adopted)['SEALED_MEMORY_TENANTS']).toBe(`dynamodb:${arn}`);
    const cloud = deploy(adopted);
    const worker = cloud.functionSession('WorkerRole');
    expect(cloud.other(worker, 'dynamodb:GetItem', arn)).toBe('allowed');
    expect(cloud.other(worker, 'dynamodb:GetItem', `${arn}-2`)).toBe('not allowed');
    expect(() => synthesize({ tenantSettings: 'yes' })).toThrow('sealed-memory:tenantSettings');
  });
});

describe('a root key of the next generation', () => {
  it('is another key, which takes the place of the first', () => {
    const next = synthesize({ rootKeyGeneration: '2' });
    const [first, second] = [template, next].map(
      (each) => onlyResource(each, 'AWS::KMS::Key', 'MemoryRootKey').id,
    );
    expect(second).toMatch(/^MemoryRootKey2/);
    expect(second).not.toBe(first);
    expect(environmentOf('Worker', next)['SEALED_MEMORY_ROOT_KEY']).toMatch(/^aws-kms:[^,]+$/);
  });
});

describe.each([{ fifo: 'false' }, { fifo: 'true' }])('the queues, with fifo=$fifo', ({ fifo }) => {
  const of = synthesize({ fifo, timeoutSeconds: '600', tenantSettings: 'true' });
  const queue = (name: string) => propertiesOf('AWS::SQS::Queue', name, of);

  it('hide a message six times as long as its turn may take, and leave it to the worker when it is a dead letter', () => {
    expect(queue('Turns')).toMatchObject({ VisibilityTimeout: 3_600 });
    expect(queue('Turns')['RedrivePolicy']).toEqual({
      deadLetterTargetArn: `arn:aws:sqs:eu-central-1:111122223333:${onlyResource(of, 'AWS::SQS::Queue', 'MemoryDeadLetters').id}`,
      maxReceiveCount: fifo === 'true' ? 1_000 : 20,
    });
    expect(queue('DeadLetters')).toMatchObject({ MessageRetentionPeriod: 1_209_600 });
  });

  it('hold turns of customers who withhold their keys by themselves, where tenants have settings of their own', () => {
    expect(queue('CustomerDeadLetters')).toMatchObject({ MessageRetentionPeriod: 1_209_600 });
    const name = 'SEALED_MEMORY_WORKER_CUSTOMER_DEAD_LETTER_QUEUE_URL';
    expect(environmentOf('Worker', of)[name]).toMatch(/\/MemoryCustomerDeadLetters\w+$/);
    const plain = synthesize({ fifo });
    expect(JSON.stringify(plain)).not.toContain('CustomerDeadLetter');
    expect(environmentOf('Worker', plain)).not.toHaveProperty(name);
  });

  it('tell the worker how long they keep a turn', () => {
    expect(environmentOf('Worker', of)['SEALED_MEMORY_WORKER_QUEUE_RETENTION_SECONDS']).toBe('345600');
    expect(queue('Turns')).toMatchObject({ MessageRetentionPeriod: 345_600 });
  });

  it('lie encrypted under the key of the account, all of them', () => {
    const key = `arn:aws:kms:eu-central-1:111122223333:key/${onlyResource(of, 'AWS::KMS::Key', 'MemoryQueueKey').id}`;
    for (const name of ['Turns', 'DeadLetters', 'CustomerDeadLetters', 'Replies', 'ExpiryQueue']) {
      expect(queue(name), name).toMatchObject({ KmsMasterKeyId: key });
    }
  });

  it('are all of the kind asked for, but the one of the replies', () => {
    const kind = fifo === 'true' ? true : undefined;
    expect(queue('Turns')['FifoQueue']).toBe(kind);
    expect(queue('DeadLetters')['FifoQueue']).toBe(kind);
    expect(queue('CustomerDeadLetters')['FifoQueue']).toBe(kind);
    expect(queue('Replies')['FifoQueue']).toBeUndefined();
  });

  it('give the worker one message at a time, and take back what failed', () => {
    const mapping = propertiesOf('AWS::Lambda::EventSourceMapping', 'TurnsToWorker', of);
    expect(mapping).toEqual({
      BatchSize: 1,
      EventSourceArn: expect.stringMatching(/:MemoryTurns\w+$/),
      FunctionName: onlyResource(of, 'AWS::Lambda::Function', 'MemoryWorker').id,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 10 },
    });
  });
});

describe('the functions', () => {
  it.each([
    ['Worker', 'index.handler', 300],
    ['Expiry', 'index.expire', 900],
  ])('run the bundle on arm64 and Node 24: %s', (name, handler, timeout) => {
    expect(propertiesOf('AWS::Lambda::Function', name)).toMatchObject({
      Architectures: ['arm64'],
      Runtime: 'nodejs24.x',
      Handler: handler,
      Timeout: timeout,
      MemorySize: 512,
    });
  });

  it('are configured as the worker and the expiry function read it', () => {
    const worker = environmentOf('Worker');
    expect(optionsFromEnvironment(worker)).toMatchObject({
      store: expect.stringMatching(/^s3:\/\/.+\/memories$/),
      rootKey: ['aws-kms:arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555'],
    });
    expect(readWorkerConfig(worker)).toMatchObject({
      tenantRoleArn: expect.stringMatching(/role\/MemoryTenantRole/),
      queueUrl: expect.stringMatching(/MemoryTurns/),
      replyQueueUrl: expect.stringMatching(/MemoryReplies/),
      apiKeySecretArn: expect.stringMatching(/secret:MemoryApiKey/),
      reply: 'inline',
      maxTokens: 16_000,
    });
    const expiry = environmentOf('Expiry');
    expect(optionsFromEnvironment(expiry)).toMatchObject({
      store: expect.stringMatching(/^s3:\/\/.+\/memories$/),
    });
    expect(readExpiryConfig(expiry)).toMatchObject({
      expireDryRun: true,
      checkpoints: false,
      expiryQueueUrl: expect.stringMatching(/MemoryExpiryQueue/),
    });
    for (const env of [worker, expiry]) {
      expect(optionsFromEnvironment(env)).toMatchObject({ expireAfterDays: 90 });
    }
    expect(Object.keys(expiry).filter((name) => /API_KEY|(?<!EXPIRY_)QUEUE/.test(name))).toEqual([]);
  });

  it('unwrap with former root keys too, and wrap with the new one', () => {
    const former = 'arn:aws:kms:eu-central-1:111122223333:key/99999999-2222-3333-4444-555555555555';
    const { SEALED_MEMORY_ROOT_KEY: keys } = environmentOf(
      'Worker',
      synthesize({ formerRootKeyArns: former }),
    );
    expect(keys?.split(',')).toEqual([expect.stringMatching(/^aws-kms:.*key\/1{8}-/), `aws-kms:${former}`]);
  });

  it('include one for direct invocation where it is asked for', () => {
    const of = synthesize({ direct: 'true' });
    expect(propertiesOf('AWS::Lambda::Function', 'DirectWorker', of)).toMatchObject({
      Handler: 'index.invoke',
      ReservedConcurrentExecutions: 10,
    });
    expect(environmentOf('DirectWorker', of)).toEqual(environmentOf('Worker', of));
  });

  it('hand the tenants to expire out over a queue, to five of them at once', () => {
    expect(propertiesOf('AWS::Lambda::EventSourceMapping', 'TenantsToExpiry')).toEqual({
      BatchSize: 10,
      EventSourceArn: expect.stringMatching(/:MemoryExpiryQueue\w+$/),
      FunctionName: onlyResource(template, 'AWS::Lambda::Function', 'MemoryExpiry').id,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 5 },
    });
    expect(propertiesOf('AWS::SQS::Queue', 'ExpiryQueue')).toMatchObject({
      VisibilityTimeout: 5_400,
      MessageRetentionPeriod: 82_800,
    });
  });

  it('expire files once a day', () => {
    expect(propertiesOf('AWS::Events::Rule', 'ExpirySchedule')).toMatchObject({
      ScheduleExpression: 'cron(17 3 * * ? *)',
      State: 'ENABLED',
    });
  });
});

describe('the alarms', () => {
  const topic = 'arn:aws:sns:eu-central-1:111122223333:alarms';
  const of = synthesize({ alarmTopicArn: topic, direct: 'true' });
  const alarm = (name: string) => propertiesOf('AWS::CloudWatch::Alarm', `${name}Alarm`, of);

  const filtersOf = (name: string) =>
    Object.values(of.Resources).filter(({ Type, Properties }) => {
      return (
        Type === 'AWS::Logs::MetricFilter' && JSON.stringify(Properties).includes(`"MetricName":"${name}"`)
      );
    });

  it('go off at the first dead letter, integrity error and failed expiry', () => {
    expect(alarm('DeadLetters')).toMatchObject({
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Threshold: 1,
      EvaluationPeriods: 1,
      TreatMissingData: 'notBreaching',
    });
    expect(alarm('Integrity')).toMatchObject({
      Namespace: 'SealedMemory/SealedMemory/Memory',
      MetricName: 'IntegrityErrors',
      Threshold: 1,
    });
    expect(alarm('Expiry')).toMatchObject({ MetricName: 'Errors', Threshold: 1 });
  });

  it('go off when workers are throttled for long, or turns wait for long', () => {
    expect(alarm('Throttles')).toMatchObject({ MetricName: 'Throttles', DatapointsToAlarm: 3 });
    expect(alarm('OldestTurn')).toMatchObject({
      MetricName: 'ApproximateAgeOfOldestMessage',
      Threshold: 900,
    });
  });

  // Moto plays no metrics of logs and no alarms, and counts in a queue's age what SQS leaves out of it: a message that
  // was received three times. So the template is all that is looked at here.
  it('go off when turns are tried again for long, which the queue leaves out of its own metric', () => {
    expect(alarm('WaitingTurns')).toMatchObject({
      MetricName: 'WaitedSeconds',
      Statistic: 'Maximum',
      Threshold: 900,
      EvaluationPeriods: 1,
    });
    const filters = filtersOf('WaitedSeconds');
    expect(filters).toHaveLength(1);
    expect(filters[0]?.Properties).toMatchObject({
      FilterPattern:
        '{ (($.waitedSeconds >= 0) && ($.code != "tokens_per_day")) && ($.keyHolder NOT EXISTS) }',
      MetricTransformations: [{ MetricValue: '$.waitedSeconds' }],
    });
  });

  it.each([
    ['Claude', '$.code != "access_denied"', '$.code != "conversation_busy"', '$.afterSeconds > 0'],
    ['Cloud', '$.code = "access_denied"', '$.code = "unavailable"', '$.code = "key_unavailable"'],
  ])('go off within five minutes when half of the deliveries are retries, by code: %s', (name, ...parts) => {
    const { Metrics, ...told } = alarm(`${name}Retries`) as unknown as {
      readonly Metrics: readonly Record<string, unknown>[];
    };
    expect(told).toMatchObject({ Threshold: 0.5, EvaluationPeriods: 1, TreatMissingData: 'notBreaching' });
    expect(Metrics[0]).toMatchObject({
      Expression: 'IF(retried >= 3, retried / (retried + FILL(answered, 0)), 0)',
    });
    expect(Metrics.slice(1)).toMatchObject([
      { Id: 'retried', MetricStat: { Period: 300, Stat: 'Sum', Metric: { MetricName: `${name}Retries` } } },
      { Id: 'answered', MetricStat: { Period: 300, Stat: 'Sum', Metric: { MetricName: 'TurnsAnswered' } } },
    ]);
    const [filter, ...others] = filtersOf(`${name}Retries`);
    expect(others).toEqual([]);
    for (const part of ['$.message = "turn will be retried"', ...parts]) {
      expect(filter?.Properties['FilterPattern']).toContain(part);
    }
  });

  /** The codes that the pattern of a filter names behind a sign. */
  const codesIn = (name: string, sign: '=' | '!='): readonly string[] => {
    const pattern = String(filtersOf(name)[0]?.Properties['FilterPattern']);
    return [...pattern.matchAll(/\$\.code (!?=) "(\w+)"/g)].flatMap(([, found, code = '']) =>
      found === sign ? [code] : [],
    );
  };

  it('know by its code what holds up the worker, as the worker judges it', () => {
    const conditions = ALL_CODES.filter((code) => {
      const delivery = failureOf(new MemoryError(code, ''), undefined);
      return delivery.state === 'later' && delivery.isCondition;
    });
    expect(conditions.length).toBeGreaterThan(3);
    expect(codesIn('CloudRetries', '=').toSorted()).toEqual(conditions.toSorted());
    expect(codesIn('ClaudeRetries', '!=')).toEqual(expect.arrayContaining(conditions));
  });

  it('take for a wrong key what the worker takes for one', () => {
    const told = codesIn('ApiKeyErrors', '=');
    const asked = [...KEY_REFUSED, 'not_found_error', 'api_key_unavailable'];
    expect(told.toSorted()).toEqual(asked.toSorted());
  });

  it('go off when workers die, of which no line of theirs can tell', () => {
    expect(alarm('Worker')).toMatchObject({ MetricName: 'Errors', Threshold: 1, EvaluationPeriods: 2 });
  });

  it('go off when tenants are not expired, or not all of them by noon', () => {
    expect(alarm('ExpiryTenants')).toMatchObject({ MetricName: 'TenantsNotExpired', Threshold: 1 });
    const [filter, ...others] = filtersOf('TenantsNotExpired');
    expect(others).toEqual([]);
    expect(filter?.Properties['FilterPattern']).toContain('files of a tenant could not be expired');
    expect(alarm('ExpiryUnfinished')).toMatchObject({
      MetricName: 'ApproximateAgeOfOldestMessage',
      Threshold: 43_200,
    });
  });

  it('go off when callers that wait get no answers, or no room', () => {
    const { Metrics, Threshold } = alarm('DirectErrors');
    expect(Threshold).toBe(5);
    expect(Metrics).toMatchObject([
      { Expression: 'errors - FILL(customers, 0)' },
      { Id: 'errors', MetricStat: { Metric: { MetricName: 'Errors' } } },
      { Id: 'customers', MetricStat: { Metric: { MetricName: 'CustomerKeyErrors' } } },
    ]);
    expect(alarm('DirectThrottles')).toMatchObject({ MetricName: 'Throttles', DatapointsToAlarm: 3 });
  });

  it('go off when more tokens are taken in an hour than expected, by the sums of what is logged', () => {
    expect(alarm('Tokens')).toMatchObject({ Threshold: 5_000_000 });
    expect(JSON.stringify(alarm('Tokens')['Metrics'])).toContain('input + output');
    for (const [name, value] of [
      ['InputTokens', '$.inputTokens'],
      ['OutputTokens', '$.outputTokens'],
    ] as const) {
      const filters = filtersOf(name);
      expect(filters).toHaveLength(2);
      for (const { Properties } of filters) {
        expect(Properties['FilterPattern']).toBe(`{ ${value} > 0 }`);
        expect(Properties['MetricTransformations']).toMatchObject([{ MetricName: name, MetricValue: value }]);
      }
    }
  });

  it('tell the topic, when they go off and when it is over', () => {
    for (const name of [
      ...['DeadLetters', 'Integrity', 'ApiKey', 'Expiry', 'ExpiryTenants', 'ExpiryUnfinished', 'Tokens'],
      ...[
        'Throttles',
        'OldestTurn',
        'WaitingTurns',
        'ClaudeRetries',
        'CloudRetries',
        'Worker',
        'DirectErrors',
        'DirectThrottles',
      ],
    ]) {
      expect(alarm(name)).toMatchObject({ AlarmActions: [topic], OKActions: [topic] });
    }
  });

  it('go off when Claude refuses the key, by the log of each function that runs turns', () => {
    expect(alarm('ApiKey')).toMatchObject({ MetricName: 'ApiKeyErrors', Threshold: 1 });
    const filters = filtersOf('ApiKeyErrors');
    expect(filters).toHaveLength(2);
    for (const { Properties } of filters) {
      for (const code of [
        'authentication_error',
        'permission_error',
        'billing_error',
        'api_key_unavailable',
      ]) {
        expect(Properties['FilterPattern']).toContain(`$.code = "${code}"`);
      }
    }
  });

  it('count the integrity errors of every log of a function', () => {
    const filters = filtersOf('IntegrityErrors');
    expect(filters).toHaveLength(3);
    for (const { Properties } of filters) {
      expect(Properties['FilterPattern']).toBe('{ $.code = "integrity" }');
      expect(Properties['MetricTransformations']).toEqual([
        expect.objectContaining({
          MetricNamespace: 'SealedMemory/SealedMemory/Memory',
          MetricName: 'IntegrityErrors',
        }),
      ]);
    }
  });
});
