import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LocalWorker, startLocalWorker, wordsOf } from '../../../../infra/local/lambda/local-worker.ts';
import { openTenant } from '../../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import {
  openPrompt,
  openPromptSealer,
  type SealedTurn,
  sealPrompt,
} from '../../../../src/worker/turn/sealed-prompt.ts';
import { parseTurnMessage, type TurnMessage } from '../../../../src/worker/turn/turn-message.ts';

const PROMPT = 'What does the canary-prompt say? ü \u{1F511}';
const LARGE = `canary-large ${'ß'.repeat(40_000)}`;
const NO_FAILURES = { batchItemFailures: [] };

let store: ObjectStore;
let site: LocalWorker;
const rootKey = randomBytes(32).toString('base64');
beforeEach(async () => {
  store = openSqliteObjectStore({ path: ':memory:' });
  site = await startLocalWorker(store, undefined, { memory: { store, rootKey } });
});
afterEach(async () => {
  await site[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

function seal(request: Partial<Parameters<typeof sealPrompt>[1]> = {}, tenant = 'acme'): Promise<SealedTurn> {
  const named = { turn: 'turn-1', conversation: 'chat', prompt: PROMPT, ...request };
  return sealPrompt({ store, rootKey, tenant }, named);
}

async function codesOf(...messages: readonly unknown[]): Promise<readonly unknown[]> {
  for (const message of messages) {
    const { batchItemFailures } = await site.deliver([message]);
    expect(batchItemFailures).toHaveLength(1);
  }
  return site.lines
    .map((line) => JSON.parse(line))
    .flatMap(({ level, code }) => (level === 'error' ? [code] : []));
}

describe('a sealed prompt', () => {
  it('is read by the worker of its turn, and by no reader of the queue', async () => {
    const message = await seal();
    expect(Object.keys(message)).toEqual(['tenant', 'turn', 'conversation', 'sealedPrompt']);
    const bytes = Buffer.from(message.sealedPrompt, 'base64url');
    expect(bytes.toString('latin1')).not.toContain('canary');
    expect(await site.deliver([message])).toEqual(NO_FAILURES);
    expect(site.scenes.map(wordsOf)).toEqual([PROMPT]);
    await site.deliver([
      { ...message, turn: 'turn-2', sealedPrompt: (await seal({ turn: 'turn-2' })).sealedPrompt },
    ]);
    expect(site.scenes[1]?.messages).toHaveLength(3);
  });

  it('also goes without a conversation', async () => {
    expect(await site.deliver([await seal({ conversation: undefined })])).toEqual(NO_FAILURES);
    expect(site.scenes.map(wordsOf)).toEqual([PROMPT]);
  });

  it('does not open for another turn, conversation or tenant, and Claude is not asked', async () => {
    const message = await seal();
    await seal({}, 'other');
    const { conversation: _, ...without } = message;
    const codes = await codesOf(
      { ...message, turn: 'turn-2' },
      { ...message, conversation: 'chat-2' },
      { ...message, conversation: 'null' },
      without,
      { ...message, tenant: 'other' },
    );
    expect(codes).toEqual(Array.from({ length: 5 }, () => 'sealed_prompt_refused'));
    expect(site.scenes).toHaveLength(0);
  });

  it('does not open where a byte of it was changed, or it is none', async () => {
    const message = await seal();
    const bytes = Buffer.from(message.sealedPrompt, 'base64url');
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    const changed = { ...message, sealedPrompt: bytes.toString('base64url') };
    const codes = await codesOf(
      changed,
      { ...message, sealedPrompt: '!' },
      { ...message, sealedPrompt: 'AAAA' },
    );
    expect(codes).toEqual(['sealed_prompt_refused', 'invalid_command', 'sealed_prompt_refused']);
    expect(site.scenes).toHaveLength(0);
  });

  it('is one message however often it is sealed', async () => {
    const [first, second] = [await seal(), await seal()];
    expect(first.sealedPrompt).not.toBe(second.sealedPrompt);
    await site.deliver([first]);
    await site.deliver([second]);
    await site.deliver([{ tenant: 'acme', turn: 'turn-1', conversation: 'chat', prompt: PROMPT }]);
    expect(site.replies).toHaveLength(3);
    expect(site.scenes).toHaveLength(1);
    expect(await codesOf(await seal({ prompt: 'another' }))).toEqual(['other_message']);
  });

  it('of 64 KiB and more lies sealed in the store, and its message is small', async () => {
    const message = await seal({ prompt: LARGE });
    expect(JSON.stringify(message).length).toBeLessThan(300);
    expect(await seal({ prompt: LARGE })).toEqual(message);
    await expect(seal({ prompt: `${LARGE}.` })).rejects.toMatchObject({ code: 'already_exists' });
    expect(await codesOf({ ...message, turn: 'turn-2' })).toEqual(['sealed_prompt_refused']);
    expect(await site.deliver([message])).toEqual(NO_FAILURES);
    expect(site.scenes.map(wordsOf)).toEqual([LARGE]);
    for await (const { objects } of store.list({ prefix: 'tenants/acme/conversations/p' })) {
      expect(objects).toHaveLength(1);
      const stored = await store.get(objects[0]?.key as never);
      if (typeof stored !== 'object') throw new Error('there is no prompt');
      expect(new TextDecoder('latin1').decode(stored.body)).not.toContain('canary');
    }
  });

  it('that was changed in the store is told as damage of the store', async () => {
    const message = await seal({ prompt: LARGE });
    for await (const { objects } of store.list({ prefix: 'tenants/acme/conversations/p' })) {
      const [{ key } = { key: undefined }] = objects;
      if (key === undefined) throw new Error('there is no prompt');
      await store.put(key, new Uint8Array(200).fill(1), { mode: 'overwrite' });
    }
    expect(await codesOf(message)).toEqual(['integrity']);
    expect(site.scenes).toHaveLength(0);
  });

  it.each([65_535, 65_536])('of %i bytes arrives whole', async (length) => {
    const message = await seal({ prompt: 'x'.repeat(length) });
    expect(message.sealedPrompt === 'stored').toBe(length === 65_536);
    expect(await site.deliver([message])).toEqual(NO_FAILURES);
    expect(wordsOf(site.scenes[0] as never)).toHaveLength(length);
  });

  it('runs no more when its receipt may have expired, wherever it lies', async () => {
    const sealedFor = async (turn: string, ageMs: number, prompt: string): Promise<SealedTurn> => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - ageMs });
      try {
        return await seal({ turn, prompt });
      } finally {
        vi.useRealTimers();
      }
    };
    const [hour, day] = [3_600_000, 86_400_000];
    for (const [name, prompt] of Object.entries({ small: PROMPT, large: LARGE })) {
      const late = await sealedFor(`${name}-late`, 14 * day - hour, prompt);
      expect(await site.deliver([late])).toEqual(NO_FAILURES);
      await codesOf(
        await sealedFor(`${name}-too-late`, 14 * day + hour, prompt),
        await sealedFor(`${name}-ahead`, -13 * hour, prompt),
      );
    }
    expect(await codesOf()).toEqual(Array.from({ length: 4 }, () => 'sealed_prompt_refused'));
    expect(site.scenes.map(wordsOf)).toEqual([PROMPT, LARGE]);
  });

  it.each([
    ['ahead', 47],
    ['behind', -47],
  ])('opens for its time by the store, where the clock of the worker is %s by hours', async (_, hours) => {
    const [hour, day] = [3_600_000, 86_400_000];
    const { parts, close } = await openTenant({ store, rootKey, tenant: 'acme' });
    const message = parseTurnMessage(await seal());
    const openAfter = (ms: number): Promise<TurnMessage | 'refused'> => {
      const stamps = { ...parts.context.stamps, storeTime: () => Date.now() + ms };
      const clock = (): number => Date.now() + ms + hours * hour;
      return openPrompt({ ...parts.context, clock, stamps }, message, {});
    };
    for (const ms of [0, 14 * day - hour])
      expect(await openAfter(ms)).toMatchObject({ messages: [{ role: 'user', content: PROMPT }] });
    expect(await openAfter(14 * day + hour)).toBe('refused');
    expect(await openAfter(-13 * hour)).toBe('refused');
    await close();
  });

  it('is refused where it is malformed, too large, or the store is read only', async () => {
    await using sealer = await openPromptSealer({ store, rootKey, tenant: 'acme' });
    const refused = (request: object) => sealer.seal({ turn: 'turn-1', prompt: PROMPT, ...request });
    await expect(refused({ prompt: '' })).rejects.toMatchObject({ code: 'invalid_command' });
    await expect(refused({ turn: '' })).rejects.toMatchObject({ code: 'invalid_command' });
    await expect(refused({ prompt: 'half a \uD800 pair' })).rejects.toMatchObject({
      code: 'invalid_command',
    });
    await expect(refused({ prompt: 'x'.repeat(16_777_217) })).rejects.toMatchObject({
      code: 'limit_exceeded',
    });
    const reading = sealPrompt(
      { store, rootKey, tenant: 'acme', readOnly: true },
      { turn: 't', prompt: 'x' },
    );
    await expect(reading).rejects.toMatchObject({ code: 'read_only' });
  });
});

it('a message of a conversation has fewer than 300 bytes', async () => {
  const message = {
    tenant: 'acme',
    conversation: 'b'.repeat(36),
    turn: 'c'.repeat(36),
    prompt: 'x'.repeat(100),
  };
  expect(JSON.stringify(message).length).toBeLessThan(300);
  expect(await site.deliver([message])).toEqual(NO_FAILURES);
});
