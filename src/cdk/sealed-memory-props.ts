import type { Duration } from 'aws-cdk-lib';
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch';
import type { IManagedPolicy } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Network } from './bundled-function.ts';
import type { WorkerSettings } from './worker-settings.ts';

export interface SealedMemoryProps extends Partial<WorkerSettings> {
  /** The folder that holds the bundle, `index.mjs`; by default the one that the package carries. */
  readonly bundle?: string;
  /** Of every object key; empty by default. Changing it leaves the old memories behind. */
  readonly prefix?: string;
  /** Of a turn; five minutes by default, one at least, fifteen at most. */
  readonly timeout?: Duration;
  /** Of each function, in MiB; 512 by default, 256–10,240. */
  readonly memorySize?: number;
  /** Turns at once; 10 by default, 2–1,000. */
  readonly maxConcurrency?: number;
  /** Turns of one conversation run in order. */
  readonly fifo?: boolean;
  /** A second function runs the turn it is invoked with, for step functions and the like. */
  readonly direct?: boolean;
  /** Turns of the second function at once, which it takes from what the account has; 10 by default, 1–1,000. */
  readonly directConcurrency?: number;
  /** Days an overwritten or deleted version stays restorable; 30 by default, 1–3,650. */
  readonly noncurrentDays?: number;
  /** After which a waiting turn raises an alarm; 15 minutes by default, four days at most. */
  readonly oldestMessage?: Duration;
  /** Of Claude, input and output of all tenants, from which on an alarm goes off; 5,000,000 by default. */
  readonly tokensPerHour?: number;
  /** What an alarm does; nothing by default but show on the dashboard. */
  readonly alarmAction?: IAlarmAction;
  /** The key of the Claude API, as plain text or as JSON with `ANTHROPIC_API_KEY`; an empty secret of its own by default, to be filled after deployment. */
  readonly apiKey?: ISecret;
  /** ARNs of roles whose holders may become a tenant, for the drills of docs/deployment.md; none by default. */
  readonly operatorRoleArns?: readonly string[];
  /** A bucket of yours, with versions; one of its own by default. `noncurrentDays` is then its business. */
  readonly bucket?: IBucket;
  /** The bucket that an earlier stack of this kind has left: its policy is written again. */
  readonly adoptedBucketName?: string;
  /** A KMS key of yours, or of an earlier stack; one of its own by default. */
  readonly rootKey?: IKey;
  /** Encrypts the messages of the queues; a key of its own by default. `'sqs'`: SQS does it, with a key of AWS. */
  readonly queueKey?: IKey | 'sqs';
  /** Where the functions run; outside of any network of yours by default. */
  readonly network?: Network;
  /** The most that a role made here may ever be allowed. */
  readonly permissionsBoundary?: IManagedPolicy;
  /** 1 by default; one more makes a new root key, see `formerRootKeyArns`. */
  readonly rootKeyGeneration?: number;
  /** ARNs of KMS keys that still wrap some keyrings. */
  readonly formerRootKeyArns?: readonly string[];
}
