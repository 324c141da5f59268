import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  bootstrapProject,
  completeFeature,
  logProgress,
  type ProjectPlan,
  readProject,
  runTurn,
} from '../../../src/agent/index.ts';
import { type Memory, MemoryError, openMemory } from '../../../src/index.ts';
import { commands, lastResults, playClaude } from '../../stage/scripted-claude.ts';

const PLAN: ProjectPlan = {
  summary: 'A shop for bread.',
  features: ['Sign in', 'Sign in by mail', 'Order a loaf'],
  startScript: './init.sh',
};
const EVIDENCE = { check: 'npm run e2e -- sign-in', result: '12 of 12 passed' };
const FEATURES = '/memories/project/features.md';
const PROGRESS = '/memories/project/progress.md';

let memory: Memory;

beforeEach(async () => {
  memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
});

afterEach(() => memory.close());

async function view(path: string): Promise<string> {
  const { content } = await memory.execute({ command: 'view', path });
  return String(content);
}

describe('bootstrapProject', () => {
  it('writes the log, the checklist and the reference to the start-up script, once', async () => {
    expect(await bootstrapProject({ memory, ...PLAN })).toEqual([
      '/memories/project/start.md',
      FEATURES,
      PROGRESS,
    ]);
    expect(await bootstrapProject({ memory, ...PLAN, summary: 'Another shop.' })).toEqual([]);
    expect(await view(PROGRESS)).toContain('A shop for bread.');
    expect(await view('/memories/project/start.md')).toContain('    ./init.sh');
    expect(await view(FEATURES)).toContain('\t- [ ] Sign in\n');
  });

  it('writes what is missing and leaves the rest, for a caller that was interrupted', async () => {
    await memory.execute({ command: 'create', path: FEATURES, file_text: '- [ ] Mine\n' });
    expect(await bootstrapProject({ memory, ...PLAN })).toHaveLength(2);
    expect((await readProject({ memory })).features).toEqual([{ title: 'Mine', state: 'open' }]);
  });

  it('writes each file once when several sessions begin at once', async () => {
    const made = await Promise.all(
      ['one', 'two', 'three'].map((summary) => bootstrapProject({ memory, ...PLAN, summary })),
    );
    expect(made.flat().sort()).toEqual([FEATURES, PROGRESS, '/memories/project/start.md']);
  });

  it('does not take a file above for one that is there already', async () => {
    await memory.execute({ command: 'create', path: '/memories/project', file_text: 'a file' });
    await expect(bootstrapProject({ memory, ...PLAN })).rejects.toMatchObject({
      code: 'already_exists',
      details: { reason: 'below_file' },
    });
  });

  it('leaves what is there even where a create overwrites', async () => {
    const options = { store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32) } as const;
    await using overwriting = await openMemory({ ...options, onExists: 'overwrite' });
    await bootstrapProject({ memory: overwriting, ...PLAN });
    expect(await bootstrapProject({ memory: overwriting, ...PLAN, summary: 'Another.' })).toEqual([]);
    expect((await readProject({ memory: overwriting })).progress).toContain('A shop for bread.');
  });

  it.each([
    ['without a summary', { summary: ' ' }],
    ['without a start-up script', { startScript: '' }],
    ['with a feature that comes twice', { features: ['a', 'a '] }],
  ])('refuses a project %s and writes nothing', async (_, change) => {
    const made = bootstrapProject({ memory, ...PLAN, ...change });
    await expect(made).rejects.toMatchObject({ code: 'invalid_command' });
    await expect(readProject({ memory })).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('readProject', () => {
  it('reads where the project stands, and says it to Claude', async () => {
    await bootstrapProject({ memory, ...PLAN });
    const state = await readProject({ memory });
    expect(state.current).toEqual({ title: 'Sign in', state: 'open' });
    expect(state.start).toContain('./init.sh');
    expect(state.briefing).toContain('- [ ] Order a loaf');
    expect(state.briefing).toMatch(/no other: Sign in$/);
  });

  it('reads a log of many pages to its end', async () => {
    await bootstrapProject({ memory, ...PLAN });
    const done = Array.from(
      { length: 900 },
      (_, i) => `Step ${i} of a long day, with all that belongs to it`,
    );
    await logProgress({ memory, done, next: ['Sleep'] });
    await logProgress({ memory, done: ['x'.repeat(40_000)], next: [] });
    const { progress } = await readProject({ memory });
    expect(progress).toContain('Step 0 of');
    expect(progress).toContain('Step 899 of');
    expect(progress.split('\n').filter((line) => line.startsWith('## '))).toHaveLength(2);
  });

  it('takes a feature that is marked without evidence for one still to be done', async () => {
    await memory.execute({
      command: 'create',
      path: FEATURES,
      file_text:
        '# Mine\n- [x] a\n    Checked: by hand\n    Result: good\n- [X] b\n    Checked: by hand\n- [x] d\n    Result: good\n- [ ] c',
    });
    await bootstrapProject({ memory, ...PLAN });
    const { features, current } = await readProject({ memory });
    expect(features.map(({ state }) => state)).toEqual(['complete', 'unproven', 'unproven', 'open']);
    expect(current?.title).toBe('b');
  });

  it('keeps projects in different directories apart', async () => {
    await bootstrapProject({ memory, directory: '/memories/shop', ...PLAN });
    await expect(readProject({ memory })).rejects.toMatchObject({ code: 'not_found' });
    expect((await readProject({ memory, directory: '/memories/shop' })).features).toHaveLength(3);
  });
});

describe('logProgress', () => {
  it('appends what was done and what is next, the newest last', async () => {
    await bootstrapProject({ memory, ...PLAN });
    const now = new Date('2026-11-21T08:30:00Z');
    await logProgress({ memory, done: ['Drew the form'], next: ['Store\nthe password'], now });
    await logProgress({ memory, done: ['Stored it'], next: [], now: new Date('2026-11-22T09:00:00Z') });
    const { progress } = await readProject({ memory });
    expect(progress).toMatch(
      /A shop for bread\.\n\n## 2026-11-21 08:30\n\n- Done: Drew the form\n- Next: Store the password\n\n## 2026-11-22 09:00\n\n- Done: Stored it\n$/,
    );
  });

  it('keeps the entries of all sessions that end at once', async () => {
    await bootstrapProject({ memory, ...PLAN });
    const names = Array.from({ length: 10 }, (_, i) => `Session ${i}.`);
    await Promise.all(names.map((name) => logProgress({ memory, done: [name], next: [] })));
    const { progress } = await readProject({ memory });
    expect(names.filter((name) => progress.includes(`- Done: ${name}\n`))).toEqual(names);
  });

  it('refuses an entry that says nothing', async () => {
    await bootstrapProject({ memory, ...PLAN });
    const ended = logProgress({ memory, done: [], next: [] });
    await expect(ended).rejects.toMatchObject({ code: 'invalid_command' });
  });
});

describe('completeFeature', () => {
  it('marks the current feature with its evidence, one after the other', async () => {
    await bootstrapProject({ memory, ...PLAN });
    const next = await completeFeature({ memory, feature: 'Sign in', evidence: EVIDENCE });
    expect(next?.title).toBe('Sign in by mail');
    expect((await readProject({ memory })).features.map(({ state }) => state)).toEqual([
      'complete',
      'open',
      'open',
    ]);
    expect(await view(FEATURES)).toMatch(
      /- \[x\] Sign in\n +\d+\t {4}Checked: npm run e2e -- sign-in\n +\d+\t {4}Result: 12 of 12 passed\n/,
    );
    await completeFeature({ memory, feature: 'Sign in by mail', evidence: EVIDENCE });
    const last = await completeFeature({ memory, feature: 'Order a loaf', evidence: EVIDENCE });
    expect(last).toBeUndefined();
    expect((await readProject({ memory })).briefing).toContain('Every feature is complete');
  });

  it.each([
    ['another than the current one', { feature: 'Order a loaf' }, 'policy_refused'],
    ['one that is not in the list', { feature: 'Pay' }, 'not_found'],
    ['one without a check', { evidence: { check: ' ', result: 'good' } }, 'invalid_command'],
    ['one without a result', { evidence: { check: 'by hand', result: '\n' } }, 'invalid_command'],
  ])('refuses %s and changes nothing', async (_, change, code) => {
    await bootstrapProject({ memory, ...PLAN });
    const before = await view(FEATURES);
    const completed = completeFeature({ memory, feature: 'Sign in', evidence: EVIDENCE, ...change });
    await expect(completed).rejects.toMatchObject({ code });
    expect(await view(FEATURES)).toBe(before);
  });

  it.each([
    [7, 'fulfilled'],
    [8, 'rejected'],
  ])('is %2$s where the list was changed meanwhile %1$i times', async (conflicts, status) => {
    await bootstrapProject({ memory, ...PLAN });
    let left = conflicts;
    const write: Memory['files']['write'] = (...args) => {
      if (left-- > 0) return Promise.reject(new MemoryError('version_conflict', 'changed'));
      return memory.files.write(...args);
    };
    const contended = { ...memory, files: { ...memory.files, write } };
    const completed = completeFeature({ memory: contended, feature: 'Sign in', evidence: EVIDENCE });
    const [settled] = await Promise.allSettled([completed]);
    expect(settled.status).toBe(status);
  });

  it('is done once when two do it at once', async () => {
    await bootstrapProject({ memory, ...PLAN });
    const twice = [EVIDENCE, EVIDENCE].map((evidence) =>
      completeFeature({ memory, feature: 'Sign in', evidence }),
    );
    const settled = await Promise.allSettled(twice);
    expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('understands a list that Claude changed with its own commands, and Claude sees the marks', async () => {
    await bootstrapProject({ memory, ...PLAN });
    await using claude = await playClaude([
      commands(
        { command: 'str_replace', path: FEATURES, old_str: '- [ ] Order a loaf\n', new_str: '' },
        { command: 'insert', path: FEATURES, insert_line: 4, insert_text: '- [ ] Order a loaf\n' },
      ),
      { say: 'Bread comes first.' },
      commands({ command: 'view', path: FEATURES }),
      { say: 'Seen.' },
    ]);
    const turn = { client: claude.client(), memory, model: 'claude-opus-4-8' };
    await runTurn({ ...turn, messages: [{ role: 'user', content: 'Bread first.' }] });
    expect((await readProject({ memory })).current?.title).toBe('Order a loaf');
    await completeFeature({ memory, feature: 'Order a loaf', evidence: EVIDENCE });
    await runTurn({ ...turn, messages: [{ role: 'user', content: 'Look.' }] });
    const shown = claude.scenes[3] ? lastResults(claude.scenes[3]) : [];
    expect(shown[0]?.text).toContain('- [x] Order a loaf');
  });
});
