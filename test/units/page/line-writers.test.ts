import { describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import { openTenantAdmin } from '../../../src/open/tenant-admin.ts';
import { originsOfLines } from '../../../src/page/client/parts/line-origins.ts';
import type { Costed, ResultOf } from '../../../src/page/protocol.ts';
import type { PageView } from '../../../src/page/server/answer-questions.ts';
import { openTenantView } from '../../../src/page/server/tenant-view.ts';
import { type AgentSite, openAgent } from '../../stage/page-site.ts';

const PATH = '/memories/a.md';
const HISTORY = { history: { days: 30 } };

const openView = ({ options }: AgentSite): Promise<PageView> => openTenantView(options, { lineOf: () => '' });

async function linesOf({ questions }: PageView, path = PATH): Promise<ResultOf<'lines'> & Costed> {
  const asking = { signal: new AbortController().signal, send: async () => {} };
  return (await questions['lines']?.({ path }, asking)) as ResultOf<'lines'> & Costed;
}

/** The writer of each line; a question mark where the line may be older, nothing where it is not known. */
async function writersOf(view: PageView, path = PATH): Promise<readonly string[]> {
  const { origins, runs } = await linesOf(view, path);
  return runs.flatMap(({ origin, count }) => {
    const told = origins[origin];
    const name = told === undefined ? '' : `${told.writer ?? 'nobody'}${told.isCertain ? '' : '?'}`;
    return Array.from({ length: count }, () => name);
  });
}

describe('who wrote which line', () => {
  it('names the actor from whose version on the line was always there', async () => {
    await using agent = await openAgent(HISTORY);
    const { files } = agent.memory;
    const by = (actor: string, text: string) => files.write(PATH, text, { actor });
    await by('one', 'a\nb\nc');
    await by('two', 'a\nB\nc\nd\n');
    await by('three', 'x\na\nB\nd\n');
    await by('two', 'x\na\nB\nd\n\ne');
    await using view = await openView(agent);
    expect(await writersOf(view)).toEqual(['three', 'one', 'two', 'two', 'two', 'two']);
    const { version, origins } = await linesOf(view);
    const found = await view.questions['file']?.(
      { path: PATH },
      { signal: AbortSignal.timeout(60_000), send: async () => {} },
    );
    expect(found).toMatchObject({ version });
    expect(origins.map(({ time }) => time)).toEqual(
      origins.map(({ time }) => time).toSorted((a, b) => b - a),
    );
  });

  it('goes on over a rename, and through a restore to those who wrote the text', async () => {
    await using agent = await openAgent(HISTORY);
    const { files, history } = agent.memory;
    await files.write('/memories/b.md', 'a\nb\n', { actor: 'one' });
    await files.write('/memories/b.md', 'a\nb\nc\n', { actor: 'two' });
    await files.rename('/memories/b.md', PATH, { actor: 'mover' });
    await files.write(PATH, 'forged\n', { actor: 'a stranger' });
    const list = await history.list(PATH);
    const wanted = list.find(({ kind, writer }) => kind === 'written' && writer === 'two');
    await history.restore({ path: PATH, version: wanted?.version ?? '' }, { actor: 'page' });
    await using view = await openView(agent);
    expect(await writersOf(view)).toEqual(['one', 'one', 'two']);
  });

  it('says of a line that it may be older where the text before was taken out or never kept', async () => {
    await using agent = await openAgent(HISTORY);
    const { files, history } = agent.memory;
    await files.write(PATH, 'a\nsecret\n', { actor: 'one' });
    await files.write(PATH, 'a\nb\n', { actor: 'two' });
    await files.write(PATH, 'a\nb\nc\n');
    const [, , first] = await history.list(PATH);
    await history.redact({ path: PATH, version: first?.version ?? '' });
    await using view = await openView(agent);
    expect(await writersOf(view)).toEqual(['two?', 'two?', 'nobody']);
    await using other = await openAgent();
    await other.memory.files.write(PATH, 'a\n', { actor: 'one' });
    await other.memory.files.write(PATH, 'a\nb\n', { actor: 'two' });
    await using admin = await openTenantAdmin(other.options);
    await admin.switchHistory('on');
    await using later = await openMemory({ ...other.options, ...HISTORY });
    await later.files.write(PATH, 'a\nb\nc\n', { actor: 'three' });
    await using since = await openTenantView({ ...other.options, ...HISTORY }, { lineOf: () => '' });
    expect(await writersOf(since)).toEqual(['nobody?', 'nobody?', 'three']);
  });

  it('reads the newest 100 versions, and no file of more than 20,000 lines', async () => {
    await using agent = await openAgent(HISTORY);
    const { files } = agent.memory;
    let text = '';
    for (let at = 0; at < 103; at += 1) {
      text += `line ${at}\n`;
      await files.write(PATH, text, { actor: `turn ${at}` });
    }
    await files.write('/memories/long.md', 'x\n'.repeat(20_001), { actor: 'one' });
    await files.write('/memories/least.md', 'x\n'.repeat(20_000), { actor: 'one' });
    await using view = await openView(agent);
    const told = await writersOf(view);
    expect(told.slice(0, 4)).toEqual(['turn 2?', 'turn 2?', 'turn 2?', 'turn 3']);
    expect(told.at(-1)).toBe('turn 102');
    const { origins, runs, requests } = await linesOf(view, '/memories/long.md');
    expect([origins, runs, requests]).toEqual([[], [{ origin: -1, count: 20_001 }], { get: 1 }]);
    expect(new Set(await writersOf(view, '/memories/least.md'))).toEqual(new Set(['one']));
  });

  it('refuses what is no text, and what is not there', async () => {
    await using agent = await openAgent(HISTORY);
    await agent.memory.files.write(PATH, Uint8Array.of(0xff));
    await using view = await openView(agent);
    await expect(linesOf(view)).rejects.toMatchObject({ code: 'not_text' });
    await expect(linesOf(view, '/memories/b.md')).rejects.toMatchObject({ code: 'not_found' });
    await agent.memory.files.write('/memories/empty.md', '');
    expect((await linesOf(view, '/memories/empty.md')).runs).toEqual([]);
  });
});

describe('the gutter', () => {
  const origin = (writer?: string, isCertain = true) => ({
    time: 1,
    isCertain,
    ...(writer !== undefined && { writer }),
  });
  const othersIn = (origins: ReturnType<typeof origin>[], counts: readonly number[]): string =>
    originsOfLines({ origins, runs: counts.map((count, at) => ({ origin: at, count })) })
      .map((line) => (line?.isOther ? 'x' : '.'))
      .join('');

  it('marks the lines of others than the actor who wrote most', () => {
    expect(othersIn([origin('a'), origin('b'), origin('a')], [1, 2, 2])).toBe('.xx..');
    expect(othersIn([origin('a'), origin('b')], [2, 2])).toBe('..xx');
    expect(othersIn([origin(), origin('b')], [2, 1])).toBe('..x');
    expect(othersIn([origin('a'), origin('b', false)], [1, 9])).toBe('..........');
    expect(othersIn([], [3])).toBe('...');
    const told = originsOfLines({ origins: [origin('a')], runs: [{ origin: 0, count: 2 }] });
    expect(told.map((line) => line?.isFirst)).toEqual([true, false]);
  });
});
