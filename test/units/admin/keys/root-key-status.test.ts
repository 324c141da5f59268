import { beforeEach, describe, expect, it } from 'vitest';
import {
  type ConfiguredRootKey,
  type RootKeyStatus,
  readRootKeyStatus,
} from '../../../../src/admin/keys/root-key-status.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { SHRED_MARKER } from '../../../../src/format/keyring-bytes.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { envRootKey } from '../../../../src/keys/env-root-key.ts';
import { createKeyringEditor } from '../../../../src/keys/keyring-editor.ts';
import type { RootKey } from '../../../../src/keys/root-key.ts';
import { type Around, atFirst, interceptStore } from '../../../stage/store-wrappers.ts';
import { openSite, TEST_ROOT_KEY, type TestSite } from '../../../stage/test-tree.ts';

const KEYRING = 'keyrings/acme' as ObjectKey;
const [OWN, OTHER] = [envRootKey(TEST_ROOT_KEY), envRootKey(new Uint8Array(32).fill(9))];
let site: TestSite;

beforeEach(async () => {
  site = await openSite();
});

async function status(
  rootKeys = [OTHER, OWN],
  around: Around = (_, proceed) => proceed(),
): Promise<RootKeyStatus> {
  const { layout, stamps, random } = (await site.client()).tenant;
  const store = interceptStore(site.base, around);
  const editor = createKeyringEditor({ store, layout, rootKeys, clock: stamps.now, random });
  return readRootKeyStatus({ rootKeys, editor });
}

async function write(): Promise<void> {
  await (await site.client()).create('/memories/a', 'x');
}

/** A root key as it is told; it neither wraps nor opens the keyring unless that is said. */
function told(rootKey: RootKey, does: Partial<ConfiguredRootKey> = {}): ConfiguredRootKey {
  return { id: rootKey.id, wraps: false, opens: false, ...does };
}

describe('the root keys are told', () => {
  it('of a tenant without a keyring', async () => {
    expect(await status()).toEqual({
      keyring: 'absent',
      rootKeys: [told(OTHER), told(OWN)],
    });
  });

  it('with the one that wraps the keyring, and opens it', async () => {
    await write();
    expect(await status()).toEqual({
      keyring: 'open',
      wrappedBy: OWN.id,
      rootKeys: [told(OTHER), told(OWN, { wraps: true, opens: true })],
    });
  });

  it('with the id of the one that is not configured', async () => {
    await write();
    expect(await status([OTHER])).toEqual({
      keyring: 'locked',
      wrappedBy: OWN.id,
      rootKeys: [told(OTHER)],
    });
  });

  it('of a tenant that was shredded', async () => {
    await write();
    await site.base.put(KEYRING, SHRED_MARKER, { mode: 'overwrite' });
    expect(await status([OWN])).toEqual({ keyring: 'shredded', rootKeys: [told(OWN)] });
  });

  it('with the one that does not open the keyring, and why', async () => {
    await write();
    const found = await site.base.get(KEYRING);
    if (typeof found !== 'object') throw new Error('there is no keyring');
    const last = found.body.length - 1;
    const changed = found.body.with(last, (found.body[last] ?? 0) ^ 1);
    await site.base.put(KEYRING, changed, { mode: 'overwrite' });
    expect(await status([OWN])).toEqual({
      keyring: 'unread',
      wrappedBy: OWN.id,
      rootKeys: [told(OWN, { wraps: true })],
      failure: { code: 'integrity', message: expect.stringContaining('keyring') },
    });
  });

  it('where the store does not answer, and why', async () => {
    await write();
    const refuse = atFirst('get', () => Promise.reject(new MemoryError('access_denied', 'no')));
    expect(await status([OWN], refuse)).toEqual({
      keyring: 'unread',
      rootKeys: [told(OWN)],
      failure: { code: 'access_denied', message: 'no' },
    });
  });
});

it.each([
  ['the caller’s cancelling', new MemoryError('aborted', 'no')],
  ['a fault of the program', new TypeError('no')],
])('%s is no state of the root keys', async (_, error) => {
  await write();
  await expect(
    status(
      [OWN],
      atFirst('get', () => Promise.reject(error)),
    ),
  ).rejects.toBe(error);
});
