import { Duration } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, type Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';

/** Creates a role that only Lambda takes, with no permission yet. */
export function createFunctionRole(scope: Construct, id: string, description: string): Role {
  return new Role(scope, id, { description, assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
}

/**
 * The network in which a function runs, instead of one of AWS. The function must reach S3, KMS, STS, SQS, Secrets
 * Manager and Claude from it.
 */
export interface Network {
  readonly vpc: IVpc;
  /** The subnets; by default the private ones with a way out. */
  readonly vpcSubnets?: SubnetSelection;
  readonly securityGroups?: ISecurityGroup[];
}

export interface BundledFunction {
  readonly run: LambdaFunction;
  readonly logs: LogGroup;
}

/**
 * Creates a function of the bundle, on arm64 and Node 24. The role gets one permission here, to write to the function's
 * own log group: the managed policies of AWS would let it write to every log group.
 */
export function createBundledFunction(
  scope: Construct,
  id: string,
  options: {
    readonly code: Code;
    /** An export of the bundle. */
    readonly entry: 'handler' | 'invoke' | 'expire';
    readonly description: string;
    readonly role: Role;
    readonly environment: Record<string, string>;
    readonly timeout: Duration;
    readonly memorySize: number;
    readonly network?: Network | undefined;
    /** The key that encrypts the log; undefined: a key of AWS. */
    readonly logKey: IKey | undefined;
    /** The executions that this function reserves from the account's, and its most at once. */
    readonly reservedConcurrentExecutions?: number;
  },
): BundledFunction {
  const { entry, role, network, logKey, ...rest } = options;
  const logs = new LogGroup(scope, `${id}Logs`, {
    retention: RetentionDays.THREE_MONTHS,
    ...(logKey !== undefined && { encryptionKey: logKey }),
  });
  role.addToPrincipalPolicy(
    new PolicyStatement({
      sid: `Write${id}Log`,
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [logs.logGroupArn],
    }),
  );
  if (network !== undefined) role.addToPrincipalPolicy(useNetwork(id));
  const run = new LambdaFunction(scope, id, {
    ...rest,
    ...network,
    role,
    handler: `index.${entry}`,
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    logGroup: logs,
    // An event without a waiting caller is tried for an hour; a day of attempts would be too much.
    maxEventAge: Duration.hours(1),
  });
  return { run, logs };
}

/** Lets Lambda manage the function's network interfaces, which have no names before Lambda makes them. */
function useNetwork(id: string): PolicyStatement {
  return new PolicyStatement({
    sid: `Use${id}Network`,
    actions: [
      'ec2:AssignPrivateIpAddresses',
      'ec2:CreateNetworkInterface',
      'ec2:DeleteNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:UnassignPrivateIpAddresses',
    ],
    resources: ['*'],
  });
}
