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

/** One version of an object, wherever it was kept. */
interface StoredBytes {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
}

/**
 * Where a text lies: in the bytes of objects, and in what they hold when they are opened with the keys of any keyring
 * that is among them. Keys of objects, each once.
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

/** Nothing where these keys do not open it. */
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
