import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, execLines, runCli, startCli } from '../../../stage/cli.ts';

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
});
