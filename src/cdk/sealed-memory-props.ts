import type { Duration } from 'aws-cdk-lib';
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IManagedPolicy } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Network } from './bundled-function.ts';
import type { WorkerSettings } from './worker-settings.ts';

export interface SealedMemoryProps extends Partial<WorkerSettings> {
  /** The folder that holds the bundle, `index.mjs`; by default the one that the package carries. */
  readonly bundle?: string;
  /**
   * A module of yours that exports `handler` and `invoke`, made by `createWorker`: it takes the place of the worker, with
   * the same variables, and is bundled with the esbuild of your project. The expiry stays that of the bundle.
   */
  readonly entry?: string;
  /** The beginning of every object key; empty by default. Changing it leaves the old memories behind. */
  readonly prefix?: string;
  /** The longest time of a turn; five minutes by default, one at least, fifteen at most. */
  readonly timeout?: Duration;
  /** The memory of each function, in MiB; 512 by default, 399–10,240, and more for a larger cache. */
  readonly memorySize?: number;
  /** The most turns at once; 10 by default, 2–1,000. */
  readonly maxConcurrency?: number;
  /** True to run the turns of one conversation in order. */
  readonly fifo?: boolean;
  /** True for a second function that runs the turn it is invoked with, for step functions and the like. */
  readonly direct?: boolean;
  /**
   * The most turns at once of the second function, which it reserves from the account's executions; 10 by default,
   * 1–1,000.
   */
  readonly directConcurrency?: number;
  /** The days for which an overwritten or deleted version stays restorable; 30 by default, 1–3,650. */
  readonly noncurrentDays?: number;
  /** The wait after which a turn raises an alarm; 15 minutes by default, four days at most. */
  readonly oldestMessage?: Duration;
  /**
   * The tokens of Claude in an hour, input and output of all tenants, from which on an alarm goes off; 5,000,000 by
   * default.
   */
  readonly alarmTokensPerHour?: number;
  /** The action of an alarm; by default it only shows on the dashboard. */
  readonly alarmAction?: IAlarmAction;
  /**
   * The key of the Claude API, as plain text or as JSON with `ANTHROPIC_API_KEY`; an empty secret of its own by
   * default, to be filled after deployment.
   */
  readonly apiKey?: ISecret;
  /**
   * ARNs of roles whose holders may become a tenant, for the drills of docs/deployment.md, and write the table of
   * `tenantSettings`; none by default.
   */
  readonly operatorRoleArns?: readonly string[];
  /**
   * A bucket of yours, with versions; one of its own by default. `noncurrentDays` is then the bucket's own business.
   */
  readonly bucket?: IBucket;
  /** The bucket that an earlier stack of this kind has left: its policy is written again. */
  readonly adoptedBucketName?: string;
  /** A KMS key of yours, or of an earlier stack; one of its own by default. */
  readonly rootKey?: IKey;
  /**
   * True for a table with settings of tenants of their own, which the functions read and the operators write
   * (docs/tenants.md); or a table of yours, whose policy is your own business. None by default.
   */
  readonly tenantSettings?: boolean | ITable;
  /**
   * ARNs of KMS keys in accounts of customers, `*` and `?` allowed, that settings of tenants may name as root keys; none
   * by default. The policy of each key must let the tenant role use it too.
   */
  readonly customerKeyArns?: readonly string[];
  /** Encrypts the messages of the queues; a key of its own by default. `'sqs'`: SQS does it, with a key of AWS. */
  readonly queueKey?: IKey | 'sqs';
  /**
   * A KMS key of the account's that encrypts the log groups and the secret that is made here; by default keys of AWS do.
   */
  readonly accountKey?: IKey;
  /** `false`: no dashboard is made. */
  readonly dashboard?: boolean;
  /** The network of yours in which the functions run; outside of any by default. */
  readonly network?: Network;
  /** The most permissions that a role made here may ever have. */
  readonly permissionsBoundary?: IManagedPolicy;
  /**
   * The number of the root key that is made here; 1 by default. One more makes a new root key, see `formerRootKeyArns`.
   */
  readonly rootKeyGeneration?: number;
  /** ARNs of KMS keys that still wrap some keyrings. */
  readonly formerRootKeyArns?: readonly string[];
}
