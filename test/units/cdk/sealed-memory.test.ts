import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Aspects, CfnParameter, Duration, Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { type IVpc, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import {
  BlockPublicAccess,
  Bucket,
  type BucketProps,
  type CfnBucket,
  type IBucket,
} from 'aws-cdk-lib/aws-s3';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SealedMemory, type SealedMemoryProps } from '../../../src/cdk/index.ts';
import { onlyResource, resolveValue, type Template } from '../../infra/iam/template.ts';
import { synthesize } from '../../infra/synthesized.ts';

const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/22222222-2222-3333-4444-555555555555';

let bundle = '';
beforeAll(() => {
  bundle = mkdtempSync(join(tmpdir(), 'sealed-memory-bundle-'));
  writeFileSync(join(bundle, 'index.mjs'), 'export const handler = () => {};\n');
});
afterAll(() => rmSync(bundle, { recursive: true }));

/** The template of a stack with a memory, and what the synthesis warned of. */
function synthesizeWith(props: (stack: Stack) => SealedMemoryProps): {
  readonly template: Template;
  readonly warnings: readonly string[];
  readonly memory: SealedMemory;
} {
  const app = new App();
  const stack = new Stack(app, 'Theirs');
  const memory = new SealedMemory(stack, 'Memory', { bundle, ...props(stack) });
  const template = app.synth().getStackByName('Theirs').template as Template;
  const warnings = Annotations.fromStack(stack)
    .findWarning('*', Match.anyValue())
    .map(({ entry }) => String(entry.data));
  return { template, warnings, memory };
}

const bucketOf = (stack: Stack, props: BucketProps): Bucket => new Bucket(stack, 'Bucket', props);

const typesOf = ({ Resources }: Template): readonly string[] =>
  Object.values(Resources).map(({ Type }) => Type);

const sidsOf = (statements: unknown): readonly unknown[] =>
  (statements as readonly { readonly Sid?: string }[]).flatMap(({ Sid }) => Sid ?? []);

describe('SealedMemory, in a stack with things of its own', { timeout: 60_000 }, () => {
  it('writes into the policies of a bucket and of keys of the stack', () => {
    const { template, warnings } = synthesizeWith((stack) => ({
      bucket: new Bucket(stack, 'Bucket', { versioned: true }) as IBucket,
      rootKey: new Key(stack, 'Key'),
      queueKey: new Key(stack, 'Queues'),
    }));
    expect(warnings).toEqual([]);
    expect(typesOf(template).filter((type) => type === 'AWS::S3::Bucket')).toHaveLength(1);
    const policy = onlyResource(template, 'AWS::S3::BucketPolicy').properties['PolicyDocument'];
    expect(sidsOf((policy as { readonly Statement: unknown }).Statement)).toEqual([
      'TenantRoleStaysWithItsTenant',
      'TenantRoleListsItsTenant',
      'TenantRoleWritesUnderPreconditions',
    ]);
    for (const [name, sid] of [
      ['Key', 'TenantRoleUsesOwnContext'],
      ['Queues', 'AccountUsesThroughQueues'],
    ] as const) {
      const key = onlyResource(template, 'AWS::KMS::Key', name).properties['KeyPolicy'];
      expect(sidsOf((key as { readonly Statement: unknown }).Statement)).toEqual([sid]);
    }
  });

  it('says which policies of a bucket and of keys from elsewhere are to be written by hand', () => {
    const { template, warnings } = synthesizeWith((stack) => ({
      bucket: Bucket.fromBucketName(stack, 'Bucket', 'of-another-team'),
      rootKey: Key.fromKeyArn(stack, 'Key', KEY),
      queueKey: Key.fromKeyArn(stack, 'Queues', KEY),
    }));
    expect(warnings.map((text) => /docs\/iam\/[\w-]+\.json|not be checked/.exec(text)?.[0]).sort()).toEqual([
      'docs/iam/bucket.json',
      'docs/iam/queue-key.json',
      'docs/iam/root-key.json',
      'not be checked',
    ]);
    expect(typesOf(template)).not.toContain('AWS::S3::Bucket');
    expect(typesOf(template)).not.toContain('AWS::S3::BucketPolicy');
  });

  describe('warns of a bucket that', () => {
    const VERSIONS = 'keeps no versions';
    const PUBLIC = 'may be public';
    const UNCHECKED = 'could not be checked';
    const ALL = {
      blockPublicAcls: true,
      blockPublicPolicy: true,
      ignorePublicAcls: true,
      restrictPublicBuckets: true,
    };
    const partly = (open: keyof typeof ALL): BlockPublicAccess =>
      new BlockPublicAccess({ ...ALL, [open]: false });
    const { BLOCK_ALL, BLOCK_ACLS_ONLY } = BlockPublicAccess;
    const resourceOf = (bucket: Bucket): CfnBucket => bucket.node.defaultChild as CfnBucket;

    it.each<[string, readonly string[], (stack: Stack) => Bucket | IBucket]>([
      [
        'is as it should be',
        [],
        (stack) => bucketOf(stack, { versioned: true, blockPublicAccess: BLOCK_ALL }),
      ],
      ['leaves it to S3 to block public access', [], (stack) => bucketOf(stack, { versioned: true })],
      ['keeps none, by default', [VERSIONS], (stack) => bucketOf(stack, {})],
      [
        'keeps none',
        [VERSIONS],
        (stack) => bucketOf(stack, { versioned: false, blockPublicAccess: BLOCK_ALL }),
      ],
      [
        'keeps no more',
        [VERSIONS],
        (stack) => {
          const bucket = bucketOf(stack, { versioned: true });
          resourceOf(bucket).versioningConfiguration = { status: 'Suspended' };
          return bucket;
        },
      ],
      ...(['blockPublicAcls', 'blockPublicPolicy', 'ignorePublicAcls', 'restrictPublicBuckets'] as const).map(
        (name): [string, readonly string[], (stack: Stack) => Bucket] => [
          `leaves out ${name}`,
          [PUBLIC],
          (stack) => bucketOf(stack, { versioned: true, blockPublicAccess: partly(name) }),
        ],
      ),
      [
        'blocks access lists alone',
        [PUBLIC],
        (stack) => bucketOf(stack, { versioned: true, blockPublicAccess: BLOCK_ACLS_ONLY }),
      ],
      [
        'everybody reads',
        [VERSIONS, PUBLIC],
        (stack) => {
          const blockPublicAccess = partly('blockPublicPolicy');
          return bucketOf(stack, { publicReadAccess: true, blockPublicAccess });
        },
      ],
      [
        'is decided at deployment',
        [UNCHECKED],
        (stack) => {
          const bucket = bucketOf(stack, { versioned: true });
          const status = new CfnParameter(stack, 'Versions').valueAsString;
          resourceOf(bucket).versioningConfiguration = { status };
          return bucket;
        },
      ],
      ['is known by its name alone', [UNCHECKED], (stack) => Bucket.fromBucketName(stack, 'Named', 'team')],
    ])('%s: %j', (_, expected, bucket) => {
      const { warnings } = synthesizeWith((stack) => ({ bucket: bucket(stack) as IBucket }));
      const told = warnings.filter((text) => !text.includes('docs/iam'));
      expect(told.map((text) => [VERSIONS, PUBLIC, UNCHECKED].find((each) => text.includes(each)))).toEqual(
        expected,
      );
    });

    it('is put right behind the construct, no more', () => {
      const { warnings } = synthesizeWith((stack) => {
        const bucket = bucketOf(stack, {});
        Aspects.of(stack).add({
          visit(node) {
            if (node === bucket.node.defaultChild) {
              (node as CfnBucket).versioningConfiguration = { status: 'Enabled' };
            }
          },
        });
        return { bucket: bucket as IBucket };
      });
      expect(warnings).toEqual([]);
    });

    it('is its own, or left by an earlier stack, never', () => {
      expect(synthesizeWith(() => ({})).warnings).toEqual([]);
      expect(synthesizeWith(() => ({ adoptedBucketName: 'of-earlier' })).warnings).toEqual([]);
    });
  });

  it('takes a key for its queues, or leaves them to SQS', () => {
    const { template } = synthesizeWith((stack) => ({ queueKey: Key.fromKeyArn(stack, 'Key', KEY) }));
    const queue = (of: Template) => onlyResource(of, 'AWS::SQS::Queue', 'MemoryTurns').properties;
    expect(queue(template)['KmsMasterKeyId']).toBe(KEY);
    const { template: without, memory } = synthesizeWith(() => ({ queueKey: 'sqs' }));
    expect(memory.queueKey).toBeUndefined();
    expect(queue(without)).toMatchObject({ SqsManagedSseEnabled: true });
    expect(JSON.stringify(without)).not.toContain('UseQueueKey');
  });

  it('lets a role send turns, with the permission on the key that this takes', () => {
    const app = new App();
    const stack = new Stack(app, 'Sending');
    const sender = new Role(stack, 'Sender', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    new SealedMemory(stack, 'Memory', { bundle }).queues.turns.grantSendMessages(sender);
    const sending = app.synth().getStackByName('Sending').template as Template;
    const policy = JSON.stringify(onlyResource(sending, 'AWS::IAM::Policy', 'Sender').properties);
    for (const action of ['sqs:SendMessage', 'kms:Decrypt', 'kms:GenerateDataKey']) {
      expect(policy).toContain(action);
    }
  });

  it('reads a secret that is known by its name alone, and one under a key of its own', () => {
    const statementsOf = (apiKey: (stack: Stack) => ISecret): string => {
      const { template } = synthesizeWith((stack) => ({ apiKey: apiKey(stack) }));
      return JSON.stringify(onlyResource(template, 'AWS::IAM::Policy', 'MemoryWorkerRole').properties);
    };
    const byName = statementsOf((stack) => Secret.fromSecretNameV2(stack, 'Secret', 'team/claude'));
    expect(byName).toContain(':secret:team/claude-??????"');
    expect(byName).not.toContain('OpenApiKey');
    const underKey = statementsOf((stack) => {
      const encryptionKey = Key.fromKeyArn(stack, 'Key', KEY);
      return new Secret(stack, 'Secret', { encryptionKey }) as ISecret;
    });
    expect(underKey).not.toContain('??????');
    expect(underKey).toContain(`"Resource":"${KEY}","Sid":"OpenApiKey"`);
    expect(underKey).toContain('secretsmanager.');
  });

  describe('with a key of the account’s', () => {
    const isUnder = (template: Template): readonly unknown[] =>
      Object.values(template.Resources)
        .filter(({ Type }) => Type === 'AWS::Logs::LogGroup' || Type === 'AWS::SecretsManager::Secret')
        .map(({ Properties }) => JSON.stringify(Properties['KmsKeyId']));

    it('puts every log group and the secret under it, and lets the services and the worker use it', () => {
      const { template, warnings } = synthesizeWith((stack) => ({
        direct: true,
        accountKey: new Key(stack, 'Account'),
      }));
      const { id, properties } = onlyResource(template, 'AWS::KMS::Key', 'Account');
      expect(warnings).toEqual([]);
      expect(isUnder(template)).toEqual(Array(4).fill(`{"Fn::GetAtt":["${id}","Arn"]}`));
      const { Statement } = resolveValue(template, properties['KeyPolicy']) as {
        readonly Statement: readonly { readonly Sid?: string }[];
      };
      const shown = /```json\n(\{\n {2}"Sid": "LogsUseAccountKey"[^`]+)```/.exec(
        readFileSync('docs/deployment.md', 'utf8'),
      )?.[1];
      const told = shown?.replaceAll('<REGION>', 'eu-central-1').replaceAll('<ACCOUNT>', '111122223333');
      expect(Statement.find(({ Sid }) => Sid === 'LogsUseAccountKey')).toEqual(JSON.parse(told ?? ''));
      const worker = onlyResource(template, 'AWS::IAM::Policy', 'MemoryWorkerRole').properties;
      expect(JSON.stringify(worker)).toContain(`key/${id}","Sid":"OpenApiKey"`);
    });

    it('says of one from elsewhere what is to be written by hand', () => {
      const { template, warnings } = synthesizeWith((stack) => ({
        accountKey: Key.fromKeyArn(stack, 'Account', KEY),
      }));
      expect(isUnder(template)).toEqual(Array(3).fill(JSON.stringify(KEY)));
      expect(warnings).toEqual([expect.stringContaining('docs/deployment.md')]);
      expect(isUnder(synthesize({ accountKeyArn: KEY }))).toEqual(Array(3).fill(JSON.stringify(KEY)));
    });

    it('is none unless it is given', () => {
      expect(isUnder(synthesizeWith(() => ({})).template)).toEqual([undefined, undefined, undefined]);
    });
  });

  it('lets tenants use the key of an encrypted bucket through S3, and of no other', () => {
    const roleOf = (options: { readonly encryptionKey?: IKey }): string => {
      const { template } = synthesizeWith((stack) => ({
        bucket: new Bucket(stack, 'Bucket', { versioned: true, ...options }) as IBucket,
      }));
      return JSON.stringify(onlyResource(template, 'AWS::IAM::Policy', 'MemoryTenantRole').properties);
    };
    expect(roleOf({})).not.toContain('BucketKey');
    const keyed = roleOf({ encryptionKey: Key.fromKeyArn(new Stack(), 'Key', KEY) });
    expect(keyed).toMatch(
      /"Action":\["kms:Decrypt","kms:GenerateDataKey"\],"Condition":\{"StringEquals":\{"kms:ViaService":.*"s3\./,
    );
    expect(keyed).toContain(`"Resource":"${KEY}","Sid":"BucketKey"`);
  });

  it('runs its functions in a network', () => {
    const { template } = synthesizeWith((stack) => ({
      direct: true,
      network: { vpc: new Vpc(stack, 'Vpc') as IVpc },
    }));
    const functions = Object.values(template.Resources).filter(
      ({ Type, Properties }) => Type === 'AWS::Lambda::Function' && Properties['VpcConfig'] !== undefined,
    );
    expect(functions).toHaveLength(3);
    for (const role of ['WorkerRole', 'ExpiryRole']) {
      const policy = onlyResource(template, 'AWS::IAM::Policy', `Memory${role}`).properties['PolicyDocument'];
      expect(JSON.stringify(policy)).toContain('ec2:CreateNetworkInterface');
    }
  });

  it('puts a boundary around every role that it makes', () => {
    const boundary = 'arn:aws:iam::111122223333:policy/boundary';
    const template = synthesize({ permissionsBoundaryArn: boundary });
    const roles = Object.values(template.Resources).filter(({ Type }) => Type === 'AWS::IAM::Role');
    expect(roles).toHaveLength(3);
    for (const { Properties } of roles) expect(Properties['PermissionsBoundary']).toBe(boundary);
  });

  it.each<[string, SealedMemoryProps]>([
    ['timeoutSeconds', { timeout: Duration.seconds(10) }],
    ['timeoutSeconds', { timeout: Duration.minutes(16) }],
    ['maxConcurrency', { maxConcurrency: 1 }],
    ['maxTokens', { maxTokens: 0 }],
    ['oldestMessageMinutes', { oldestMessage: Duration.days(5) }],
    ['directConcurrency', { directConcurrency: 0 }],
    ['adopt', { adoptedBucketName: 'one', bucket: Bucket.fromBucketName(new Stack(), 'Two', 'two') }],
    ['rootKeyGeneration', { rootKeyGeneration: 2, rootKey: Key.fromKeyArn(new Stack(), 'Key', KEY) }],
  ])('refuses a wrong %s: %#', (name, props) => {
    const stack = new Stack(new App(), 'Theirs');
    expect(() => new SealedMemory(stack, 'Memory', { bundle, ...props })).toThrow(new RegExp(name));
  });
});

describe('what an earlier stack has left', { timeout: 60_000 }, () => {
  const settings = { prefix: 'memories' };
  const first = synthesize(settings);
  const again = synthesize({ ...settings, adoptedBucketName: 'of-earlier', rootKeyArn: KEY });
  const documentOf = (template: Template, id: string): unknown =>
    resolveValue(template, onlyResource(template, 'AWS::S3::BucketPolicy', id).properties['PolicyDocument']);

  it('is adopted: the bucket with the same policy, the key for the same uses', () => {
    const policy = JSON.stringify(documentOf(first, 'MemoryBucketPolicy')).replace(
      /arn:aws:s3:::memorybucket\w+/g,
      'arn:aws:s3:::of-earlier',
    );
    expect(documentOf(again, 'MemoryAdoptedBucketPolicy')).toEqual(JSON.parse(policy));
    expect(onlyResource(again, 'AWS::S3::BucketPolicy').properties['Bucket']).toBe('of-earlier');
    const environment = JSON.stringify(
      onlyResource(again, 'AWS::Lambda::Function', 'MemoryWorker').properties,
    );
    expect(environment).toContain('"SEALED_MEMORY_STORE":"s3://of-earlier/memories"');
    expect(environment).toContain(`"SEALED_MEMORY_ROOT_KEY":"aws-kms:${KEY}"`);
  });

  it('is not made a second time', () => {
    expect(typesOf(again)).not.toContain('AWS::S3::Bucket');
    const keys = Object.entries(again.Resources).filter(([, { Type }]) => Type === 'AWS::KMS::Key');
    expect(keys.map(([id]) => id)).toEqual([expect.stringMatching(/^MemoryQueueKey/)]);
  });
});
