import { onlyResource, type Template } from './iam/template.ts';

/** What IAM puts in the place of the session's tag. */
export const TAG = '$' + '{aws:PrincipalTag/tenant}';
export const ROLE = 'arn:aws:iam::111122223333:role/';
export const SQS = 'arn:aws:sqs:eu-central-1:111122223333:';
export const BUCKET = 'arn:aws:s3:::memorybucket';
/** Below the prefix `memories`. */
export const OBJECTS: string = `${BUCKET}/memories/tenants/${TAG}/*`;
export const KEYRING: string = `${BUCKET}/memories/keyrings/${TAG}`;
export const LISTABLE: readonly string[] = [`memories/tenants/${TAG}/*`, `memories/keyrings/${TAG}`];

/** The condition on every use of a root key. */
export const OWN_CONTEXT = {
  StringEquals: {
    'kms:EncryptionContext:app': 'sealed-memory',
    'kms:EncryptionContext:kind': 'keyring',
    'kms:EncryptionContext:tenant': TAG,
    'kms:EncryptionContext:version': '1',
  },
  'ForAllValues:StringEquals': {
    'kms:EncryptionContextKeys': ['app', 'keyring', 'kind', 'tenant', 'version'],
  },
  Null: { 'kms:EncryptionContext:keyring': 'false' },
} as const;

/** The resolved statements of a policy; what CloudFormation appends to names is cut off. */
export function statementsOf(
  template: Template,
  { type, name, member }: { readonly type: string; readonly name: string; readonly member: string },
): readonly unknown[] {
  const { properties } = onlyResource(template, type, name);
  const document = properties[member] as { readonly Version: string; readonly Statement: readonly unknown[] };
  if (document.Version !== '2012-10-17') throw new Error('a policy of another version has no variables');
  const text = JSON.stringify(document.Statement)
    .replace(/(Memory[A-Za-z]+?)[0-9A-F]{8}(?=["/:])/g, '$1')
    .replace(/memorybucket[0-9a-f]{8}/g, 'memorybucket');
  return JSON.parse(text) as readonly unknown[];
}
