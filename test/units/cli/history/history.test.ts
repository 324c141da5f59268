import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { turnActor } from '../../../../src/turns/turn-trace.ts';
import { CLI_MEMORY_ENV, type CliRun, runCli, startCli } from '../../../support/cli.ts';

const PATH = '/memories/a.md';

let folder: string;
let env: Record<string, string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-history-'));
  env = {
    ...CLI_MEMORY_ENV,
    SEALED_MEMORY_STORE: `sqlite:${join(folder, 'memory.sqlite')}`,
    SEALED_MEMORY_ACTOR: 'ann',
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { env });
/** The lines of an answer; on a busy machine others tell how far it is. */
const linesOf = ({ stdout }: CliRun): readonly Record<string, unknown>[] =>
  stdout
    .trim()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter(({ event }) => event !== 'progress');

describe('sealed-memory log and show', { timeout: 120_000 }, () => {
  it('tell what was kept since history was turned on', async () => {
    await run('put', PATH, '--text', 'zero');
    const before = await run('log');
    expect(before).toMatchObject({ code: 0 });
    const turned = await run('tenant', 'history', 'on');
    expect(turned.stdout).toMatch(/^ok {4}history is on, keyring epoch 2; /);
    expect((await run('tenant', 'history', 'on', '--json')).stdout).toBe(
      '{"event":"done","history":"on","changed":false,"epoch":2}\n',
    );
    await run('put', PATH, '--text', 'one');
    await run('mv', PATH, '/memories/b.md');
    await run('rm', '/memories/b.md');

    const log = linesOf(await run('log', PATH, '--json'));
    expect(log).toMatchObject([
      { event: 'entry', kind: 'deleted', path: '/memories/b.md', writer: 'ann' },
      { event: 'entry', kind: 'renamed', path: PATH, to: '/memories/b.md', writer: 'ann' },
      { event: 'entry', kind: 'written', end: 'deleted', path: '/memories/b.md', size: 3, writer: 'ann' },
      { event: 'entry', kind: 'written', end: 'replaced', path: PATH, size: 4 },
      { event: 'done', entries: 4 },
    ]);
    const shown = await run('log');
    expect(shown.stdout.split('\n')[0]).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z {2}v[\w-]{8} {2}is deleted {2}\/memories\/b\.md {2}by ann$/,
    );
    const version = String(log[3]?.['version']);
    expect(await run('show', PATH, `v${version.slice(0, 8)}`)).toMatchObject({ code: 0, stdout: 'zero' });
    expect(linesOf(await run('show', PATH, `v${version}`, '--json'))).toEqual([
      { event: 'done', path: PATH, version, text: 'zero' },
    ]);
  });

  it('say how much cannot be read, and go on with the rest', async () => {
    const store = `sqlite:${join(folder, 'damaged.sqlite')}`;
    const here = (...args: readonly string[]) =>
      runCli(args, { env: { ...env, SEALED_MEMORY_STORE: store } });
    for (const name of ['one', 'two']) await here('put', `/memories/${name}.md`, '--text', name);
    const database = new DatabaseSync(store.slice('sqlite:'.length));
    database.exec(
      "UPDATE objects SET body = zeroblob(300) WHERE key = (SELECT max(key) FROM objects WHERE key LIKE '%/data/%')",
    );
    database.close();
    const lines = linesOf(await here('log', '--json'));
    expect(lines).toMatchObject([
      { event: 'entry', kind: 'written' },
      { event: 'done', entries: 1, damaged: 1 },
    ]);
    const { stderr, code } = await here('log');
    expect(code).toBe(0);
    expect(stderr).toContain('1 file or record cannot be read, and the history that they hold is left out');
  });

  it('show the newest alone with --limit, and end quietly where the reader goes away', async () => {
    const path = '/memories/limited.md';
    await run('tenant', 'history', 'on');
    for (const text of ['one', 'two', 'three']) await run('put', path, '--text', text);
    const all = linesOf(await run('log', path, '--json'));
    expect(linesOf(await run('log', path, '--limit', '2', '--json'))).toEqual([
      ...all.slice(0, 2),
      { event: 'done', entries: 2, more: true },
    ]);
    const shown = await run('log', path, '--limit', '2');
    expect(shown.stdout.trim().split('\n')).toHaveLength(2);
    expect(shown.stderr).toContain('there is more that is older');
    expect(await run('log', path, '--limit', '3')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('log', path, '--limit', '0')).toMatchObject({ code: 2, stdout: '' });

    const child = startCli(['log', path], { env });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([textOf(child.stderr), once(child, 'close')]);
    expect([stderr, code]).toEqual(['', 0]);
  });

  it('say why there is nothing to show', async () => {
    const unknown = await run('show', PATH, 'abcdefgh');
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toContain('no version of that name');
    expect(await run('show', PATH, 'a')).toMatchObject({ code: 1 });
    // A file that somebody dropped from the store may have been there.
    const nowhere = await run('log', 'nowhere');
    expect(nowhere).toMatchObject({ code: 1, stdout: expect.stringContaining('the history has no version') });
    const nothing = await run('--tenant', 'other', 'log');
    expect(nothing).toMatchObject({ code: 0 });
    expect(nothing.stdout).toContain('Nothing is known: no file was ever there.');
    expect(nothing.stderr).toContain('nothing was ever written for the tenant other: is its name right?');
    expect(await run('--tenant', 'other', 'tenant', 'history', 'off')).toMatchObject({ code: 1 });
    const NEW = 'note  nothing was written for the tenant other before: it begins now\n';
    const began = await run('--tenant', 'other', 'tenant', 'history', 'on');
    expect(began).toMatchObject({ code: 0, stdout: expect.stringContaining(NEW) });
    const again = await run('--tenant', 'other', 'tenant', 'history', 'on');
    expect(again.stdout).not.toContain('note');
    await run('--tenant', 'other', 'put', PATH, '--text', 'one');
    await run('--tenant', 'other', 'put', PATH, '--text', 'two');
    expect(linesOf(await run('--tenant', 'other', 'log', '--json'))).toHaveLength(3);
  });

  it('tell whether it is kept, and since when', async () => {
    const state = async (...args: readonly string[]) => {
      const { code, stdout } = await run('--tenant', 'state', 'tenant', 'history', ...args);
      return { code, stdout };
    };
    expect(await state()).toMatchObject({ code: 0, stdout: expect.stringContaining('no keyring') });
    await run('--tenant', 'state', 'put', PATH, '--text', 'one');
    expect(await state('--json')).toEqual({ code: 0, stdout: '{"event":"done","history":"off"}\n' });
    expect((await state()).stdout).toContain('history: off — "sealed-memory tenant history on"');
    await state('on');
    const { stdout } = await state();
    expect(stdout).toMatch(
      /^ok {4}history: on; every writer keeps it from \d{4}-\S+Z on\nok {4}expiry runs leave it for good/,
    );
    const days = { ...env, SEALED_MEMORY_HISTORY_DAYS: '30' };
    const told = await runCli(['--tenant', 'state', 'tenant', 'history', '--json'], { env: days });
    expect(linesOf(told)).toEqual([{ event: 'done', history: 'on', since: expect.any(String), days: 30 }]);
    expect((await run('--tenant', 'state', 'keys', 'status')).stdout).toContain('\nok    history: on; ');
  });

  it('take the text of a version out for good', async () => {
    const path = '/memories/card.md';
    await run('put', path, '--text', 'number 4929');
    const [first] = linesOf(await run('log', path, '--json'));
    const version = String(first?.['version']);
    const current = await run('redact', path, `v${version}`, '--yes');
    expect(current).toMatchObject({ code: 1, stdout: expect.stringMatching(/^holds .*\n$/) });
    expect(current.stderr).toContain('edit or delete the file first');
    await run('put', path, '--text', 'no number');
    expect((await run('redact', path, `v${version}`)).stderr).toContain('needs --yes; nothing was changed');
    expect(await run('show', path, `v${version}`)).toMatchObject({ code: 0, stdout: 'number 4929' });

    const redacted = await run('redact', path, `v${version.slice(0, 8)}`, '--yes', '--json');
    expect(linesOf(redacted)).toEqual([{ event: 'done', path, version, records: 1 }]);
    expect(await run('show', path, `v${version}`)).toMatchObject({ code: 1, stdout: '' });
    const log = linesOf(await run('log', path, '--json'));
    expect(log.find((line) => line['version'] === version)).toMatchObject({
      path,
      size: 11,
      writer: 'ann',
      text: 'redacted',
      redacted: { writer: 'ann' },
    });
    expect((await run('log', path)).stdout).toMatch(/ {2}redacted {2}written by ann {2}redacted by ann$/m);
    const again = await run('redact', path, `v${version}`, '--yes');
    expect(again.stdout).toMatch(
      /^ok {4}the text was out already; this store keeps no older versions of its objects\n/,
    );
  });
});

describe('sealed-memory restore-at and undo', { timeout: 120_000 }, () => {
  const here = (...args: readonly string[]): Promise<CliRun> => run('--tenant', 'taken-back', ...args);
  const text = async (path: string): Promise<string> => (await here('cat', path)).stdout;

  it('show a plan, write it with --yes, and say what is left', async () => {
    await here('put', PATH, '--text', 'one');
    await here('tenant', 'history', 'on');
    const then = new Date().toISOString();
    const bad = { env: { ...env, SEALED_MEMORY_TENANT: 'taken-back', SEALED_MEMORY_ACTOR: 'bad' } };
    await runCli(['put', PATH, '--text', 'poison'], bad);
    await runCli(['put', '/memories/b.md', '--text', 'poison'], bad);

    const plan = await here('restore-at', then);
    expect(plan).toMatchObject({ code: 2 });
    expect(plan.stdout).toMatch(
      /^replace {2}\/memories\/a\.md {2}v[\w-]{8} by bad → v[\w-]{8}\ndelete {3}\/memories\/b\.md.* by bad → nothing\n/,
    );
    expect(plan.stderr).toContain('give --yes');
    expect(linesOf(await here('restore-at', then, '--dry-run', '--json'))).toMatchObject([
      { event: 'entry', what: 'replace', path: PATH, writer: 'bad' },
      { event: 'entry', what: 'delete', path: '/memories/b.md', writer: 'bad' },
      { event: 'done', outcome: 'planned', changes: 2, left: 0 },
    ]);
    expect(await text(PATH)).toBe('poison');

    const undone = await here('undo', 'bad', '--yes');
    expect(undone).toMatchObject({ code: 0 });
    expect(undone.stdout).toContain('ok    2 changes written');
    expect(await text(PATH)).toBe('one');
    expect(linesOf(await here('restore-at', then, '--yes', '--json')).at(-1)).toMatchObject({
      outcome: 'nothing',
      changes: 0,
    });
    expect((await here('restore-at', 'yesterday')).stderr).toContain('ISO 8601');
  });

  it.each([
    ['short', 't-1'],
    ['long', 'x'.repeat(300)],
  ])('take back a turn by its id alone: a %s one', async (_, turn) => {
    const path = `/memories/turns-${turn.length}.md`;
    await here('tenant', 'history', 'on');
    for (const id of [turn, `${turn}0`]) {
      const worker = {
        env: { ...env, SEALED_MEMORY_TENANT: 'taken-back', SEALED_MEMORY_ACTOR: turnActor(id) },
      };
      await runCli(['put', id === turn ? path : `${path}.other`, '--text', 'poison'], worker);
    }
    const undone = await here('undo', '--turn', turn, '--yes');
    expect(undone.stdout).toContain('ok    1 change written');
    expect(await here('cat', path)).toMatchObject({ code: 1 });
    expect(await text(`${path}.other`)).toBe('poison');
  });

  it('refuse an undo of both a writer and a turn, or of neither', async () => {
    for (const whose of [['bad', '--turn', 't-1'], []]) {
      const refused = await here('undo', ...whose, '--yes');
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('either a writer');
    }
  });
});
