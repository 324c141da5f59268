import { beforeEach, describe, expect, it } from 'vitest';
import { createOperatorVerbs } from '../../../src/admin/operator-verbs.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { FOLLOWED_MS } from '../../../src/keys/keyring.ts';
import { createRollbackGuard } from '../../../src/keys/rollback-guard.ts';
import { openSite, TEST_ROOT_KEY, type TestClient, type TestSite } from '../../stage/test-tree.ts';

type Verbs = ReturnType<typeof createOperatorVerbs>;

const OTHER = envRootKey(new Uint8Array(32).fill(9));
let site: TestSite;
let client: TestClient;

beforeEach(async () => {
  site = await openSite();
  client = await site.client();
});

/** The verbs of a process whose first root key wraps nothing yet. */
function verbsOf({ tenant }: TestClient, options: { readonly readOnly?: boolean } = {}): Verbs {
  return createOperatorVerbs(
    { ...tenant, ...options },
    {
      rootKeys: [OTHER, envRootKey(TEST_ROOT_KEY)],
      guard: createRollbackGuard(),
      versions: undefined,
    },
  );
}

describe('a memory that was opened for reading only', () => {
  it.each<readonly [string, (verbs: Verbs) => Promise<unknown>]>([
    ['rotate', (verbs) => verbs.rotate()],
    ['migrate', (verbs) => verbs.migrate()],
    ['rewrapRoot', (verbs) => verbs.rewrapRoot()],
    ['switchHistory', (verbs) => verbs.switchHistory('on')],
    ['shred', (verbs) => verbs.shred({ ttlMs: 0 })],
  ])('refuses %s before any request', async (_, call) => {
    await client.create('/memories/a', 'x');
    client.calls.length = 0;
    await expect(call(verbsOf(client, { readOnly: true }))).rejects.toMatchObject({ code: 'read_only' });
    expect(client.calls).toEqual([]);
  });

  it('tells the state of its keys', async () => {
    await client.create('/memories/a', 'x');
    const verbs = verbsOf(client, { readOnly: true });
    expect(await verbs.keyStatus()).toMatchObject({ state: 'open', epoch: 1, wrappedByFirst: false });
    expect(await verbs.rootKeyStatus()).toMatchObject({ keyring: 'open' });
  });
});

describe('the time to live', () => {
  it.each([
    ['migrate', 60_000, 900_000],
    ['shred', 0, 900_000],
  ] as const)('that %s takes is a whole number of %i to %i ms', async (verb, least, most) => {
    await client.create('/memories/a', 'x');
    for (const ttlMs of [least - 1, most + 1, least + 0.5, Number.NaN]) {
      await expect(verbsOf(client)[verb]({ ttlMs })).rejects.toMatchObject({ code: 'misconfigured' });
    }
    expect(await client.text('/memories/a')).toBe('x');
    for (const ttlMs of [least, most]) await verbsOf(await site.client())[verb]({ ttlMs });
  });
});

describe('turning history', () => {
  it('on makes the keyring of a tenant that nothing was written for', async () => {
    const verbs = verbsOf(client);
    expect(await verbs.keyStatus()).toEqual({ state: 'absent' });
    expect(await verbs.switchHistory('on')).toEqual({ history: 'on', changed: true, epoch: 2 });
    const historySince = site.time.clock() + FOLLOWED_MS;
    expect(await verbs.keyStatus()).toMatchObject({ state: 'open', history: 'on', historySince });
  });

  it.each(['off', 'anew'] as const)('%s makes no keyring', async (to) => {
    const verbs = verbsOf(client);
    await expect(verbs.switchHistory(to)).rejects.toMatchObject({ code: 'key_unavailable' });
    expect(await verbs.keyStatus()).toEqual({ state: 'absent' });
  });

  it('is told whether it changed anything', async () => {
    const verbs = verbsOf(client);
    const turn = async (to: 'on' | 'off' | 'anew') => verbs.switchHistory(to);
    expect(await turn('on')).toEqual({ history: 'on', changed: true, epoch: 2 });
    expect(await turn('on')).toEqual({ history: 'on', changed: false, epoch: 2 });
    expect(await turn('anew')).toEqual({ history: 'on', changed: true, epoch: 3 });
    expect(await turn('off')).toEqual({ history: 'off', changed: true, epoch: 4 });
    expect(await turn('off')).toEqual({ history: 'off', changed: false, epoch: 4 });
    await expect(turn('anew')).rejects.toMatchObject({ code: 'misconfigured' });
    expect(await verbs.keyStatus()).toMatchObject({ history: 'off', epoch: 4 });
  });

  it('takes three words, and no other', async () => {
    for (const to of ['', 'On', 'true']) {
      const turning = verbsOf(client).switchHistory(to as 'on');
      await expect(turning).rejects.toMatchObject({ code: 'misconfigured' });
    }
    expect(await verbsOf(client).keyStatus()).toEqual({ state: 'absent' });
  });

  it('is cancelled with its caller', async () => {
    const signal = AbortSignal.abort();
    for (const to of ['on', 'off'] as const) {
      await expect(verbsOf(client).switchHistory(to, { signal })).rejects.toMatchObject({ code: 'aborted' });
    }
    expect(await verbsOf(client).keyStatus()).toEqual({ state: 'absent' });
  });
});

it('a new root key and rotations follow each other, forced where asked for', async () => {
  await client.create('/memories/a', 'x');
  const verbs = verbsOf(client);
  expect(await verbs.rewrapRoot()).toEqual({ rewrapped: true, rootId: OTHER.id, epoch: 2 });
  expect(await verbs.rewrapRoot()).toMatchObject({ rewrapped: false, epoch: 2 });
  expect(await verbs.rewrapRoot({ force: true })).toMatchObject({ rewrapped: true, epoch: 3 });
  expect(await verbs.rotate()).toMatchObject({ rotated: true, version: 2 });
  expect(await verbs.rotate()).toMatchObject({ rotated: false, version: 2 });
  expect(await verbs.rotate({ force: true })).toMatchObject({ rotated: true, version: 3, held: 3 });
  const created = site.time.clock();
  expect(await verbs.keyStatus()).toEqual({
    state: 'open',
    epoch: 5,
    nameMode: 'encrypted',
    history: 'off',
    rootId: OTHER.id,
    wrappedByFirst: true,
    writtenAt: created,
    keys: [1, 2, 3].map((version) => ({ version, created, active: version === 3 })),
    free: 61,
  });
});

it('a tenant that was shredded is closed to the process that shredded it, at once', async () => {
  await client.create('/memories/a', 'x');
  const begun = site.time.clock();
  expect(await verbsOf(client).shred({ ttlMs: 0 })).toMatchObject({ marked: true, objects: 1 });
  expect(site.time.clock()).toBe(begun);
  client.calls.length = 0;
  await expect(client.text('/memories/a')).rejects.toMatchObject({ code: 'key_unavailable' });
  expect(client.calls.filter((call) => 'key' in call && call.key.includes('/data/'))).toEqual([]);
  expect(await verbsOf(client).keyStatus()).toEqual({ state: 'shredded' });
});
