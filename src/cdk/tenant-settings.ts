import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, type ITable, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { AnyPrincipal, Effect, type IPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/** The settings of tenants, as the functions read them. */
export interface TenantSettingsTable {
  readonly table: ITable;
  /** The table as `SEALED_MEMORY_TENANTS` takes it. */
  readonly source: string;
}

/** Every action of DynamoDB that writes items. */
const WRITING = [
  'dynamodb:BatchWriteItem',
  'dynamodb:DeleteItem',
  'dynamodb:PartiQLDelete',
  'dynamodb:PartiQLInsert',
  'dynamodb:PartiQLUpdate',
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
];

/**
 * Places the table of the settings of tenants: the caller's, or a new one that outlives the stack and that only the
 * operators write. Whoever writes there chooses keys.
 */
export function placeTenantSettings(
  scope: Construct,
  {
    given,
    operators,
    operatorRoleArns,
  }: {
    readonly given: true | ITable;
    readonly operators: readonly IPrincipal[];
    readonly operatorRoleArns: readonly string[];
  },
): TenantSettingsTable {
  if (given !== true) return { table: given, source: `dynamodb:${given.tableArn}` };
  const table = new Table(scope, 'TenantSettings', {
    partitionKey: { name: 'tenant', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.AWS_MANAGED,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    removalPolicy: RemovalPolicy.RETAIN,
  });
  for (const statement of tableStatements({ operators, operatorRoleArns })) {
    table.addToResourcePolicy(statement);
  }
  return { table: table as ITable, source: `dynamodb:${table.tableName}` };
}

/** Makes the policy of the table itself, so that no policy elsewhere lets others write. */
function tableStatements({
  operators,
  operatorRoleArns,
}: {
  readonly operators: readonly IPrincipal[];
  readonly operatorRoleArns: readonly string[];
}): readonly PolicyStatement[] {
  // A policy cannot name the table that it is of; there it means the table alone.
  const resources = ['*'];
  const denied = new PolicyStatement({
    sid: 'OnlyOperatorsWrite',
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    actions: WRITING,
    resources,
    ...(operatorRoleArns.length > 0 && {
      conditions: { ArnNotEquals: { 'aws:PrincipalArn': [...operatorRoleArns] } },
    }),
  });
  if (operators.length === 0) return [denied];
  const allowed = new PolicyStatement({
    sid: 'OperatorsWrite',
    principals: [...operators],
    actions: ['dynamodb:DeleteItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem'],
    resources,
  });
  return [allowed, denied];
}

/** Makes the permission of a function to read the settings of one tenant at a time. */
export function readTenantSettings(table: ITable): PolicyStatement {
  return new PolicyStatement({
    sid: 'ReadTenantSettings',
    actions: ['dynamodb:GetItem'],
    resources: [table.tableArn],
  });
}
