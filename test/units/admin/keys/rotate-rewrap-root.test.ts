import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readKeyStatus } from '../../../../src/admin/keys/key-status.ts';
import { type RewrapOptions, rewrapRoot } from '../../../../src/admin/keys/rotate.ts';
import type { Keyring } from '../../../../src/format/keyring-bytes.ts';
import { SHRED_MARKER } from '../../../../src/format/keyring-bytes.ts';
import { createLayout, parseTenantId } from '../../../../src/format/object-keys.ts';
import { envRootKey } from '../../../../src/keys/env-root-key.ts';
import { openKeyring } from '../../../../src/keys/keyring.ts';
import { createKeyringCache } from '../../../../src/keys/keyring-cache.ts';
import { createKeyringEditor } from '../../../../src/keys/keyring-editor.ts';
import { createRollbackGuard } from '../../../../src/keys/rollback-guard.ts';
import type { RootKey } from '../../../../src/keys/root-key.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { type Around, atFirst, interceptStore, loseAnswer } from '../../../stage/store-wrappers.ts';

const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
const random = (length: number): Uint8Array => new Uint8Array(randomBytes(length));
const oldRoot = envRootKey(new Uint8Array(32).fill(1));
const newRoot = envRootKey(new Uint8Array(32).fill(2));
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });
let store: ObjectStore;

async function stocked(): Promise<ObjectStore> {
  const made = openSqliteObjectStore({ path: ':memory:' });
  const keyrings = createKeyringCache({ store: made, layout, rootKeys: [oldRoot] });
  await keyrings.load({ create: true });
  keyrings.close();
  return made;
}

beforeEach(async () => {
  store = await stocked();
});
afterEach(() => store[Symbol.asyncDispose]());

function run(rootKeys: readonly RootKey[], options?: RewrapOptions, around?: Around) {
  const reached = around === undefined ? store : interceptStore(store, around);
  const editor = createKeyringEditor({ store: reached, layout, rootKeys, clock: Date.now, random });
  return rewrapRoot({ editor, rootKeys }, options);
}

async function secretsUnder(rootKey: RootKey): Promise<Keyring> {
  const found = await store.get(layout.keyring);
  if (typeof found !== 'object') throw new Error('there is no keyring');
  return openKeyring({ bytes: found.body, tenant: layout.tenant, rootKeys: [rootKey] });
}

async function opensWith(rootKey: RootKey): Promise<boolean> {
  const keyrings = createKeyringCache({ store, layout, rootKeys: [rootKey] });
  const loaded = await keyrings.load().catch(() => undefined);
  keyrings.close();
  return loaded !== undefined;
}

const status = (rootKeys: readonly RootKey[], around: Around = (_, proceed) => proceed()) => {
  const reached = interceptStore(store, around);
  const editor = createKeyringEditor({ store: reached, layout, rootKeys, clock: Date.now, random });
  return readKeyStatus({ rootKeys, editor });
};

describe('rewrapRoot', () => {
  it('moves the keyring to the first root key, and keeps the tenant keys', async () => {
    const before = await secretsUnder(oldRoot);
    expect(before).toMatchObject({ tenantKeys: [{ version: 1 }], epoch: 1 });
    expect(await run([newRoot, oldRoot])).toEqual({ rewrapped: true, rootId: newRoot.id, epoch: 2 });
    expect([await opensWith(oldRoot), await opensWith(newRoot)]).toEqual([false, true]);
    expect(await status([newRoot])).toMatchObject({ keys: [{ version: 1, active: true }] });
    expect(await secretsUnder(newRoot)).toEqual({ ...before, epoch: 2 });
  });

  it('does nothing when the first root key wraps it already, unless forced', async () => {
    expect(await run([oldRoot, newRoot])).toEqual({ rewrapped: false, rootId: oldRoot.id, epoch: 1 });
    expect(await run([oldRoot], { force: true })).toEqual({
      rewrapped: true,
      rootId: oldRoot.id,
      epoch: 2,
    });
  });

  it('does not wrap again, forced, what another run has wrapped by that root key meanwhile', async () => {
    const racing = atFirst('put', async (proceed) => {
      await run([newRoot, oldRoot]);
      return proceed();
    });
    expect(await run([newRoot, oldRoot], { force: true }, racing)).toMatchObject({ epoch: 2 });
    expect(await status([newRoot])).toMatchObject({ epoch: 2, wrappedByFirst: true });
  });

  it('needs the root key that wraps it now', async () => {
    await expect(run([newRoot])).rejects.toEqual(refusal('key_unavailable'));
    expect(await opensWith(oldRoot)).toBe(true);
  });

  it.each([false, true])('is done once when the answer was lost, forced: %s', async (force) => {
    expect(await run([newRoot, oldRoot], { force }, atFirst('put', loseAnswer))).toMatchObject({
      rewrapped: true,
      epoch: 2,
    });
  });
});

describe('readKeyStatus', () => {
  it('tells what the keyring holds and whether the first root key wraps it', async () => {
    const now = Date.now();
    const open = await status([oldRoot, newRoot]);
    expect(open).toMatchObject({
      state: 'open',
      epoch: 1,
      nameMode: 'encrypted',
      free: 63,
      history: 'off',
      rootId: oldRoot.id,
      wrappedByFirst: true,
      keys: [{ version: 1, active: true }],
    });
    if (open.state !== 'open') throw new Error('it did not open');
    expect(Math.abs(open.writtenAt - now)).toBeLessThan(60_000);
    expect(await status([newRoot, oldRoot])).toMatchObject({ wrappedByFirst: false });
    await run([newRoot, oldRoot]);
    expect(await status([newRoot, oldRoot])).toMatchObject({ epoch: 2, wrappedByFirst: true });
  });

  it('holds no secret', async () => {
    const text = JSON.stringify(await status([oldRoot]));
    expect(Object.keys(JSON.parse(text) as object).sort()).toEqual(
      [
        'epoch',
        'free',
        'history',
        'keys',
        'nameMode',
        'rootId',
        'state',
        'wrappedByFirst',
        'writtenAt',
      ].sort(),
    );
    expect(text).not.toMatch(/secret|wrapKey|nameKey/);
  });

  it('leaves no key of the keyring in memory', async () => {
    const editor = createKeyringEditor({ store, layout, rootKeys: [oldRoot], clock: Date.now, random });
    const read: Uint8Array[] = [];
    const watched: typeof editor = {
      ...editor,
      async inspect(request) {
        const found = await editor.inspect(request);
        if (found.state !== 'open') return found;
        const { nameKey, tenantKeys } = found.record.keyring;
        read.push(nameKey, ...tenantKeys.flatMap(({ secret, wrapKey }) => [secret, wrapKey]));
        expect(read.every((key) => key.some((byte) => byte !== 0))).toBe(true);
        return found;
      },
    };
    expect(await readKeyStatus({ rootKeys: [oldRoot], editor: watched })).toMatchObject({ state: 'open' });
    expect(read).toEqual([1, 2, 3].map(() => new Uint8Array(32)));
  });

  it('reads the keyring once, and tells a tenant that is shredded before that', async () => {
    let gets = 0;
    const around: Around = async (_, proceed) => {
      if (++gets === 2) await store.put(layout.keyring, SHRED_MARKER, { mode: 'overwrite' });
      return proceed();
    };
    expect(await status([oldRoot], around)).toMatchObject({ state: 'open', epoch: 1 });
    expect(gets).toBe(1);
    expect(await status([oldRoot], around)).toEqual({ state: 'shredded' });
  });

  it('tells a tenant whose marker this process meets while the root key answers', async () => {
    const guard = createRollbackGuard();
    const slow: RootKey = {
      id: oldRoot.id,
      generate: oldRoot.generate,
      async unwrap(...input) {
        await store.put(layout.keyring, SHRED_MARKER, { mode: 'overwrite' });
        guard.shredded();
        return oldRoot.unwrap(...input);
      },
    };
    const rootKeys = [slow];
    const editor = createKeyringEditor({ store, layout, rootKeys, guard, clock: Date.now, random });
    expect(await readKeyStatus({ rootKeys, editor })).toEqual({ state: 'shredded' });
  });

  it('names the root key that is missing', async () => {
    expect(await status([newRoot])).toEqual({ state: 'locked', rootId: oldRoot.id, epoch: 1 });
  });

  it('tells a tenant that was never there from one whose keyring is damaged', async () => {
    await store.put(layout.keyring, new Uint8Array(200), { mode: 'overwrite' });
    await expect(status([oldRoot])).rejects.toEqual(refusal('integrity'));
    await store.delete([{ key: layout.keyring }]);
    expect(await status([oldRoot])).toEqual({ state: 'absent' });
  });
});
