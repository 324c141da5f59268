import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { CLI_MEMORY_ENV, execLines, runCli, startCli } from '../../../support/cli.ts';

const EXEC = ['exec', '--jsonl'];
const HARNESS = { SEALED_MEMORY_HARNESS: '1' };
const create = (path: string, text: string) => ({ command: 'create', path, file_text: text });
const base64 = (bytes: readonly number[]): string => Buffer.from(bytes).toString('base64');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-exec-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const STORES = [
  ['memory:', () => 'memory:'],
  ['sqlite:', () => `sqlite:${join(folder, 'store.sqlite')}`],
] as const;

describe.each(STORES)('exec --jsonl on %s', (_, store) => {
  const env = () => ({ ...CLI_MEMORY_ENV, SEALED_MEMORY_STORE: store() });

  it('answers every kind of line in order', async () => {
    const answers = await execLines(
      [
        { harness: 'reset' },
        create('/memories/a.txt', 'one\ntwo\n'),
        create('/memories/a.txt', 'other'),
        { command: 'view', path: '/memories/a.txt' },
        { command: 'toString' },
        { command: 'view', path: '/etc/passwd' },
        { command: 'view', path: '/memories/b' },
        { command: 'delete', path: '/memories/a.txt' },
        { harness: 'dump' },
      ],
      { ...env(), ...HARNESS },
    );
    expect(answers).toMatchObject([
      { ok: true },
      { ok: true, content: 'File created successfully at: /memories/a.txt' },
      { ok: false, content: 'Error: File /memories/a.txt already exists', code: 'already_exists' },
      { ok: true, content: expect.stringContaining('     1\tone\n     2\ttwo\n') },
      { ok: false, code: 'invalid_command' },
      { ok: false, code: 'invalid_path' },
      {
        ok: false,
        content: 'The path /memories/b does not exist. Please provide a valid path.',
        code: 'not_found',
      },
      { ok: true, content: 'Successfully deleted /memories/a.txt' },
      { ok: true, files: {} },
    ]);
  });

  it('keeps every one of 50 inserts that run at once', async () => {
    const inserts = Array.from({ length: 50 }, (_line, id) => ({
      id,
      command: 'insert',
      path: '/memories/list',
      insert_line: 0,
      insert_text: `line ${id}\n`,
    }));
    const answers = await execLines(
      [{ harness: 'reset' }, create('/memories/list', ''), ...inserts, { harness: 'dump' }],
      { ...env(), ...HARNESS },
    );
    const ids = answers.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(ids.toSorted((a, b) => Number(a) - Number(b))).toEqual(inserts.map(({ id }) => id));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    const { files } = answers.at(-1) as { readonly files: Readonly<Record<string, string>> };
    const text = files['/memories/list'] ?? '';
    expect(text.trim().split('\n').toSorted()).toEqual(inserts.map(({ id }) => `line ${id}`).toSorted());
  });

  it('lets the harness put, dump and reset any bytes under any name', async () => {
    const answers = await execLines(
      [
        { harness: 'reset' },
        {
          harness: 'put',
          path: '/memories/.hidden/node_modules/a',
          base64: base64([...Buffer.from('ü\r\n')]),
        },
        { harness: 'put', path: '/memories/bytes', base64: base64([0xff, 0]) },
        { harness: 'put', path: '/memories/bytes', base64: base64([0xff, 1]) },
        { harness: 'put', path: '/memories/bom', base64: base64([0xef, 0xbb, 0xbf, 0x61]) },
        { harness: 'put', path: '/memories/empty', base64: '' },
        { harness: 'dump' },
        { harness: 'reset' },
        { harness: 'dump' },
      ],
      { ...env(), ...HARNESS },
    );
    expect(answers.slice(0, 6)).toEqual(Array.from({ length: 6 }, () => ({ ok: true })));
    expect(answers.slice(6)).toEqual([
      {
        ok: true,
        files: {
          '/memories/.hidden/node_modules/a': 'ü\r\n',
          '/memories/bom': '\ufeffa',
          '/memories/bytes': { base64: base64([0xff, 1]) },
          '/memories/empty': '',
        },
      },
      { ok: true },
      { ok: true, files: {} },
    ]);
  });
});

describe('exec --jsonl', () => {
  const run = (input: string | Uint8Array, env: Readonly<Record<string, string>> = {}) =>
    runCli(EXEC, { env: { ...CLI_MEMORY_ENV, ...env }, input });

  it('refuses harness lines without the flag', async () => {
    const requests = [
      { harness: 'dump' },
      { id: 1, harness: 'reset' },
      { harness: 'put', path: '/memories/a', base64: '' },
    ];
    for (const env of [CLI_MEMORY_ENV, { ...CLI_MEMORY_ENV, SEALED_MEMORY_HARNESS: '0' }]) {
      expect(await execLines(requests, env)).toMatchObject([
        { ok: false, code: 'invalid_command' },
        { id: 1, ok: false, code: 'invalid_command' },
        { ok: false, code: 'invalid_command' },
      ]);
    }
  });

  it.each([
    [{ harness: 'drop' }, 'invalid_command'],
    [{ harness: ['dump'] }, 'invalid_command'],
    [{ harness: 'dump', path: '/memories' }, 'invalid_command'],
    [{ harness: 'put', path: '/memories/a' }, 'invalid_command'],
    [{ harness: 'put', path: 1, base64: '' }, 'invalid_command'],
    [{ harness: 'put', path: '/memories/a', base64: 'a' }, 'invalid_command'],
    [{ harness: 'put', path: '/memories/../a', base64: '' }, 'invalid_path'],
  ])('refuses the harness line %j', async (request, code) => {
    expect(await execLines([request], { ...CLI_MEMORY_ENV, ...HARNESS })).toMatchObject([
      { ok: false, code },
    ]);
  });

  it('answers lines of any shape and goes on', async () => {
    const view = '{"command":"view","path":"/memories"}';
    const input = Buffer.concat([
      Buffer.from(`nonsense\n\n${view}\r\n{"id":"\u2028","command":"view","path":"/memories"}\n{"a":"`),
      Buffer.from([0xff]),
      Buffer.from(`"}\n{"__proto__":null,"command":"view","path":"/memories"}\n[]\n${view}`),
    ]);
    const { code, stdout, stderr } = await run(input);
    expect([code, stderr]).toEqual([0, '']);
    const answers = stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    expect(answers.map(({ ok, code: failure, id }) => [ok, failure, id])).toEqual([
      [false, 'invalid_command', undefined],
      [true, undefined, undefined],
      [true, undefined, '\u2028'],
      [false, 'invalid_command', undefined],
      [false, 'invalid_command', undefined],
      [false, 'invalid_command', undefined],
      [true, undefined, undefined],
    ]);
  });

  it('takes U+2028 and U+2029 raw inside a line and returns them', async () => {
    const text = 'a\u2028b\u2029c';
    const answers = await execLines([create('/memories/a', text), { harness: 'dump' }], {
      ...CLI_MEMORY_ENV,
      ...HARNESS,
    });
    expect(answers.at(-1)).toEqual({ ok: true, files: { '/memories/a': text } });
  });

  it('answers nothing to nothing', async () => {
    expect(await run('')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('answers a line while its input is still open', async () => {
    const child = startCli(EXEC, { env: CLI_MEMORY_ENV });
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    for (const path of ['/memories/a', '/memories/b']) {
      child.stdin.write(`${JSON.stringify(create(path, ''))}\n`);
      expect(JSON.parse((await answers.next()).value as string)).toMatchObject({ ok: true });
    }
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends with 130 at %s, its input still open', async (signal) => {
    const child = startCli(EXEC, { env: CLI_MEMORY_ENV });
    child.stdin.write('{"command":"view","path":"/memories"}\n');
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([130, null]);
  });

  it.each([
    ['without an id', {}],
    ['with an id', { id: 1 }],
  ])('ends quietly with 1 when its reader is gone, its input still open behind a line %s', async (_, id) => {
    const child = startCli(EXEC, { env: CLI_MEMORY_ENV });
    let complaints = '';
    child.stderr.on('data', (data) => {
      complaints += data;
    });
    child.stdout.destroy();
    child.stdin.on('error', () => {});
    child.stdin.write(`${JSON.stringify({ command: 'view', path: '/memories', ...id })}\n`);
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(complaints).toBe('');
  });

  it('answers more than a pipe holds to a reader that comes late', async () => {
    const big = 'x'.repeat(300_000);
    const child = startCli(EXEC, { env: { ...CLI_MEMORY_ENV, ...HARNESS } });
    const dumps = Array.from({ length: 10 }, (_, id) => ({ id, harness: 'dump' }));
    child.stdin.end(
      [create('/memories/a', big), ...dumps].map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    const parts: Buffer[] = [];
    for await (const part of child.stdout) parts.push(part as Buffer);
    const answers = Buffer.concat(parts)
      .toString()
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line));
    expect(answers.map(({ id }) => id).toSorted()).toEqual(dumps.map(({ id }) => id));
    expect(answers.every(({ files }) => files['/memories/a'] === big)).toBe(true);
  });

  it('keeps what it stores sealed on disk and shares it with the next process', async () => {
    const file = join(folder, 'sealed.sqlite');
    const env = { ...CLI_MEMORY_ENV, ...HARNESS, SEALED_MEMORY_STORE: `sqlite:${file}` };
    await execLines([create('/memories/visible-name', 'visible text')], env);
    expect(await execLines([{ harness: 'dump' }], env)).toEqual([
      { ok: true, files: { '/memories/visible-name': 'visible text' } },
    ]);
    expect(readFileSync(file).includes('visible')).toBe(false);
  });

  it('speaks the profile and keeps the limits of its environment', async () => {
    const [doc] = await execLines([{ command: 'view', path: '/memories/a' }], CLI_MEMORY_ENV);
    const [sdk] = await execLines([{ command: 'view', path: '/memories/a' }], {
      ...CLI_MEMORY_ENV,
      SEALED_MEMORY_PROFILE: 'sdk',
    });
    expect(sdk?.['content']).not.toBe(doc?.['content']);
    const answers = await execLines(
      [
        create('/memories/a', '12345'),
        create('/memories/b', '1'),
        create('/memories/b', '2'),
        { harness: 'dump' },
      ],
      {
        ...CLI_MEMORY_ENV,
        ...HARNESS,
        SEALED_MEMORY_MAX_FILE_BYTES: '4',
        SEALED_MEMORY_ON_EXISTS: 'overwrite',
      },
    );
    expect(answers).toMatchObject([
      { ok: false, code: 'limit_exceeded' },
      { ok: true },
      { ok: true },
      { ok: true, files: { '/memories/b': '2' } },
    ]);
  });
});

describe('exec --jsonl with mounts and policies', () => {
  it('shows mounted memories, writes nothing to a read-only one, and keeps secrets out', async () => {
    const file = `sqlite:${join(folder, 'mounted.sqlite')}`;
    const events = join(folder, 'events.jsonl');
    const env = { ...CLI_MEMORY_ENV, SEALED_MEMORY_STORE: file };
    const { SEALED_MEMORY_ROOT_KEY: rootKey = '' } = CLI_MEMORY_ENV;
    await using org = await openMemory({ store: file, tenant: 'org', rootKey });
    await org.files.write('/memories/rules.md', 'be kind');
    const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
    const { code, stdout } = await runCli(
      [...EXEC, '--mount', '/memories/handbook=org:ro', '--policy', 'secrets', '--events', events],
      {
        env,
        input: [
          { command: 'view', path: '/memories/handbook/rules.md' },
          create('/memories/handbook/new.md', 'x'),
          { command: 'delete', path: '/memories/handbook' },
          create('/memories/own.md', secret),
          create('/memories/own.md', 'fine'),
        ]
          .map((line) => `${JSON.stringify(line)}\n`)
          .join(''),
      },
    );
    expect(code).toBe(0);
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([
      { ok: true, content: expect.stringContaining('be kind') },
      { ok: false, code: 'read_only' },
      { ok: false, code: 'invalid_command' },
      { ok: false, code: 'policy_refused' },
      { ok: true },
    ]);
    expect(stdout).not.toContain(secret);
    const told = readFileSync(events, 'utf8');
    const outcomes = told
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).outcome);
    expect(outcomes).toEqual(['ok', 'read_only', 'invalid_command', 'policy_refused', 'ok']);
    for (const hidden of [secret, 'own.md', 'fine']) expect(told).not.toContain(hidden);
    expect(await org.files.exists('/memories/new.md')).toBe(false);
    const refused = await runCli(['put', '/memories/a', '--text', 'x', '--read-only'], { env });
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/read only/);
    const limits = [
      ['--max-file-bytes', '3'],
      ['--max-files', '1'],
      ['--max-tenant-bytes', '4'],
    ] as const;
    for (const flags of limits) {
      const exceeded = await runCli(['put', '/memories/large', '--text', 'more', ...flags], { env });
      expect([flags, exceeded.code, exceeded.stdout]).toEqual([flags, 1, '']);
      expect(exceeded.stderr).toContain(`${flags[0]} sets the limit`);
    }
  }, 60_000);
});
