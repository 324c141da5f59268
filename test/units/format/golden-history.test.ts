import { describe, expect, it, onTestFinished } from 'vitest';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory, openTenant } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { createConversations } from '../../../src/worker/leases/conversations.ts';
import { openPrompt } from '../../../src/worker/turn/sealed-prompt.ts';
import { openAnswers } from '../../../src/worker/turn/turn-answer.ts';
import { parseTurnMessage, STORED_PROMPT } from '../../../src/worker/turn/turn-message.ts';
import { fillGolden, GOLDEN_HISTORY } from '../../format/golden.ts';

const { files, records, line, log, prompt, rootKey, tenant, texts, transcripts, conversations, written } =
  GOLDEN_HISTORY;

/** The store as it was kept, for one test. */
async function openGolden(): Promise<MemoryOptions> {
  const store = await fillGolden(GOLDEN_HISTORY);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return { store, tenant, rootKey };
}

/** Answers what `verify` finds, by itself and since the line. */
async function findingsOf(options: MemoryOptions) {
  await using admin = await openAdmin(options);
  const since = await admin.verify({ since: line });
  return [...(await admin.verify()).findings, ...since.findings];
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('the golden store of a tenant that keeps history', () => {
  it('holds what the format may say of versions, and all else a tenant has beside its files', () => {
    const kinds = new Set(Object.values(records).map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual([
      ...['access', 'actors', 'answers', 'checkpoints/head', 'checkpoints/part'],
      ...['conversations/body', 'conversations/head', 'conversations/prompt'],
      ...['history/deleted', 'history/moved', 'history/redacted', 'history/replaced'],
      ...['journal/expiry', 'journal/history', 'journal/register', 'journal/swept'],
      ...['receipts/tokens', 'receipts/turn', 'sessions'],
    ]);
    const keys = Object.values(files).map(
      ({ version, drawnUnder }) => `${version}, drawn under ${drawnUnder}`,
    );
    expect(new Set(keys)).toEqual(new Set(['3, drawn under 2', '4, drawn under 4']));
  });

  it('is logged as it was, and each kept version is read', async () => {
    await using memory = await openMemory(await openGolden());
    const entries = await memory.history.list();
    expect(asJson(entries)).toMatchObject(log);
    for (const entry of entries) {
      if (entry.kind !== 'written') continue;
      const reading = memory.history.read(entry);
      if (entry.text === 'kept') expect((await reading).text()).toBe(texts[entry.version]);
      else
        await expect(reading).rejects.toMatchObject({ code: 'not_found', details: { reason: 'redacted' } });
    }
    expect(Object.keys(texts)).toHaveLength(entries.filter((entry) => 'text' in entry).length - 1);
  });

  it('has nothing wrong with it, nor since its checkpoint', async () => {
    expect(await findingsOf(await openGolden())).toEqual([]);
  });

  it('traces a version through the turn that read it to the turn that read what came of it', async () => {
    await using memory = await openMemory(await openGolden());
    const { turns } = await memory.history.trace({ path: '/memories/plan.md' });
    const summary = { path: '/memories/summary.md' };
    expect(turns).toMatchObject([
      { turn: 'turn-1', state: 'answered', read: [{ path: '/memories/plan.md' }], written: [summary] },
      { turn: 'turn-2', state: 'answered', read: [summary], written: [] },
    ]);
  });

  it('has transcripts, answers, conversations and a prompt that are read', async () => {
    const options = await openGolden();
    await using memory = await openMemory(options);
    for (const { key, lines } of transcripts) expect(await memory.sessions.load(key)).toEqual(lines);
    await using answers = await openAnswers(options);
    expect(await answers.read('turn-1')).toMatchObject({ outcome: 'answered', text: 'done' });

    const { parts, close } = await openTenant(options);
    for (const [conversation, messages] of Object.entries(conversations)) {
      const request = { turn: 'another', leaseMs: 1_000 };
      const claim = await createConversations(parts.context).claim(conversation, request);
      expect(claim).toMatchObject({ state: 'ours', lease: { messages } });
    }
    // A prompt opens for some days alone.
    const stamps = { ...parts.context.stamps, storeTime: () => Date.parse(written) };
    const context = { ...parts.context, stamps };
    const { prompt: content, ...turn } = prompt;
    const message = parseTurnMessage({ ...turn, tenant, sealedPrompt: STORED_PROMPT });
    const opened = await openPrompt(context, message, {});
    expect(opened).toMatchObject({ messages: [{ role: 'user', content }] });
    await close();
  });

  it('keeps its history when it is worked on', async () => {
    const options = await openGolden();
    await using memory = await openMemory({ ...options, actor: 'carol' });
    const { history } = memory;
    await memory.files.write('/memories/plan.md', 'a fifth plan\n', { mode: 'replace' });
    await memory.files.rename('/memories/archive', '/memories/attic');
    await memory.files.remove('/memories/kept.md');
    const [removed, renamed, edited, ...before] = await history.list();
    expect(removed).toMatchObject({ kind: 'deleted', path: '/memories/kept.md', writer: 'carol' });
    expect(renamed).toMatchObject({ kind: 'renamed', to: '/memories/attic/deep/two.md', writer: 'carol' });
    expect(edited).toMatchObject({ kind: 'written', path: '/memories/plan.md', writer: 'carol' });
    const versionsOf = (entries: readonly object[]) =>
      entries.map((entry) => ({ ...entry, path: undefined, end: undefined }));
    expect(asJson(versionsOf(before))).toMatchObject(asJson(versionsOf(log)) as object);
    expect(await findingsOf(options)).toEqual([]);
  });
});
