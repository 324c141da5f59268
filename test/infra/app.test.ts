import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { CfnBucket } from 'aws-cdk-lib/aws-s3';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../infra/app.ts';
import { SealedMemory } from '../../src/cdk/sealed-memory.ts';
import { synthesize } from './synthesized.ts';

let bundle = '';
beforeAll(() => {
  bundle = mkdtempSync(join(tmpdir(), 'sealed-memory-bundle-'));
  writeFileSync(join(bundle, 'index.mjs'), 'export const handler = () => {};\n');
});
afterAll(() => rmSync(bundle, { recursive: true }));

/** The settings of a bucket that an earlier stack has left, and of a key and a boundary that the account asks for. */
const ADOPTED = {
  prefix: 'memories',
  adoptedBucketName: 'memories-of-earlier',
  rootKeyArn: 'arn:aws:kms:eu-central-1:111122223333:key/22222222-2222-3333-4444-555555555555',
  accountKeyArn: 'arn:aws:kms:eu-central-1:111122223333:key/33333333-2222-3333-4444-555555555555',
  dashboard: 'false',
  permissionsBoundaryArn: 'arn:aws:iam::111122223333:policy/boundary',
};

interface Finding {
  readonly ruleName: string;
  readonly violatingConstructs: readonly { readonly constructPath: string }[];
  readonly reason?: string;
}

interface Report {
  readonly violations: readonly Finding[];
  readonly suppressedViolations: readonly Finding[];
}

/** Answers what cdk-nag says of the app, after `change`, and how the synthesis ended. */
function validate(
  settings: Readonly<Record<string, string>> = {},
  change: (memory: SealedMemory) => void = () => {},
): Report & { readonly error: unknown } {
  const context = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`sealed-memory:${name}`, value]),
  );
  const outdir = mkdtempSync(join(tmpdir(), 'sealed-memory-synth-'));
  const says = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const app = createApp({ bundle, outdir, context });
    change(app.node.findChild('SealedMemory').node.findChild('Memory') as SealedMemory);
    let error: unknown;
    try {
      app.synth();
    } catch (thrown) {
      error = thrown;
    }
    const { pluginReports } = JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8')) as {
      readonly pluginReports: readonly Report[];
    };
    const [report, ...others] = pluginReports;
    if (report === undefined || others.length > 0) throw new Error('not one report');
    return { error, violations: report.violations, suppressedViolations: report.suppressedViolations ?? [] };
  } finally {
    says.mockRestore();
    rmSync(outdir, { recursive: true });
  }
}

const placesOf = (findings: readonly Finding[]): readonly string[] =>
  findings.flatMap(({ ruleName, violatingConstructs }) =>
    violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
  );

describe('cdk-nag', { timeout: 60_000 }, () => {
  it.each<Readonly<Record<string, string>>>([
    {},
    { prefix: 'memories', fifo: 'true', direct: 'true' },
    { operatorRoleArns: 'arn:aws:iam::111122223333:role/operator', queueKey: 'sqs' },
    { tenantSettings: 'true', customerKeyArns: 'arn:aws:kms:eu-central-1:444455556666:key/*' },
    ADOPTED,
  ])('finds nothing without a reason, with the settings %j', (settings) => {
    const { error, violations } = validate(settings);
    expect(placesOf(violations)).toEqual([]);
    expect(error).toBeUndefined();
  });

  it('is told a reason at the place of each finding', () => {
    const { suppressedViolations } = validate({ prefix: 'memories' });
    expect(placesOf(suppressedViolations).map((place) => place.replace(/[0-9A-F]{8}/, ''))).toEqual([
      'AwsSolutions-IAM5[Resource::<MemoryBucket.Arn>/memories/tenants/<aws:PrincipalTag/tenant>/*] SealedMemory/Memory/TenantRole/DefaultPolicy/Resource',
      'AwsSolutions-S1 SealedMemory/Memory/Bucket/Resource',
      'AwsSolutions-SQS3 SealedMemory/Memory/Replies/Resource',
      'AwsSolutions-SQS3 SealedMemory/Memory/ExpiryQueue/Resource',
      'AwsSolutions-SMG4 SealedMemory/Memory/ApiKey/Resource',
    ]);
    for (const { reason } of suppressedViolations) expect(reason?.length).toBeGreaterThan(60);
  });

  it('stops the synthesis at a finding without a reason', () => {
    const { error, violations } = validate({}, ({ bucket }) => {
      (bucket.node.defaultChild as CfnBucket).publicAccessBlockConfiguration = { blockPublicAcls: false };
    });
    expect(placesOf(violations)).toEqual(['AwsSolutions-S2 SealedMemory/Memory/Bucket/Resource']);
    expect(error).toBeInstanceOf(Error);
  });

  it('hears of a wildcard that is added to the tenant role', () => {
    const { violations } = validate({}, ({ bucket, tenantRole }) => {
      tenantRole.addToPrincipalPolicy(
        new PolicyStatement({ actions: ['s3:GetObject'], resources: [bucket.arnForObjects('*')] }),
      );
    });
    expect(violations.map(({ ruleName }) => ruleName)).toEqual([
      expect.stringMatching(/^AwsSolutions-IAM5\[Resource::<MemoryBucket\w+\.Arn>\/\*\]$/),
    ]);
  });
});

describe('SealedMemory', { timeout: 60_000 }, () => {
  it('goes into the stack of another team, twice, with a secret of theirs', () => {
    const app = new App();
    const stack = new Stack(app, 'Theirs');
    const apiKey = new Secret(stack, 'Key') as ISecret;
    for (const id of ['One', 'Two']) new SealedMemory(stack, id, { bundle, prefix: id, apiKey });
    const template = app.synth().getStackByName('Theirs').template as {
      readonly Resources: Readonly<Record<string, { readonly Type: string }>>;
    };
    const types = Object.values(template.Resources).map(({ Type }) => Type);
    expect(types.filter((type) => type === 'AWS::S3::Bucket')).toHaveLength(2);
    expect(types.filter((type) => type === 'AWS::SecretsManager::Secret')).toHaveLength(1);
  });

  it.each(['/memories', 'memories/', 'a//b', 'a*', 'a?b', '$' + '{aws:username}', 'a b', 'x'.repeat(66)])(
    'refuses the prefix %j',
    (prefix) => {
      const stack = new Stack(new App(), 'Theirs');
      expect(() => new SealedMemory(stack, 'Memory', { bundle, prefix })).toThrow(RangeError);
    },
  );
});

describe('the settings', { timeout: 60_000 }, () => {
  it.each([
    ['unknown', '1'],
    ['fifo', 'yes'],
    ['maxTokens', '0'],
    ['maxTokens', '1e3'],
    ['timeoutSeconds', '-1'],
    ['timeoutSeconds', '10'],
    ['timeoutSeconds', '901'],
    ['memorySize', '128'],
    ['maxConcurrency', '1'],
    ['maxTokens', '1000001'],
    ['expireAfterDays', '3651'],
    ['oldestMessageMinutes', '5761'],
    ['tokensPerDay', '0'],
    ['directConcurrency', '1001'],
    ['reply', 'both'],
  ])('refuse %s=%s', (name, value) => {
    expect(() => synthesize({ [name]: value })).toThrow(new RegExp(`sealed-memory:${name}`));
  });

  it('become outputs that programs need', () => {
    const { Outputs = {} } = synthesize({ prefix: 'memories' });
    expect(Object.keys(Outputs).sort()).toEqual([
      'ApiKeySecretArn',
      'BucketName',
      'DashboardName',
      'DeadLetterQueueUrl',
      'ExpiryName',
      'QueueKeyArn',
      'ReplyQueueUrl',
      'RootKeyArn',
      'StoreUrl',
      'TenantRoleArn',
      'TurnQueueUrl',
      'WorkerName',
    ]);
  });
});
