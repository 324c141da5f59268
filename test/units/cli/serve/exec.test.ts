import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, startCli } from '../../../stage/cli.ts';

const EXEC = ['exec', '--jsonl'];
describe('exec --jsonl', () => {
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
    const child = startCli(EXEC, { env: { ...CLI_MEMORY_ENV, SEALED_MEMORY_HARNESS: '1' } });
    const dumps = Array.from({ length: 10 }, (_, id) => ({ id, harness: 'dump' }));
    child.stdin.end(
      [{ command: 'create', path: '/memories/a', file_text: big }, ...dumps]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
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
});
