/** The beginnings of root keys that are names alone. */
const NAMED_KEY = /^(aws-kms|vault):/;

/** Tells whether the text of a root key is its name in a service, and so no secret. */
export function isKeyName(text: string): boolean {
  return NAMED_KEY.test(text);
}

/** Tells whether the settings of a tenant, not yet judged, hold a root key itself, or the credentials of a mount. */
export function holdsSecrets(given: unknown): boolean {
  return [given, ...[Object(given).mounts].flat()].some((holder) => {
    const { rootKey, credentials } = Object(holder);
    const isClear = (key: unknown): boolean => typeof key === 'string' && !isKeyName(key);
    return credentials !== undefined || [rootKey].flat().some(isClear);
  });
}
