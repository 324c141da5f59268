import { Buffer } from 'node:buffer';
import { open } from '../../src/format/object.ts';
import {
  classLogicalName,
  type Layout,
  logicalName,
  type ObjectKey,
  parseClassKey,
  parseFileKey,
} from '../../src/format/object-keys.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { openKeyring } from '../../src/keys/keyring.ts';
import { activate, type LoadedKeyring } from '../../src/keys/loaded-keyring.ts';

/** The forms in which a text or a key could show itself in stored bytes, each with a name for a failing test. */
function formsOf(secret: string | Uint8Array): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(secret as Uint8Array);
  const forms = new Map<string, Buffer>([
    ['bytes', bytes],
    ['hex', Buffer.from(bytes.toString('hex'))],
    ['HEX', Buffer.from(bytes.toString('hex').toUpperCase())],
    ['reversed', Buffer.from(bytes).reverse()],
  ]);
  if (typeof secret === 'string') {
    const utf16 = Buffer.from(secret, 'utf16le');
    forms.set('utf16le', utf16);
    forms.set('utf16be', Buffer.from(utf16).swap16());
    forms.set('percent-encoded', Buffer.from(encodeURIComponent(secret)));
    forms.set('JSON', Buffer.from(JSON.stringify(secret).slice(1, -1)));
  }
  for (const offset of [0, 1, 2]) {
    // Whole groups of three bytes only: the characters at the ends depend on the neighbours.
    const start = (3 - offset) % 3;
    const groups = bytes.subarray(start, start + Math.floor((bytes.length - start) / 3) * 3);
    forms.set(`base64 at ${offset}`, Buffer.from(groups.toString('base64')));
    forms.set(`base64url at ${offset}`, Buffer.from(groups.toString('base64url')));
  }
  return forms;
}

/**
 * Finds where any of the secrets shows in `haystack`, in whatever form: `<text> as <form>`. They have 8 bytes or more,
 * or they would show up by chance.
 */
export function findTraces(
  haystack: Uint8Array | string,
  secrets: readonly (string | Uint8Array)[],
): readonly string[] {
  const bytes = Buffer.from(haystack as Uint8Array);
  return secrets.flatMap((secret) => {
    if (Buffer.from(secret as Uint8Array).length < 8)
      throw new Error('a secret that short shows up by chance');
    return [...formsOf(secret)]
      .filter(([, form]) => bytes.includes(form))
      .map(([form]) => `${typeof secret === 'string' ? secret : 'a key'} as ${form}`);
  });
}

/** One version of an object, wherever it was kept. */
interface StoredBytes {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
}

/**
 * Finds where a text lies: in the bytes of objects, or in their contents once they are opened with the keys of any
 * keyring among them. Keys of objects, each once.
 */
export async function whereTextIs(
  objects: readonly StoredBytes[],
  site: { readonly layout: Layout; readonly rootKey: Uint8Array },
  text: string,
): Promise<readonly string[]> {
  const { layout, rootKey } = site;
  const keyrings: LoadedKeyring[] = [];
  for (const { key, body } of objects) {
    if (key !== layout.keyring) continue;
    const keyring = await openKeyring({
      bytes: body,
      tenant: layout.tenant,
      rootKeys: [envRootKey(rootKey)],
    });
    keyrings.push(activate(keyring, { tenant: layout.tenant }).loaded);
  }
  if (keyrings.length === 0) throw new Error('there is no keyring to search with');
  const holds = (bytes: Uint8Array): boolean => Buffer.from(bytes).includes(text);
  const found = objects.filter(
    ({ key, body }) =>
      holds(body) || keyrings.some((keyring) => holds(contentOf(layout, keyring, { key, body }))),
  );
  return [...new Set(found.map(({ key }) => key))];
}

/** Opens an object; undefined where these keys do not open it. */
function contentOf(layout: Layout, { names, keys }: LoadedKeyring, { key, body }: StoredBytes): Uint8Array {
  const parsed = parseClassKey(layout, key);
  const path = parseFileKey(layout, names, key);
  const name = parsed ? classLogicalName(parsed.cls, parsed.id) : path && logicalName(path);
  try {
    return name === undefined ? new Uint8Array(0) : open({ keys, name, object: body }).content;
  } catch {
    return new Uint8Array(0);
  }
}
