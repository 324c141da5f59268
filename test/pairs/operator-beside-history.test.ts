import { describe, expect, it } from 'vitest';
import { writeCheckpoint } from '../../src/admin/checkpoints/checkpoint.ts';
import { expireTree } from '../../src/admin/expiry/expire.ts';
import type { Finding } from '../../src/admin/findings.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { hasReason } from '../../src/errors.ts';
import type { HistoryEntry } from '../../src/history/past/entries.ts';
import { amount } from '../runner/thorough.ts';
import { historyOf, textsOf } from '../stage/history-site.ts';
import { createOperator } from '../stage/key-operator.ts';
import {
  at,
  bytes,
  openSite,
  STORE_KINDS,
  type StoreKind,
  type TestClient,
  type TestSite,
} from '../stage/test-tree.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const [A, X, Y] = ['/memories/a', '/memories/d/x', '/memories/d/y'];

/** A process of a tenant that keeps history; each of its requests takes time, and it holds no keyring. */
async function newProcess(site: TestSite): Promise<TestClient> {
  const client = await site.client({
    keepsHistory: true,
    ttlMs: 0,
    clock: () => Math.floor(site.time.clock()),
  });
  client.intercept(async (_, proceed) => {
    await site.time.pause(2);
    return proceed();
  });
  return client;
}

const write = (client: TestClient, path: string, text: string, actor: string): Promise<unknown> =>
  client.tree.overwrite(at(path), bytes(text), { actor });

/** The deeds of a process whose tenant keeps history. */
const DEEDS: Readonly<Record<string, (client: TestClient) => Promise<unknown>>> = {
  'an edit': (client) =>
    client.tree.edit(
      at(A),
      (content) => ({ content: bytes(`${new TextDecoder().decode(content)}, edited`), result: '' }),
      { actor: 'cyd' },
    ),
  'an overwrite': (client) => write(client, A, 'overwritten', 'cyd'),
  'a delete': (client) => client.tree.remove(at(A), { actor: 'cyd' }),
  'the delete of a directory': (client) => client.tree.remove(at('/memories/d'), { actor: 'cyd' }),
  'a rename': (client) => client.tree.rename({ from: at(A), to: at('/memories/b') }, { actor: 'cyd' }),
  'the rename of a directory': (client) =>
    client.tree.rename({ from: at('/memories/d'), to: at('/memories/e') }, { actor: 'cyd' }),
  'a restore': async (client) => {
    const history = historyOf(client);
    const entries = await history.list(A);
    return history.restore(entries.at(-1) ?? expect.unreachable('there is a version'), { actor: 'cyd' });
  },
  'an undo': (client) => historyOf(client).undo({ writer: 'bob', actor: 'cyd' }),
  'a restore of all files': (client) =>
    historyOf(client).restoreAt(new Date(client.tenant.clock() - 2 * DAY - 1_000), { actor: 'cyd' }),
  'a redaction': async (client) => {
    const history = historyOf(client);
    const entries = await history.list(A);
    return history.redact(entries.at(-1) ?? expect.unreachable('there is a version'), { actor: 'cyd' });
  },
};

interface Place {
  readonly site: TestSite;
  readonly client: TestClient;
}

/** The verbs that an operator runs meanwhile. */
const VERBS: Readonly<Record<string, (site: TestSite) => Promise<unknown>>> = {
  rotate: async (site) => (await createOperator(site, await newProcess(site))).rotate(),
  migrate: (site) => migrate(site, false),
  'migrate --reencrypt': (site) => migrate(site, true),
  'verify --repair': async (site) => {
    await site.time.pause(61_000);
    const { findings } = await verifyTree((await newProcess(site)).tenant, { repair: true });
    return findings;
  },
  checkpoint: async (site) => writeCheckpoint((await newProcess(site)).tenant),
  expire: async (site) => expireTree((await newProcess(site)).tenant, { historyDays: 30, afterDays: 3_000 }),
};

/** Rotates the keys, and retires the old one where nothing young stands in the way. */
async function migrate(site: TestSite, reencrypt: boolean): Promise<unknown> {
  const operator = await createOperator(site, await newProcess(site));
  await operator.rotate();
  await site.time.pause(61_000);
  return operator.migrate({ reencrypt });
}

async function start(kind: StoreKind): Promise<Place> {
  const site = await openSite(kind);
  const client = await newProcess(site);
  await write(client, A, 'one', 'ann');
  await write(client, X, 'x of ann', 'ann');
  await site.time.pause(DAY);
  await write(client, A, 'two', 'ann');
  await write(client, Y, 'y of bob', 'bob');
  await client.tree.rename({ from: at(X), to: at('/memories/z') }, { actor: 'bob' });
  await client.tree.rename({ from: at('/memories/z'), to: at(X) }, { actor: 'bob' });
  await site.time.pause(2 * DAY);
  await write(client, A, 'three', 'bob');
  await write(client, X, 'x of bob', 'bob');
  await site.time.pause(HOUR);
  return { site, client };
}

interface Outcome {
  readonly texts: unknown;
  readonly past: readonly string[];
  readonly findings: readonly Finding[];
}

/** Answers what the next process finds an hour later, without times and ids. */
async function outcomeOf({ site }: Place): Promise<Outcome> {
  await site.time.pause(HOUR);
  const reader = await newProcess(site);
  // Its first command finishes what was left half-way.
  const texts = await textsOf(reader);
  const history = historyOf(reader);
  const told = async (entry: HistoryEntry): Promise<string> => {
    const { kind, path, writer } = entry;
    if (entry.kind !== 'written') return `${kind} ${path} -> ${entry.to} by ${writer}`;
    const redacted = `taken out by ${entry.redacted?.writer}`;
    const text = entry.text === 'redacted' ? redacted : (await history.read(entry)).text();
    return `${kind} ${path} ${entry.end} by ${writer}: ${text}`;
  };
  const past = await Promise.all((await history.list()).map(told));
  const { findings } = await verifyTree(reader.tenant);
  // The history may tell events that happened at once in any order.
  return { texts, past: past.toSorted(), findings };
}

/** A renamer that was frozen while a repair made two places one does not say that it was its rename. */
function withoutRenamer({ past, ...rest }: Outcome): Outcome {
  return { ...rest, past: past.map((line) => line.replace(/^(renamed .*) by .*/, '$1')).toSorted() };
}

/** Before so many requests of each deed, spread over all of it, an operator comes. */
const MEETINGS = Number(process.env['PAIRS_MEETINGS'] ?? amount({ usual: 2, thorough: 6 }));

describe.each(STORE_KINDS)('on a %s store, at any request', (kind) => {
  const pairs = Object.entries(DEEDS).flatMap(([deed, run]) =>
    Object.entries(VERBS).map(([verb, meet]) => [deed, verb, run, meet] as const),
  );
  it.each(pairs)('%s ends beside %s as if it had been alone', async (_, __, run, meet) => {
    const alone = await start(kind);
    alone.client.calls.length = 0;
    await run(alone.client);
    const requests = alone.client.calls.length;
    const expected = await outcomeOf(alone);
    expect(expected.findings).toEqual([]);
    const meetings = Math.min(MEETINGS, requests);
    for (let meeting = 0; meeting < meetings; meeting++) {
      const before = Math.floor((requests * meeting) / meetings);
      const place = await start(kind);
      let sent = 0;
      place.client.intercept(async (_, proceed) => {
        await place.site.time.pause(2);
        if (sent++ === before) await meet(place.site);
        return proceed();
      });
      const failure: unknown = await run(place.client).then(
        () => undefined,
        (error: unknown) => error,
      );
      const outcome = await outcomeOf(place);
      // A rename that was frozen for so long was finished by another process, and says so.
      if (failure !== undefined && !hasReason(failure, 'both_kept'))
        expect(failure).toMatchObject({ code: 'outcome_unknown' });
      if (hasReason(failure, 'both_kept')) expect(withoutRenamer(outcome)).toEqual(withoutRenamer(expected));
      else expect(outcome).toEqual(expected);
    }
  });
});
