import { Stack, Validations } from 'aws-cdk-lib';
import type { Role } from 'aws-cdk-lib/aws-iam';
import { CfnBucket, type IBucket } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import type { Queues } from './queues.ts';
import type { TenantResources } from './tenant-resources.ts';

/**
 * Acknowledges the findings of cdk-nag that stay here, each with its reason and at its own construct, so that a new one
 * is heard.
 */
export function acknowledgeFindings({
  bucket,
  tenantRole,
  customerKeyArns,
  resources,
  queues,
  apiKey,
  functionRoles,
}: {
  readonly bucket: IBucket;
  readonly tenantRole: Role;
  /** Keys of customers, some of them as patterns. */
  readonly customerKeyArns: readonly string[];
  readonly resources: TenantResources;
  readonly queues: Queues;
  /** The secret of the API key; absent when the deployment brings its own. */
  readonly apiKey: Construct | undefined;
  /** Roles of functions in a network of the caller's. */
  readonly functionRoles: readonly Role[];
}): void {
  acknowledge(
    tenantRole,
    `IAM5[Resource::${asNamed(bucket, resources.objects)}]`,
    'All objects of one tenant and of no other: the tag in the pattern is the session’s own, without it nothing matches.',
  );
  for (const arn of new Set(customerKeyArns.filter((each) => /\*/.test(each)))) {
    acknowledge(
      tenantRole,
      `IAM5[Resource::${arn}]`,
      'Keys in accounts of customers, under the encryption context of the session’s own tenant; each key’s policy has the last word.',
    );
  }
  if (bucket.node.defaultChild instanceof CfnBucket) {
    acknowledge(bucket, 'S1', NO_ACCESS_LOGS);
  }
  for (const role of functionRoles) {
    acknowledge(
      role,
      'IAM5[Resource::*]',
      'The network interfaces of a function have no names before Lambda makes them.',
    );
  }
  acknowledge(
    queues.replies,
    'SQS3',
    'Its reader belongs to the deploying team; an answer that was not fetched stays in the bucket, sealed.',
  );
  if (queues.customerDeadLetters !== undefined) {
    acknowledge(
      queues.customerDeadLetters,
      'SQS3',
      'It holds dead letters itself: turns of customers who withhold their keys, which are sent back by hand.',
    );
  }
  acknowledge(
    queues.expiry,
    'SQS3',
    'A tenant that failed three times has its turn in the run of the next day; an alarm counts the failures.',
  );
  if (apiKey !== undefined) {
    acknowledge(
      apiKey,
      'SMG4',
      'Keys of the Claude API are made by hand in its console; docs/deployment.md has the drill.',
    );
  }
}

const NO_ACCESS_LOGS =
  'CloudTrail’s data events name the session and its tenant, which access logs do not (docs/deployment.md, "Who read what").';

function acknowledge(scope: Construct, rule: string, reason: string): void {
  Validations.of(scope).acknowledge({ id: `AwsSolutions::AwsSolutions-${rule}`, reason });
}

/** Names the resource as cdk-nag writes it: a bucket of the stack by its logical id, a variable in angle brackets. */
function asNamed(bucket: IBucket, resource: string): string {
  const own = bucket.node.defaultChild;
  const path = resource.slice(bucket.bucketArn.length).replace(/\$\{(.*?)\}/g, '<$1>');
  if (own instanceof CfnBucket) return `<${Stack.of(bucket).getLogicalId(own)}.Arn>${path}`;
  return `arn:<AWS::Partition>:s3:::${bucket.bucketName}${path}`;
}
