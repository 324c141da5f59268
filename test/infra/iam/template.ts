/** A CloudFormation template, as far as it is read here. */
export interface Template {
  readonly Resources: Readonly<Record<string, TemplateResource>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown }>>;
}

interface TemplateResource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
}

const ACCOUNT = '111122223333';
const REGION = 'eu-central-1';

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::AccountId': ACCOUNT,
  'AWS::Partition': 'aws',
  'AWS::Region': REGION,
  'AWS::URLSuffix': 'amazonaws.com',
};

interface Named {
  readonly ref: (id: string) => string;
  readonly arn?: (id: string) => string;
}

/** The values that `Ref` and `Fn::GetAtt … Arn` give in this account, by type; the logical id stands for the name. */
const NAMED: Readonly<Record<string, Named>> = {
  'AWS::S3::Bucket': { ref: (id) => id.toLowerCase(), arn: (id) => `arn:aws:s3:::${id.toLowerCase()}` },
  'AWS::IAM::Role': { ref: (id) => id, arn: (id) => `arn:aws:iam::${ACCOUNT}:role/${id}` },
  'AWS::KMS::Key': { ref: (id) => id, arn: (id) => arn('kms', `key/${id}`) },
  'AWS::SQS::Queue': {
    ref: (id) => `https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${id}`,
    arn: (id) => arn('sqs', id),
  },
  'AWS::DynamoDB::Table': { ref: (id) => id, arn: (id) => arn('dynamodb', `table/${id}`) },
  'AWS::SecretsManager::Secret': { ref: (id) => arn('secretsmanager', `secret:${id}`) },
  'AWS::Logs::LogGroup': { ref: (id) => id, arn: (id) => arn('logs', `log-group:${id}:*`) },
  'AWS::Lambda::Function': { ref: (id) => id, arn: (id) => arn('lambda', `function:${id}`) },
};

function arn(service: string, name: string): string {
  return `arn:aws:${service}:${REGION}:${ACCOUNT}:${name}`;
}

/**
 * A value of the template as it would be deployed: references and joins become texts.
 *
 * @throws Error for an intrinsic function or a type it does not know.
 */
export function resolveValue(template: Template, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => resolveValue(template, each));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [name, argument] = entries[0] ?? [];
  if (entries.length === 1 && name === 'Ref') return reference(template, String(argument));
  if (entries.length === 1 && name === 'Fn::Sub') {
    return String(argument).replace(/\$\{([\w:]+)\}/g, (_, id: string) => reference(template, id));
  }
  if (entries.length === 1 && name === 'Fn::GetAtt') {
    const [id, attribute] = argument as readonly [string, string];
    const { arn: arnOf } = namedOf(template, id);
    if (attribute === 'Arn' && arnOf !== undefined) return arnOf(id);
    if (/^\w+Name$/.test(attribute)) return id;
    throw new Error(`unknown attribute: ${attribute} of ${id}`);
  }
  if (entries.length === 1 && name === 'Fn::Join') {
    const [separator, parts] = argument as readonly [string, readonly unknown[]];
    return parts.map((part) => String(resolveValue(template, part))).join(separator);
  }
  const unknown = entries.map(([key]) => key).find((key) => key.startsWith('Fn::') || key === 'Ref');
  if (unknown !== undefined) throw new Error(`unknown function: ${unknown}`);
  return Object.fromEntries(entries.map(([key, each]) => [key, resolveValue(template, each)]));
}

function reference(template: Template, id: string): string {
  return PSEUDO[id] ?? namedOf(template, id).ref(id);
}

function namedOf(template: Template, id: string): Named {
  const type = template.Resources[id]?.Type ?? '';
  const named = NAMED[type];
  if (named === undefined) throw new Error(`what ${id} refers to is not known: ${type}`);
  return named;
}

/** The logical id and the resolved properties of the one resource of a type whose id begins so. */
export function onlyResource(
  template: Template,
  type: string,
  prefix = '',
): { readonly id: string; readonly properties: Readonly<Record<string, unknown>> } {
  const found = Object.entries(template.Resources).filter(
    ([id, resource]) => resource.Type === type && id.startsWith(prefix),
  );
  const [entry] = found;
  if (entry === undefined || found.length > 1)
    throw new Error(`${found.length} resources ${type} ${prefix}*`);
  const [id, { Properties }] = entry;
  return { id, properties: resolveValue(template, Properties) as Readonly<Record<string, unknown>> };
}
