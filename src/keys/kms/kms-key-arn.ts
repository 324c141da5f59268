import { MemoryError } from '../../errors.ts';

/** The ARN of one KMS key, in the only spelling that KMS answers with. */
type KeyArn = string & { readonly __brand: 'KeyArn' };

/** The scheme before the ARN in a configured root key and in a root id. */
export const KMS_SCHEME = 'aws-kms:';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const KEY_ARN = new RegExp(
  `^arn:aws[a-z-]*:kms:([a-z0-9-]{1,63}):[0-9]{12}:key/(?:${UUID}|mrk-[0-9a-f]{32})$`,
);
const ALIAS = /^(?:arn:[^/]*:)?alias\//;

/**
 * Checks the ARN. Aliases are refused: a keyring is bound to the id of its root key, and an alias may come to mean
 * another key.
 *
 * @throws MemoryError `misconfigured`, naming `label` and what was expected, never the text.
 */
export function parseKeyArn(text: string, label: string): KeyArn {
  if (KEY_ARN.test(text)) return text as KeyArn;
  throw new MemoryError(
    'misconfigured',
    ALIAS.test(text)
      ? `${label} names a KMS key by an alias, which may come to mean another key: give the key's own ARN, arn:aws:kms:REGION:ACCOUNT:key/ID.`
      : `${label} is not the ARN of a KMS key: it must read arn:aws:kms:REGION:ACCOUNT:key/ID, in lower case.`,
  );
}

export function regionOf(keyArn: KeyArn): string {
  return keyArn.replace(KEY_ARN, '$1');
}
