import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LocalWorker, startLocalWorker, wordsOf } from '../../infra/local/lambda/local-worker.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { findTraces } from '../stage/traces.ts';

const LARGE = 'canary-large '.repeat(8_000);
const rootKey = randomBytes(32).toString('base64');

let store: ObjectStore;
let site: LocalWorker;
let turns = 0;
beforeEach(async () => {
  store = openSqliteObjectStore({ path: ':memory:' });
  site = await startLocalWorker(store, undefined, { memory: { store, rootKey } });
});
afterEach(async () => {
  await site[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

async function objects(prefix: string): Promise<ReadonlyMap<ObjectKey, Uint8Array>> {
  const found = new Map<ObjectKey, Uint8Array>();
  for await (const page of store.list({ prefix })) {
    for (const { key } of page.objects) {
      const stored = await store.get(key);
      if (typeof stored === 'object') found.set(key, stored.body);
    }
  }
  return found;
}

/** The objects of class `conversations` that a turn has written, its head first. */
async function converse(
  conversation: string,
  { tenant = 'acme', prompt = LARGE } = {},
): Promise<{ readonly head: ObjectKey; readonly body: ObjectKey; readonly bytes: Uint8Array }> {
  const prefix = `tenants/${tenant}/conversations/`;
  const before = await objects(prefix);
  const done = await site.deliver([{ tenant, conversation, turn: `canary-turn-${++turns}`, prompt }]);
  expect(done).toEqual({ batchItemFailures: [] });
  const after = await objects(prefix);
  const changed = [...after.keys()].filter((key) => !equal(before.get(key), after.get(key)));
  const [head, body] = ['h', 'b'].map((kind) => changed.find((key) => key.startsWith(`${prefix}${kind}`)));
  const bytes = body && after.get(body);
  if (head === undefined || body === undefined || bytes === undefined) throw new Error('no such objects');
  return { head, body, bytes };
}

function equal(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one !== undefined && other !== undefined && Buffer.compare(one, other) === 0;
}

async function put(key: ObjectKey, bytes: Uint8Array): Promise<void> {
  await store.put(key, bytes, { mode: 'overwrite' });
}

async function bytesOf(key: ObjectKey): Promise<Uint8Array> {
  const stored = await store.get(key);
  if (typeof stored !== 'object') throw new Error('nothing is there');
  return stored.body;
}

/** Answers what a worker that knows nothing yet makes of the next turn of the conversation `one` of `acme`. */
async function nextCodes(): Promise<readonly unknown[]> {
  const [asked, told] = [site.scenes.length, site.lines.length];
  const message = { tenant: 'acme', conversation: 'one', turn: `canary-turn-${++turns}`, prompt: 'And?' };
  const worker = site.another();
  const { batchItemFailures } = await site.deliver([message], { worker });
  if (batchItemFailures.length === 0) return [wordsOf(site.scenes.at(-1) as never)];
  expect(site.scenes).toHaveLength(asked);
  const lines = site.lines.slice(told).map((line) => JSON.parse(line));
  return lines.flatMap(({ level, code }) => (level === 'error' ? [code] : []));
}

describe('an attacker on stored conversations', { timeout: 60_000 }, () => {
  it('is detected when he puts one in the place of another one, of another turn or of another tenant', async () => {
    const former = await converse('one');
    const own = await converse('one');
    const other = await converse('two');
    const foreign = await converse('one', { tenant: 'globex' });
    expect(new Set([former.body, own.body, other.body]).size).toBe(3);
    const head = await bytesOf(own.head);
    for (const { head: otherHead, bytes } of [other, foreign]) {
      await put(own.head, await bytesOf(otherHead));
      expect(await nextCodes()).toEqual(['integrity']);
      await put(own.head, bytes);
      // Larger than a head may be: not even read.
      expect(await nextCodes()).toEqual(['limit_exceeded']);
      await put(own.head, head);
    }
    for (const { bytes } of [former, other, foreign]) {
      await put(own.body, bytes);
      expect(await nextCodes()).toEqual(['integrity']);
      await put(own.body, own.bytes);
    }
    // Nothing but the bytes was in the way.
    await put(own.head, head);
    expect(await nextCodes()).toEqual(['And?']);
  });

  it('finds no word and no name of a conversation in any key or byte', async () => {
    await converse('canary-conversation');
    const message = { tenant: 'acme', conversation: 'canary-short', turn: 'canary-turn-0' };
    await site.deliver([{ ...message, prompt: 'canary-small prompt' }]);
    const stored = await objects('');
    const haystack = Buffer.concat([...stored].flatMap(([key, bytes]) => [Buffer.from(`${key}\n`), bytes]));
    const secrets = ['canary-large', 'canary-conversation', 'canary-short', 'canary-turn', 'canary-small'];
    expect([...stored.keys()].filter((key) => key.includes('/conversations/'))).toHaveLength(3);
    expect(findTraces(haystack, [...secrets, '"content"', 'assistant'])).toEqual([]);
    expect(findTraces(haystack, ['/conversations/'])).toContain('/conversations/ as bytes');
  });
});
