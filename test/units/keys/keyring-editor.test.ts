import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { Keyring } from '../../../src/format/keyring-bytes.ts';
import { SHRED_MARKER } from '../../../src/format/keyring-bytes.ts';
import { createLayout, type ObjectKey, parseTenantId } from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { rewrapKeyring, rotateKeyring } from '../../../src/keys/keyring.ts';
import { createKeyringCache } from '../../../src/keys/keyring-cache.ts';
import { createKeyringEditor, type KeyringEditor } from '../../../src/keys/keyring-editor.ts';
import { createRollbackGuard } from '../../../src/keys/rollback-guard.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import type { ObjectStore, StoredObject } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import {
  type Around,
  atFirst,
  interceptStore,
  loseAnswer,
  noAnswer,
  sendTwice,
} from '../../stage/store-wrappers.ts';

const layout = createLayout({ prefix: 'p', tenant: parseTenantId('acme') });
const oldRoot = envRootKey(new Uint8Array(32).fill(1));
const newRoot = envRootKey(new Uint8Array(32).fill(2));
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });

let base: ObjectStore;
let time = 1_700_000_000_000;

beforeAll(loadSodium);
beforeEach(async () => {
  time = 1_700_000_000_000;
  base = openSqliteObjectStore({ path: ':memory:', clock: () => time });
  const keyrings = createKeyringCache({ store: base, layout, rootKeys: [oldRoot] });
  await keyrings.load({ create: true });
  keyrings.close();
});
afterEach(() => base[Symbol.asyncDispose]());

function editor(
  options: {
    readonly around?: Around;
    readonly rootKeys?: readonly RootKey[];
    readonly minimumEpoch?: number | undefined;
  } = {},
): KeyringEditor {
  const { around = (_, proceed) => proceed(), rootKeys = [oldRoot], minimumEpoch } = options;
  const store = interceptStore(base, around);
  return createKeyringEditor({ store, layout, rootKeys, minimumEpoch, clock: () => time, random });
}

const rotated = (keyring: Keyring): Keyring => rotateKeyring(keyring, { random, created: time });

async function stored(): Promise<{ readonly epoch: number; readonly versions: readonly number[] }> {
  const record = await editor({ rootKeys: [oldRoot, newRoot] }).read();
  if (record === undefined) throw new Error('no keyring is stored');
  return {
    epoch: record.keyring.epoch,
    versions: record.keyring.tenantKeys.map(({ version }) => version),
  };
}

const allZero = (bytes: Uint8Array | undefined): boolean => bytes?.every((byte) => byte === 0) ?? false;

describe('KeyringEditor.fetch', () => {
  it('takes no keyring of its own into use where another was created first and is gone again', async () => {
    const { body } = (await base.get(layout.keyring)) as StoredObject;
    await base.delete([{ key: layout.keyring }]);
    const subject = editor({
      async around(call, proceed) {
        if (call.verb !== 'put') return proceed();
        await base.put(layout.keyring, body, { mode: 'create' });
        const answer = await proceed();
        await base.delete([{ key: layout.keyring }]);
        return answer;
      },
    });
    await expect(subject.fetch({ create: true })).rejects.toEqual(refusal('unavailable'));
  });

  it('tells as the cause why its own keyring could not be confirmed', async () => {
    await base.delete([{ key: layout.keyring }]);
    const subject = editor({
      around: (call, proceed) => (call.verb === 'put' ? Promise.reject(noAnswer()) : proceed()),
    });
    await expect(subject.fetch({ create: true })).rejects.toMatchObject({
      code: 'unavailable',
      cause: { code: 'outcome_unknown' },
    });
  });
});

describe('KeyringEditor.fetch of a keyring that is gone', () => {
  it.each([
    ['this process has seen it', undefined, true],
    ['an epoch is pinned for this tenant', 2, false],
  ])('creates none, and tells why: %s', async (why, minimumEpoch, isRead) => {
    const subject = editor({ minimumEpoch });
    if (isRead) await subject.read();
    await base.delete([{ key: layout.keyring }]);
    await expect(subject.fetch({ create: true })).rejects.toMatchObject({
      code: 'key_unavailable',
      message: expect.stringContaining(`although ${why};`),
    });
    expect(await base.get(layout.keyring)).toBeUndefined();
  });
});

describe('KeyringEditor.fetch of a keyring that comes late', () => {
  const signals: unknown[] = [];
  const { signal } = new AbortController();
  beforeEach(() => {
    signals.length = 0;
  });

  /** An editor whose requests `meet` has done something before, and whose root key notes its signals too. */
  function meeting(meet: (verb: string) => Promise<unknown>) {
    const met = interceptStore(base, async (call, proceed) => {
      await meet(call.verb);
      return proceed();
    });
    const store: ObjectStore = {
      ...met,
      get(key, options) {
        signals.push(options?.signal);
        return met.get(key, options);
      },
    };
    const unwrap: RootKey['unwrap'] = (wrapped, context, options) => {
      signals.push(options?.signal);
      return oldRoot.unwrap(wrapped, context);
    };
    const rootKeys = [{ id: oldRoot.id, generate: oldRoot.generate, unwrap }];
    return createKeyringEditor({ store, layout, rootKeys, clock: () => time, random });
  }

  it('reads it with the caller’s signal, made by another process beside data', async () => {
    const { body } = (await base.get(layout.keyring)) as StoredObject;
    await base.delete([{ key: layout.keyring }]);
    const subject = meeting(async (verb) => {
      if (verb !== 'list') return;
      await base.put(layout.keyring, body, { mode: 'overwrite' });
      await base.put(`${layout.data}x` as ObjectKey, Uint8Array.of(1), { mode: 'overwrite' });
    });
    expect((await subject.fetch({ create: true, signal }))?.keyring.epoch).toBe(1);
    expect(signals).toEqual([signal, signal, signal]);
  });

  it('reads it with the caller’s signal, made by another process at the time of the write', async () => {
    const { body } = (await base.get(layout.keyring)) as StoredObject;
    await base.delete([{ key: layout.keyring }]);
    const subject = meeting(async (verb) => {
      if (verb === 'put') await base.put(layout.keyring, body, { mode: 'overwrite' });
    });
    const found = await subject.fetch({ create: true, signal });
    expect(found?.bytes).toEqual(body);
    expect(new Set(signals)).toEqual(new Set([signal]));
  });
});

describe('KeyringEditor.inspect', () => {
  it('tells of nothing, a marker, a foreign root key, and an open keyring', async () => {
    const inspected = (...rootKeys: readonly RootKey[]) => editor({ rootKeys }).inspect();
    expect(await inspected(newRoot, oldRoot)).toMatchObject({
      state: 'open',
      record: { rootId: oldRoot.id, keyring: { epoch: 1 } },
    });
    expect(await inspected(newRoot)).toEqual({ state: 'locked', rootId: oldRoot.id, epoch: 1 });
    expect(await inspected()).toEqual({ state: 'locked', rootId: oldRoot.id, epoch: 1 });
    await base.put(layout.keyring, SHRED_MARKER, { mode: 'overwrite' });
    expect(await inspected(oldRoot)).toEqual({ state: 'shredded' });
    await base.delete([{ key: layout.keyring }]);
    expect(await inspected(oldRoot)).toEqual({ state: 'absent' });
  });

  it('looks again where it was overtaken', async () => {
    const guard = createRollbackGuard();
    const of = (store: ObjectStore) =>
      createKeyringEditor({ store, layout, rootKeys: [oldRoot], guard, clock: () => time, random });
    const around = atFirst('get', async (proceed) => {
      const answer = await proceed();
      await of(base).change(({ keyring }) => rotated(keyring));
      return answer;
    });
    expect(await of(interceptStore(base, around)).inspect()).toMatchObject({
      state: 'open',
      record: { keyring: { epoch: 2 } },
    });
  });
});

describe('KeyringEditor.read', () => {
  it('refuses the other name mode with the reason', async () => {
    const subject = createKeyringEditor({
      store: base,
      layout,
      rootKeys: [oldRoot],
      nameMode: 'plain',
      clock: () => time,
      random,
    });
    await expect(subject.read()).rejects.toMatchObject({
      code: 'misconfigured',
      details: { reason: 'name_mode' },
    });
  });

  it('finds the keyring with its root, its version and its age by the clock of the store', async () => {
    time += 90_000;
    const record = await editor().read();
    expect(record).toMatchObject({
      rootId: oldRoot.id,
      writtenAt: 1_700_000_000_000,
      ageMs: 90_000,
      keyring: { epoch: 1 },
    });
  });

  it('finds nothing where there is none', async () => {
    await base.delete([{ key: layout.keyring }]);
    expect(await editor().read()).toBeUndefined();
  });

  it('refuses what is older than what it has read before', async () => {
    const subject = editor();
    const before = await base.get(layout.keyring);
    if (typeof before !== 'object') throw new Error('no keyring is stored');
    await subject.change(({ keyring }) => rotated(keyring));
    await base.put(layout.keyring, before.body, { mode: 'overwrite' });
    await expect(subject.read()).rejects.toEqual(refusal('integrity'));
  });

  it('refuses an epoch below the pinned one', async () => {
    await expect(editor({ minimumEpoch: 2 }).read()).rejects.toEqual(refusal('integrity'));
    expect(await editor({ minimumEpoch: 1 }).read()).toBeDefined();
  });
});

describe('KeyringEditor.change', () => {
  it('writes what is decided, one epoch later', async () => {
    time += 5_000;
    const { record, changed } = await editor().change(({ keyring }) => rotated(keyring));
    expect(changed).toBe(true);
    expect(record).toMatchObject({ rootId: oldRoot.id, writtenAt: time, ageMs: 0 });
    expect(await stored()).toEqual({ epoch: 2, versions: [1, 2] });
    expect(record.etag).toBe((await editor().read())?.etag);
  });

  it('writes nothing when the change is declined', async () => {
    const before = await base.head(layout.keyring);
    const { record, changed } = await editor().change(() => undefined);
    expect(changed).toBe(false);
    expect(record.keyring.epoch).toBe(1);
    expect(await base.head(layout.keyring)).toEqual(before);
  });

  it('wraps with the first root key, whichever of them opened', async () => {
    const { record } = await editor({ rootKeys: [newRoot, oldRoot] }).change(({ keyring }) =>
      rewrapKeyring(keyring),
    );
    expect(record.rootId).toBe(newRoot.id);
    expect((await editor({ rootKeys: [newRoot] }).read())?.keyring.epoch).toBe(2);
    await expect(editor({ rootKeys: [oldRoot] }).read()).rejects.toEqual(refusal('key_unavailable'));
  });

  it('asks again about what is there when another process won the race', async () => {
    const seen: number[] = [];
    const faster = atFirst('put', async (proceed) => {
      await editor().change(({ keyring }) => rotated(keyring));
      return proceed();
    });
    const { changed } = await editor({ around: faster }).change(({ keyring }) => {
      seen.push(keyring.epoch);
      return rotated(keyring);
    });
    expect(changed).toBe(true);
    expect(seen).toEqual([1, 2]);
    expect(await stored()).toEqual({ epoch: 3, versions: [1, 2, 3] });
  });

  it('knows its own write when the condition failed after an attempt of its own', async () => {
    let decided = 0;
    const { changed } = await editor({ around: atFirst('put', sendTwice) }).change(({ keyring }) => {
      decided += 1;
      return rewrapKeyring(keyring);
    });
    expect([changed, decided]).toEqual([true, 1]);
    expect(await stored()).toEqual({ epoch: 2, versions: [1] });
  });

  it('knows its own write when the lost attempt arrives before the one that was sent again', async () => {
    let puts = 0;
    let late: (() => Promise<unknown>) | undefined;
    let decided = 0;
    const around: Around = async (call, proceed) => {
      if (call.verb !== 'put') return proceed();
      puts += 1;
      if (puts > 1) await late?.();
      else late = () => base.put(call.key, call.body, { mode: call.mode });
      if (puts === 1) throw noAnswer();
      return proceed();
    };
    const { changed } = await editor({ around }).change(({ keyring }) => {
      decided += 1;
      return rewrapKeyring(keyring);
    });
    expect([changed, decided, puts]).toEqual([true, 1, 2]);
    expect(await stored()).toEqual({ epoch: 2, versions: [1] });
  });

  it('builds on what another process wrote where its own answer was lost', async () => {
    let puts = 0;
    const around: Around = async (call, proceed) => {
      if (call.verb !== 'put' || ++puts > 1) return proceed();
      await editor().change(({ keyring }) => rotated(keyring));
      throw noAnswer();
    };
    const { changed } = await editor({ around }).change(({ keyring }) => rewrapKeyring(keyring));
    expect([changed, puts]).toEqual([true, 2]);
    expect(await stored()).toEqual({ epoch: 3, versions: [1, 2] });
  });

  it.each([
    ['none of three attempts is answered', 3, () => Promise.reject(noAnswer())],
    [
      'a refusal follows an attempt without an answer',
      2,
      (puts: number) => Promise.reject(puts === 1 ? noAnswer() : new MemoryError('access_denied', 'no')),
    ],
  ])('does not know the outcome where %s', async (_, expected, answer) => {
    let puts = 0;
    const around: Around = (call, proceed) => (call.verb === 'put' ? answer(++puts) : proceed());
    const changing = editor({ around }).change(({ keyring }) => rewrapKeyring(keyring));
    await expect(changing).rejects.toEqual(refusal('outcome_unknown'));
    expect(puts).toBe(expected);
  });

  it('does not know the outcome where it cannot read back what it wrote', async () => {
    let lost = false;
    const around: Around = (call, proceed) => {
      if (call.verb === 'put') {
        lost = true;
        return loseAnswer(proceed);
      }
      return lost ? Promise.reject(new MemoryError('unavailable', 'down')) : proceed();
    };
    const changing = editor({ around }).change(({ keyring }) => rewrapKeyring(keyring));
    await expect(changing).rejects.toEqual(refusal('outcome_unknown'));
  });

  it('accepts that the change is declined after a lost race', async () => {
    const faster = atFirst('put', async (proceed) => {
      await editor().change(({ keyring }) => rotated(keyring));
      return proceed();
    });
    const { changed, record } = await editor({ around: faster }).change(({ keyring }) =>
      keyring.epoch === 1 ? rotated(keyring) : undefined,
    );
    expect(changed).toBe(false);
    expect(record.keyring.epoch).toBe(2);
  });

  it('keeps every change of many that race', async () => {
    await Promise.all(Array.from({ length: 8 }, () => editor().change(({ keyring }) => rotated(keyring))));
    expect((await stored()).versions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('recognises its own write when the answer to it was lost', async () => {
    let asked = 0;
    const { changed } = await editor({ around: atFirst('put', loseAnswer) }).change(({ keyring }) => {
      asked += 1;
      return rotated(keyring);
    });
    expect({ changed, asked }).toEqual({ changed: true, asked: 1 });
    expect(await stored()).toEqual({ epoch: 2, versions: [1, 2] });
  });

  it('sends the same bytes again when the write did not land', async () => {
    const bodies: Uint8Array[] = [];
    const subject = editor({
      around: (call, proceed) => {
        if (call.verb !== 'put') return proceed();
        bodies.push(call.body);
        return bodies.length === 1 ? Promise.reject(noAnswer()) : proceed();
      },
    });
    expect((await subject.change(({ keyring }) => rotated(keyring))).changed).toBe(true);
    expect(bodies).toHaveLength(2);
    expect(bodies[0]).toEqual(bodies[1]);
  });

  it('says so when it cannot know whether the write landed', async () => {
    let lost = false;
    const subject = editor({
      around: (call, proceed) => {
        if (call.verb === 'put') lost = true;
        return lost ? Promise.reject(noAnswer()) : proceed();
      },
    });
    await expect(subject.change(({ keyring }) => rotated(keyring))).rejects.toEqual(
      refusal('outcome_unknown'),
    );
  });

  it('refuses to change what is not there, or was destroyed', async () => {
    await base.delete([{ key: layout.keyring }]);
    await expect(editor().change(({ keyring }) => rotated(keyring))).rejects.toEqual(
      refusal('key_unavailable'),
    );
    await base.put(layout.keyring, SHRED_MARKER, { mode: 'create' });
    await expect(editor().change(({ keyring }) => rotated(keyring))).rejects.toEqual(
      refusal('key_unavailable'),
    );
  });

  it('overwrites the keys that are dropped, and all of them when it fails', async () => {
    const met: Keyring[] = [];
    await editor().change(({ keyring }) => rotated(keyring));
    const { record } = await editor().change(({ keyring }) => {
      met.push(keyring);
      return { ...rewrapKeyring(keyring), tenantKeys: keyring.tenantKeys.slice(-1) };
    });
    expect(met[0]?.tenantKeys.map(({ secret, wrapKey }) => [allZero(secret), allZero(wrapKey)])).toEqual([
      [true, true],
      [false, false],
    ]);
    expect(record.keyring.tenantKeys.map(({ secret }) => allZero(secret))).toEqual([false]);

    const failing = editor({
      around: (call, proceed) => (call.verb === 'put' ? Promise.reject(new Error('no')) : proceed()),
    });
    const made: Keyring[] = [];
    await expect(
      failing.change(({ keyring }) => {
        const next = rotated(keyring);
        made.push(keyring, next);
        return next;
      }),
    ).rejects.toThrow('no');
    expect(made.flatMap(({ tenantKeys }) => tenantKeys).every(({ secret }) => allZero(secret))).toBe(true);
    expect(made.every(({ nameKey }) => allZero(nameKey))).toBe(true);
  });
});
