import { fromBase64 } from '../format/encoding.ts';
import { KEY_BYTES } from '../format/sodium.ts';
import { isKeyName } from './clear-keys.ts';
import { OF_TENANT } from './tenant-views.ts';

const UNKNOWN = '(no setting)';
const HIDDEN = '(hidden)';
/** The options of a mount that are shown as they are. */
const OPEN_IN_MOUNTS: ReadonlySet<string> = new Set([
  ...['at', 'tenant', 'store', 'names', 'readOnly', 'expires', 'policy', 'limits', 'keyring'],
]);

/**
 * The settings of a tenant, not yet judged, as a person may see them: root keys by their names alone, no credentials,
 * and nothing of what is no setting, as it may be a key under a mistyped name. A member is named `limits.files`.
 */
export function shownSettings(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return mapped(given, (name, value) => {
    const [setting = ''] = name.split('.');
    if (!OF_TENANT.has(setting)) return UNKNOWN;
    if (setting === 'rootKey') return shownKeys(value);
    if (setting !== 'mounts') return value;
    return Array.isArray(value) ? value.map(shownMount) : HIDDEN;
  });
}

function shownMount(mount: unknown): unknown {
  return mapped(Object(mount), (option, own) => {
    if (option === 'rootKey') return shownKeys(own);
    return OPEN_IN_MOUNTS.has(option) ? own : HIDDEN;
  });
}

function shownKeys(key: unknown): unknown {
  if (Array.isArray(key)) return key.map(shownKeys);
  if (typeof key !== 'string') return HIDDEN;
  if (isKeyName(key)) return key;
  return fromBase64(key)?.length === KEY_BYTES ? `(a key of ${KEY_BYTES} bytes)` : HIDDEN;
}

function mapped(
  from: Readonly<Record<string, unknown>>,
  to: (name: string, value: unknown) => unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, to(name, value)]));
}
