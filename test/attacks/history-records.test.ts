import { describe, expect, it } from 'vitest';
import { checkpointTree } from '../../src/admin/checkpoints/checkpoint.ts';
import { expireTree } from '../../src/admin/expiry/expire.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { hasCode, type MemoryErrorCode } from '../../src/errors.ts';
import { HEADER_BYTES } from '../../src/format/header.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../../src/format/sizes.ts';
import { amount } from '../runner/thorough.ts';
import { createChance } from '../simulation/chance.ts';
import { historyOf, keepingClient, textsOf } from '../stage/history-site.ts';
import { createOperator } from '../stage/key-operator.ts';
import { at, bytes, openSite, type TestClient, type TestSite } from '../stage/test-tree.ts';

/** One for each record and more; at length by the environment. */
const ATTEMPTS = Number(process.env['HISTORY_ATTACKS'] ?? amount({ usual: 10, thorough: 24 }));
const DAY = 86_400_000;
const [A, B, X] = ['/memories/a', '/memories/b', '/memories/d/x'];
const LONG = 'x'.repeat(70_000);
/** Larger than any record but one of a version, of a part of a checkpoint or of notes may be. */
const HUGE = new Uint8Array(100_000);
const TEXTS = ['nought', 'one', 'three', 'b', 'x'];

/** The codes with which a verb may be refused because of an attacker who writes the bucket. */
const REFUSALS: readonly MemoryErrorCode[] = ['integrity', 'not_found', 'invalid_command', 'unavailable'];

/** No record of the history may stop the verbs that change files, and those that name a fault. */
const NEVER_STOPPED = ['log', 'verify', 'expire', 'edit', 'rename', 'delete'];

/** The offsets at which the fields of an object begin, and its second chunk. */
const FIELDS = [0, 8, 12, 28, 60, 76, 100, HEADER_BYTES, HEADER_BYTES + 65_552];

interface Place {
  readonly site: TestSite;
  /** The lines of two checkpoints. */
  readonly lines: readonly string[];
  readonly objects: ReadonlyMap<ObjectKey, Uint8Array>;
}

/** A tenant with a record of each kind. */
async function start(): Promise<Place> {
  const site = await openSite();
  const client = await keepingClient(site);
  const write = (path: string, text: string, actor: string) =>
    client.tree.overwrite(at(path), bytes(text), { actor });
  await write(A, 'zero', 'ann');
  await write(A, 'nought', 'ann');
  await site.time.pause(40 * DAY);
  const operator = await createOperator(site);
  await operator.rotate();
  await operator.migrate();
  await expireTree(client.tenant, { historyDays: 30, afterDays: 3_000 });
  for (const text of ['one', LONG, 'three']) await write(A, text, 'ann');
  await write(B, 'b', 'bob');
  await write(X, 'x', 'bob');
  const first = await checkpointTree(client.tenant);
  await client.tree.remove(at(B), { actor: 'bob' });
  await client.tree.rename({ from: at(A), to: at(B) }, { actor: 'ann' });
  await client.tree.rename({ from: at('/memories/d'), to: at('/memories/e') }, { actor: 'bob' });
  const oldest = (await historyOf(client).list(B)).findLast(({ path }) => path === A);
  await historyOf(client).redact(oldest ?? expect.unreachable('there is a version'), { actor: 'cyd' });
  const second = await checkpointTree(client.tenant, { since: first.line, actor: 'cyd' });
  // Checkpoints expire after 90 days; the newest stays.
  await site.time.pause(100 * DAY);
  return { site, lines: [String(first.line), String(second.line)], objects: await objectsOf(site) };
}

async function objectsOf({ base }: TestSite): Promise<ReadonlyMap<ObjectKey, Uint8Array>> {
  const found = new Map<ObjectKey, Uint8Array>();
  for await (const { objects } of base.list({ prefix: 'tenants/acme/' })) {
    for (const { key } of objects) {
      const stored = await base.get(key);
      if (typeof stored === 'object' && /\/(history|actors|checkpoints|journal\/(history|swept))/.test(key))
        found.set(key, stored.body);
    }
  }
  return found;
}

/** Everything that reads those records, and writes beside them. */
function verbsOf(client: TestClient, { lines }: Place): Readonly<Record<string, () => Promise<unknown>>> {
  const history = historyOf(client);
  const newest = async () =>
    (await history.list()).find(({ kind }) => kind === 'written') ?? { path: A, version: 'none' };
  return {
    log: () => history.list(),
    'log of a path': () => history.list(B),
    show: async () => {
      for (const entry of await history.list()) {
        expect(entry.writer).toMatch(/^(ann|bob|cyd|[\w-]{22})$/);
        const shown = await history.read(entry).catch(refused);
        if (shown !== undefined) expect([...TEXTS, LONG]).toContain(shown.text().replace(' more', ''));
      }
    },
    'restore-at': () => history.restoreAt(new Date(client.tenant.clock() - 1_000), { dryRun: true }),
    undo: () => history.undo({ writer: 'ann', dryRun: true }),
    trace: async () => history.trace(await newest()),
    redact: async () => {
      for (const entry of await history.list(B)) await history.redact(entry).catch(refused);
    },
    verify: () => verifyTree(client.tenant),
    'verify --since': async () => {
      for (const since of lines) await verifyTree(client.tenant, { since });
    },
    expire: async () => {
      // A tenant that keeps history for longer keeps checkpoints for longer as well.
      for (const historyDays of [undefined, 3_000])
        await expireTree(client.tenant, { historyDays, afterDays: 3_000 });
    },
    checkpoint: () => checkpointTree(client.tenant, { since: lines[1] }),
    edit: () => client.append(B, ' more'),
    rename: () => client.rename(B, '/memories/c'),
    delete: () => client.remove('/memories/e'),
  };
}

function refused(error: unknown): undefined {
  if (!hasCode(error, ...REFUSALS)) throw error;
}

/** With that in the place of a record: it is named, no verb is refused as anything else, and no file is stopped. */
async function expectRefused(place: Place, key: ObjectKey, forged: Uint8Array): Promise<void> {
  const { site } = place;
  await site.base.put(key, forged, { mode: 'overwrite' });
  const reader = await keepingClient(site);
  expect(await textsOf(reader)).toEqual({ [B]: 'three', '/memories/e/x': 'x' });
  expect(await verifyTree(reader.tenant), key).not.toMatchObject({ findings: [] });
  for (const [verb, run] of Object.entries(verbsOf(await keepingClient(site), place))) {
    const failure: unknown = await run().then(
      () => undefined,
      (error: unknown) => error,
    );
    const mayFail = !NEVER_STOPPED.includes(verb) && hasCode(failure, ...REFUSALS);
    expect(mayFail ? undefined : failure, `${verb} over ${key}`).toBe(undefined);
  }
}

describe('an attacker who writes the bucket', { timeout: 240_000 }, () => {
  it('gets a tampered record of any kind refused by name, never believed, and stops no file', async () => {
    const chance = createChance('tampered records');
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const own = chance.fork(String(attempt));
      const place = await start();
      const entries = [...place.objects];
      const [key, body] = entries[attempt % entries.length] ?? expect.unreachable('there is a record');
      const [, other] = own.pick(entries.filter(([each]) => each !== key));
      const from = own.pick(FIELDS.filter((offset) => offset < body.length));
      const offset = own.between(from, Math.min(from + 15, body.length - 1));
      const forged = own.pick([
        body.with(offset, (body[offset] ?? 0) ^ own.between(1, 255)),
        // A tombstone has this length: with it the record would look deleted, which the ends of chains may be.
        body.subarray(0, offset === TOMBSTONE_BYTES ? offset - 1 : offset),
        other,
        own.bytes(300),
        HUGE,
      ]);
      await expectRefused(place, key, forged);
    }
  });

  it('stops nothing by a record that is larger than any can be', async () => {
    const { objects } = await start();
    const small = [...objects.keys()].filter((key) => /\/(actors|checkpoints\/[ac]|journal)/.test(key));
    expect(small.length).toBeGreaterThan(6);
    for (const index of small.keys()) {
      const place = await start();
      // Each site has the same records in the same order.
      const keys = [...place.objects.keys()].filter((key) =>
        /\/(actors|checkpoints\/[ac]|journal)/.test(key),
      );
      await expectRefused(place, keys[index] ?? expect.unreachable('it is there'), HUGE);
    }
  });
});
