import type { Context } from './conditions.ts';
import { parsePolicy, type Statement } from './policy.ts';
import { judge, type Verdict } from './simulator.ts';
import { onlyResource, resolveValue, type Template } from './template.ts';

/** A principal: a role and, where it was assumed with some, its session tags. */
export interface Session {
  readonly roleArn: string;
  readonly tags: Readonly<Record<string, string>>;
}

type Facts = Readonly<Record<string, string | readonly string[]>>;

/** The template as if it were deployed: asks what its policies answer. */
export interface Deployment {
  readonly bucketArn: string;
  readonly rootKeyArn: string;
  readonly queueKeyArn: string;
  readonly tenantRoleArn: string;
  /** `WorkerRole`, `ExpiryRole`: the session of a function. */
  functionSession(role: string): Session;
  s3(session: Session, action: string, resource: string, facts?: Facts): Verdict;
  /** An action on the root key, with the pairs of an encryption context. */
  kms(session: Session, action: string, pairs: Readonly<Record<string, string>>, keyArn?: string): Verdict;
  /** An action on the key of the queues, through SQS unless said. */
  queueKey(session: Session, action: string, via?: string): Verdict;
  /** An action on the table of the settings of tenants, where there is one. */
  table(session: Session, action: string): Verdict;
  /** Any other action, judged by the policies of the role and of the queue, if it is one. */
  other(session: Session, action: string, resource: string, facts?: Facts): Verdict;
  /** STS: a session of a role for a session, or why not. */
  assume(session: Session, roleArn: string, tags: Readonly<Record<string, string>>): Session | Verdict;
}

export function deploy(template: Template): Deployment {
  const bucketArn = arnOf('AWS::S3::Bucket');
  const rootKeyArn = arnOf('AWS::KMS::Key', 'MemoryRootKey');
  const queueKeyArn = arnOf('AWS::KMS::Key', 'MemoryQueueKey');
  const bucketPolicy = policyAt('AWS::S3::BucketPolicy', '', 'PolicyDocument');
  const keyPolicy = policyAt('AWS::KMS::Key', 'MemoryRootKey', 'KeyPolicy');
  const queueKeyPolicy = policyAt('AWS::KMS::Key', 'MemoryQueueKey', 'KeyPolicy');
  const tenantRoleArn = arnOf('AWS::IAM::Role', 'MemoryTenantRole');

  function arnOf(type: string, prefix = ''): string {
    const { id } = onlyResource(template, type, prefix);
    return resolveValue(template, { 'Fn::GetAtt': [id, 'Arn'] }) as string;
  }

  function policyAt(type: string, prefix: string, member: string): readonly Statement[] {
    return parsePolicy(onlyResource(template, type, prefix).properties[member]);
  }

  /** The policies attached to a role; one from elsewhere has none here. */
  function identityOf(roleArn: string): readonly Statement[] {
    const name = roleArn.split('/').at(-1) ?? '';
    const role = template.Resources[name];
    if (role === undefined) return [];
    const inline = Object.keys(role.Properties).filter((key) =>
      /Policies|ManagedPolicyArns|Boundary/.test(key),
    );
    if (inline.length > 0) throw new Error(`policies in ${name} that are not judged: ${inline}`);
    return Object.values(template.Resources).flatMap(({ Type, Properties }) => {
      if (Type === 'AWS::IAM::ManagedPolicy') throw new Error('managed policies are not judged');
      if (Type !== 'AWS::IAM::Policy') return [];
      const roles = resolveValue(template, Properties['Roles']) as readonly string[];
      if (!roles.includes(name)) return [];
      return parsePolicy(resolveValue(template, Properties['PolicyDocument']));
    });
  }

  function ask(
    session: Session,
    action: string,
    resource: string,
    {
      facts,
      policy,
      resourceDecides,
    }: { facts: Facts; policy: readonly Statement[]; resourceDecides: boolean },
  ): Verdict {
    return judge(
      { roleArn: session.roleArn, action, resource, context: contextOf(session, facts) },
      { identity: identityOf(session.roleArn), resource: policy, resourceDecides },
    );
  }

  return {
    bucketArn,
    rootKeyArn,
    queueKeyArn,
    tenantRoleArn,
    functionSession: (role) => ({ roleArn: arnOf('AWS::IAM::Role', `Memory${role}`), tags: {} }),
    s3: (session, action, resource, facts = {}) =>
      ask(session, action, resource, {
        facts: { 's3:TlsVersion': '1.3', ...facts },
        policy: bucketPolicy,
        resourceDecides: false,
      }),
    kms: (session, action, pairs, keyArn = rootKeyArn) =>
      ask(session, action, keyArn, {
        facts: encryptionContext(pairs),
        policy: keyArn === rootKeyArn ? keyPolicy : [],
        resourceDecides: keyArn === rootKeyArn,
      }),
    queueKey: (session, action, via = 'sqs.eu-central-1.amazonaws.com') =>
      ask(session, action, queueKeyArn, {
        facts: { 'kms:ViaService': via, 'kms:CallerAccount': accountOf(session) },
        policy: queueKeyPolicy,
        resourceDecides: true,
      }),
    table(session, action) {
      const { id, properties } = onlyResource(template, 'AWS::DynamoDB::Table', 'MemoryTenantSettings');
      const { PolicyDocument: document } = Object(properties['ResourcePolicy']);
      const resource = String(resolveValue(template, { 'Fn::GetAtt': [id, 'Arn'] }));
      return ask(session, action, resource, {
        facts: {},
        policy: parsePolicy(document),
        resourceDecides: false,
      });
    },
    other: (session, action, resource, facts = {}) =>
      ask(session, action, resource, { facts, policy: [], resourceDecides: false }),
    assume(session, roleArn, tags) {
      checkTags(tags);
      const id = roleArn.split('/').at(-1) ?? '';
      const policy = parsePolicy(
        onlyResource(template, 'AWS::IAM::Role', id).properties['AssumeRolePolicyDocument'],
      );
      const names = Object.keys(tags);
      const facts = {
        ...Object.fromEntries(names.map((name) => [`aws:RequestTag/${name}`, tags[name] ?? ''])),
        ...(names.length > 0 && { 'aws:TagKeys': names }),
      };
      const actions = names.length > 0 ? ['sts:AssumeRole', 'sts:TagSession'] : ['sts:AssumeRole'];
      const verdicts = actions.map((action) =>
        ask(session, action, roleArn, { facts, policy, resourceDecides: true }),
      );
      return verdicts.find((verdict) => verdict !== 'allowed') ?? { roleArn, tags };
    },
  };
}

/** @throws Error when no such session can be had. */
export function tenantSession(deployment: Deployment, tenant: string, by = 'WorkerRole'): Session {
  const session = deployment.assume(deployment.functionSession(by), deployment.tenantRoleArn, { tenant });
  if (typeof session === 'string') throw new Error(`the session of ${tenant} is ${session}`);
  return session;
}

/** The pairs under which a keyring of the tenant is wrapped (docs/format.md, "Root wrap"). */
export function encryptionContextOf(tenant: string): Readonly<Record<string, string>> {
  return { app: 'sealed-memory', keyring: 'AAAAAAAAAAAAAAAAAAAAAA', kind: 'keyring', tenant, version: '1' };
}

function accountOf({ roleArn }: Session): string {
  return roleArn.split(':')[4] ?? '';
}

function contextOf({ roleArn, tags }: Session, facts: Facts): Context {
  const all: readonly (readonly [string, string | readonly string[]])[] = [
    ['aws:PrincipalArn', roleArn],
    ['aws:SecureTransport', 'true'],
    ...Object.entries(tags).map(([name, value]) => [`aws:PrincipalTag/${name}`, value] as const),
    ...Object.entries(facts),
  ];
  return new Map(all.map(([key, value]) => [key.toLowerCase(), typeof value === 'string' ? [value] : value]));
}

/** Condition keys ignore case, so pairs whose names differ in case alone meet in one. */
function encryptionContext(pairs: Readonly<Record<string, string>>): Facts {
  const names = Object.keys(pairs);
  const keys = Map.groupBy(Object.entries(pairs), ([name]) => `kms:encryptioncontext:${name.toLowerCase()}`);
  return {
    ...Object.fromEntries([...keys].map(([key, entries]) => [key, entries.map(([, value]) => value)])),
    ...(names.length > 0 && { 'kms:EncryptionContextKeys': names }),
  };
}

/** Throws for a tag that STS does not let pass; STS refuses it before any policy is read. */
function checkTags(tags: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(tags)) {
    const legal = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
    if (!legal.test(name) || !legal.test(value) || name.length > 128 || value.length > 256) {
      throw new Error('STS refuses such a tag');
    }
  }
}

/** An administrator of the account, whom IAM allows everything: its resources in a template, and its role. */
export const ADMINISTRATOR = {
  roleArn: 'arn:aws:iam::111122223333:role/Admin',
  resources: {
    Admin: { Type: 'AWS::IAM::Role', Properties: {} },
    AdminPolicy: {
      Type: 'AWS::IAM::Policy',
      Properties: {
        Roles: [{ Ref: 'Admin' }],
        PolicyDocument: {
          Version: '2012-10-17',
          Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }],
        },
      },
    },
  },
} as const;
