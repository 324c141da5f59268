import { Stack, Validations } from 'aws-cdk-lib';
import type { Role } from 'aws-cdk-lib/aws-iam';
import type { Bucket, CfnBucket } from 'aws-cdk-lib/aws-s3';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { TenantResources } from './tenant-resources.ts';

/** What cdk-nag finds here and why it stays. Each is acknowledged where it is found, so that a new one is heard. */
export function acknowledgeFindings({
  bucket,
  tenantRole,
  resources,
  replies,
  apiKey,
}: {
  readonly bucket: Bucket;
  readonly tenantRole: Role;
  readonly resources: TenantResources;
  readonly replies: Queue;
  /** Absent when the deployment brings its own. */
  readonly apiKey: Construct | undefined;
}): void {
  acknowledge(
    tenantRole,
    `IAM5[Resource::${asNamed(bucket, resources.objects)}]`,
    'All objects of one tenant and of no other: the tag in the pattern is the session’s own, without it nothing matches.',
  );
  acknowledge(
    bucket,
    'S1',
    'CloudTrail’s data events name the session and its tenant, which access logs do not (docs/deployment.md, "Who read what").',
  );
  acknowledge(
    replies,
    'SQS3',
    'Its reader belongs to the deploying team; an answer that was not fetched stays in the bucket, sealed.',
  );
  if (apiKey !== undefined) {
    acknowledge(
      apiKey,
      'SMG4',
      'Keys of the Claude API are made by hand in its console; docs/deployment.md has the drill.',
    );
  }
}

function acknowledge(scope: Construct, rule: string, reason: string): void {
  Validations.of(scope).acknowledge({ id: `AwsSolutions::AwsSolutions-${rule}`, reason });
}

/** The resource as cdk-nag writes it: the bucket by its logical id, a variable in angle brackets. */
function asNamed(bucket: Bucket, resource: string): string {
  const id = Stack.of(bucket).getLogicalId(bucket.node.defaultChild as CfnBucket);
  const path = resource.slice(bucket.bucketArn.length).replace(/\$\{(.*?)\}/g, '<$1>');
  return `<${id}.Arn>${path}`;
}
