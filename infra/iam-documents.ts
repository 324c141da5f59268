import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApp } from './app.ts';

// The policies of the deployment as plain JSON, for teams that deploy with Terraform, SAM or by hand. `npm run write
// iam` writes them to docs/iam from the template, with names in angle brackets in the place of resources.

export const IAM_FOLDER: string = fileURLToPath(new URL('../docs/iam', import.meta.url));

interface Template {
  readonly Resources: Readonly<
    Record<string, { readonly Type: string; readonly Properties: Readonly<Record<string, unknown>> }>
  >;
}

interface Source {
  readonly type: string;
  /** The beginning of the logical id. */
  readonly id: string;
  readonly member: string;
  /** The one statement of the document, by its name; by default all of them. */
  readonly sid?: string;
}

/** A key for the synthesis, in whose place the documents have a name. */
const CUSTOMER_KEY_ARN = 'arn:aws:kms:us-east-1:444455556666:key/*';

/** A part that only some deployments have: its documents stand beside the others. */
const MORE: Readonly<Record<string, string>> = {
  tenantSettings: 'true',
  customerKeyArns: CUSTOMER_KEY_ARN,
  operatorRoleArns: '<OPERATOR_ROLE_ARN>',
};

const SOURCES: Readonly<Record<string, Source>> = {
  'worker-role': { type: 'AWS::IAM::Policy', id: 'MemoryWorkerRole', member: 'PolicyDocument' },
  'expiry-role': { type: 'AWS::IAM::Policy', id: 'MemoryExpiryRole', member: 'PolicyDocument' },
  'tenant-role': { type: 'AWS::IAM::Policy', id: 'MemoryTenantRole', member: 'PolicyDocument' },
  'tenant-role-trust': { type: 'AWS::IAM::Role', id: 'MemoryTenantRole', member: 'AssumeRolePolicyDocument' },
  'function-role-trust': {
    type: 'AWS::IAM::Role',
    id: 'MemoryWorkerRole',
    member: 'AssumeRolePolicyDocument',
  },
  bucket: { type: 'AWS::S3::BucketPolicy', id: 'MemoryBucketPolicy', member: 'PolicyDocument' },
  'root-key': { type: 'AWS::KMS::Key', id: 'MemoryRootKey', member: 'KeyPolicy' },
  'queue-key': { type: 'AWS::KMS::Key', id: 'MemoryQueueKey', member: 'KeyPolicy' },
  'turns-queue': { type: 'AWS::SQS::QueuePolicy', id: 'MemoryTurns', member: 'PolicyDocument' },
};

const SOURCES_OF_MORE: Readonly<Record<string, Source>> = {
  'tenant-settings': {
    type: 'AWS::IAM::Policy',
    id: 'MemoryWorkerRole',
    member: 'PolicyDocument',
    sid: 'ReadTenantSettings',
  },
  'tenant-settings-table': {
    type: 'AWS::DynamoDB::Table',
    id: 'MemoryTenantSettings',
    member: 'ResourcePolicy',
  },
  'customer-keys': {
    type: 'AWS::IAM::Policy',
    id: 'MemoryTenantRole',
    member: 'PolicyDocument',
    sid: 'OwnKeyringUnderKeysOfCustomers',
  },
};

/** The statement that leaves the administration of a key to its account, and no use of it. */
const ADMINISTRATION = 'AccountAdministers';
const USES = ['kms:Decrypt', 'kms:GenerateDataKey'];

/** Makes the policy of a key in a customer's account, whose account administers it as this one does its root key. */
function customerKey({
  Statement,
}: {
  readonly Statement: readonly Readonly<Record<string, unknown>>[];
}): unknown {
  const administration = Statement.find(({ Sid }) => Sid === ADMINISTRATION);
  const use = {
    Action: USES,
    Condition: {
      StringEquals: {
        'kms:EncryptionContext:app': 'sealed-memory',
        'kms:EncryptionContext:tenant': '<TENANT>',
      },
    },
    Effect: 'Allow',
    Principal: { AWS: '<TENANT_ROLE_ARN>' },
    Resource: '*',
    Sid: 'RoleUsesKeyForTenant',
  };
  const principal = { AWS: 'arn:aws:iam::<CUSTOMER_ACCOUNT>:root' };
  return { Statement: [{ ...administration, Principal: principal }, use], Version: '2012-10-17' };
}

/** The names that stand for resources, by the beginning of their logical ids; the first match counts. */
const NAMES: readonly (readonly [id: string, name: string])[] = [
  ['MemoryBucket', 'BUCKET_ARN'],
  ['MemoryRootKey', 'ROOT_KEY_ARN'],
  ['MemoryQueueKey', 'QUEUE_KEY_ARN'],
  ['MemoryTenantRole', 'TENANT_ROLE_ARN'],
  ['MemoryWorkerRole', 'WORKER_ROLE_ARN'],
  ['MemoryExpiryRole', 'EXPIRY_ROLE_ARN'],
  ['MemoryWorkerLogs', 'WORKER_LOGS_ARN'],
  ['MemoryExpiryLogs', 'EXPIRY_LOGS_ARN'],
  ['MemoryTurns', 'TURN_QUEUE_ARN'],
  ['MemoryDeadLetters', 'DEAD_LETTER_QUEUE_ARN'],
  ['MemoryCustomerDeadLetters', 'CUSTOMER_DEAD_LETTER_QUEUE_ARN'],
  ['MemoryReplies', 'REPLY_QUEUE_ARN'],
  ['MemoryExpiryQueue', 'EXPIRY_QUEUE_ARN'],
  ['MemoryApiKey', 'API_KEY_SECRET_ARN'],
  ['MemoryTenantSettings', 'TENANT_SETTINGS_ARN'],
];
const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::AccountId': '<ACCOUNT>',
  'AWS::Partition': 'aws',
  'AWS::Region': '<REGION>',
  'AWS::URLSuffix': 'amazonaws.com',
};

/** Makes the text of each document by the name of its file, for a deployment below the prefix `memories`. */
export async function iamDocuments(): Promise<ReadonlyMap<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'sealed-memory-iam-'));
  try {
    const bundle = join(folder, 'bundle');
    await mkdir(bundle);
    const documentsOf = (sources: typeof SOURCES, settings: typeof MORE) => {
      const given = Object.entries({ prefix: 'memories', ...settings });
      const context = Object.fromEntries(given.map(([name, value]) => [`sealed-memory:${name}`, value]));
      const app = createApp({
        bundle,
        checks: false,
        outdir: join(folder, Object.keys(settings).join()),
        context,
      });
      const template = app.synth().getStackByName('SealedMemory').template as Template;
      return Object.entries(sources).map(
        ([name, source]) => [name, named(documentOf(template, source))] as const,
      );
    };
    const made = new Map([...documentsOf(SOURCES, {}), ...documentsOf(SOURCES_OF_MORE, MORE)]);
    made.set('customer-key', customerKey(made.get('root-key') as Parameters<typeof customerKey>[0]));
    return new Map(
      [...made].map(([name, document]) => {
        const text = JSON.stringify(document, undefined, 2).replace(CUSTOMER_KEY_ARN, '<CUSTOMER_KEY_ARN>');
        return [`${name}.json`, `${text}\n`] as const;
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function documentOf({ Resources }: Template, { type, id, member, sid }: Source): unknown {
  const found = Object.entries(Resources).filter(
    ([logicalId, { Type }]) => Type === type && logicalId.startsWith(id),
  );
  const [entry] = found;
  if (entry === undefined || found.length > 1) throw new Error(`${found.length} resources ${type} ${id}*`);
  const value = entry[1].Properties[member];
  const { PolicyDocument: document = value } = Object(value);
  if (sid === undefined) return document;
  const { Statement: statements } = Object(document);
  return { ...document, Statement: [statements].flat().filter(({ Sid }) => Sid === sid) };
}

/** Puts a name in angle brackets in the place of each reference. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [name, argument] = entries[0] ?? [];
  if (name === 'Ref') return PSEUDO[String(argument)] ?? nameOf(String(argument));
  if (name === 'Fn::GetAtt') return nameOf(String((argument as readonly unknown[])[0]));
  if (name === 'Fn::Join') {
    const [separator, parts] = argument as readonly [string, readonly unknown[]];
    return parts.map((part) => String(named(part))).join(separator);
  }
  return Object.fromEntries(entries.map(([key, each]) => [key, named(each)]));
}

function nameOf(logicalId: string): string {
  const found = NAMES.find(([id]) => logicalId.startsWith(id));
  if (found === undefined) throw new Error(`nothing stands for ${logicalId}`);
  return `<${found[1]}>`;
}

if (import.meta.main) {
  await mkdir(IAM_FOLDER, { recursive: true });
  for (const [name, text] of await iamDocuments()) await writeFile(join(IAM_FOLDER, name), text);
}
