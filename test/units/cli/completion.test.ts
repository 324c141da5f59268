import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import { runCli } from '../../stage/cli.ts';
import { CLI_PROGRAM, PROGRAM_ENV } from '../../stage/programs.ts';

/** Names of files of a memory that a shell would run, or take apart. */
const [HOSTILE, SPACED] = ['$(touch pwned).md', 'b c.md'];

let folder: string;
let env: Readonly<Record<string, string>>;
let versions: readonly string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-completion-'));
  const rootKey = Buffer.alloc(32, 7).toString('base64');
  const store = `sqlite:${join(folder, 'store.sqlite')}`;
  env = {
    SEALED_MEMORY_STORE: store,
    SEALED_MEMORY_TENANT: 'acme',
    SEALED_MEMORY_ROOT_KEY: rootKey,
    SEALED_MEMORY_EVENTS_FILE: join(folder, 'events.jsonl'),
  };
  await using memory = await openMemory({ store, tenant: 'acme', rootKey, history: { days: 30 } });
  await memory.files.write('/memories/notes/a.md', 'one', { actor: 'ann' });
  await memory.files.write('/memories/notes/a.md', 'two', { actor: 'mail import' });
  for (const name of [HOSTILE, SPACED]) await memory.files.write(`/memories/notes/${name}`, 'x');
  await memory.files.write('/memories/top.md', 'x');
  await memory.files.write('/memories/-rf', 'x');
  const entries = await memory.history.list('/memories/notes/a.md');
  versions = entries.flatMap((entry) => (entry.kind === 'written' ? `v${entry.version.slice(0, 8)}` : []));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'bin/sealed-memory'),
    `#!/bin/sh\nexec "${process.execPath}" "${CLI_PROGRAM}" "$@"\n`,
    {
      mode: 0o755,
    },
  );
  writeFileSync(join(folder, 'script.bash'), (await runCli(['completion', 'bash'])).stdout);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Answers what a bash that has nothing but the script offers for a line, of which COMP_WORDS are given. */
function inBash(words: readonly string[], line = ''): readonly string[] {
  const script = [
    'source script.bash && source script.bash || exit 9',
    'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$LINE',
    '__sealed_memory_complete',
    'complete -p sealed-memory >/dev/null || exit 8',
    `printf "%s\\n" "\${COMPREPLY[@]}"`,
  ].join('\n');
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: {
      ...PROGRAM_ENV,
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      HOME: folder,
      LINE: line,
      ...env,
    },
  });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completion in a bare bash', () => {
  it('offers commands, options and paths, from /memories on', () => {
    expect(inBash(['sealed-memory', 'keys', 'ro'])).toEqual(['rotate']);
    expect(inBash(['sealed-memory', 'help', 'keys', 'ro'])).toEqual(['rotate']);
    expect(inBash(['sealed-memory', 'ls', '--recu'])).toEqual(['--recursive']);
    expect(inBash(['sealed-memory', 'cat', ''])).toEqual(['notes/', 'top.md']);
    expect(inBash(['sealed-memory', 'cat', 'notes/a'])).toEqual(['notes/a.md']);
    expect(inBash(['sealed-memory', 'cat', '/memories/notes/a'])).toEqual(['/memories/notes/a.md']);
    expect(inBash(['sealed-memory', 'cat', './to'])).toEqual(['./top.md']);
    expect(inBash(['sealed-memory', '--json', 'cat', 'top.md', 'no'])).toEqual(['notes/']);
  });

  it('offers versions and actors', () => {
    expect(versions).toHaveLength(2);
    expect(inBash(['sealed-memory', 'show', 'notes/a.md', '']).toSorted()).toEqual(versions.toSorted());
    expect(inBash(['sealed-memory', 'undo', '']).toSorted()).toEqual(['ann', 'mail\\ import']);
  });

  it('puts together what bash takes apart', () => {
    const words = ['sealed-memory', 'restore-at', 'x', '--below', '=', 'no'];
    expect(inBash(words, 'sealed-memory restore-at x --below=no')).toEqual(['notes/']);
    expect(inBash(words.slice(0, 5), 'sealed-memory restore-at x --below=')).toEqual(['notes/', 'top.md']);
  });

  it('keeps the @ of a name, from which on bash replaces what was typed', async () => {
    const path = '/memories/notes/users/ann@home.md';
    await runCli(['put', path, '--text', 'x'], { env });
    const words = ['sealed-memory', 'cat', 'notes/users/ann', '@', 'ho'];
    expect(inBash(words, 'sealed-memory cat notes/users/ann@ho')).toEqual(['@home.md']);
    expect(inBash(words.slice(0, 4), 'sealed-memory cat notes/users/ann@')).toEqual(['@home.md']);
    await runCli(['rm', path], { env });
  });

  it('runs nothing that is typed or offered', () => {
    const quoted = ['notes/\\$\\(touch\\ pwned\\).md', 'notes/a.md', 'notes/b\\ c.md'];
    expect(inBash(['sealed-memory', 'cat', 'notes/']).toSorted()).toEqual(quoted);
    expect(inBash(['sealed-memory', 'cat', 'notes/b\\ '])).toEqual(['notes/b\\ c.md']);
    expect(inBash(['sealed-memory', 'cat', '"notes/b'])).toEqual(['notes/b c.md']);
    expect(inBash(['sealed-memory', 'cat', '"notes/'])).toEqual(['notes/a.md', 'notes/b c.md']);
    expect(inBash(['sealed-memory', 'cat', '$(touch pwned)', '`touch pwned`'])).toEqual([]);
    expect(readdirSync(folder)).not.toContain('pwned');
  });
});

it('an answer comes soon, also where a server says nothing and a key is a pipe', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const mute = {
    ...env,
    SEALED_MEMORY_STORE: 's3://memories/x',
    SEALED_MEMORY_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    SEALED_MEMORY_S3_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
  };
  execFileSync('mkfifo', [join(folder, 'key-pipe')]);
  const { SEALED_MEMORY_ROOT_KEY, ...keyless } = env;
  expect(SEALED_MEMORY_ROOT_KEY).not.toBe('');
  const piped = { ...keyless, SEALED_MEMORY_ROOT_KEY_FILE: join(folder, 'key-pipe') };
  const startedAt = performance.now();
  for (const given of [mute, piped]) {
    const answer = await runCli(['complete', '--', 'cat', ''], { env: given, cwd: folder });
    expect(answer).toMatchObject({ code: 0, stdout: ':4\n', stderr: '' });
  }
  // Both limits, two starts of the program, and a busy machine.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  server.close();
});

it.each(['zsh', 'fish', 'powershell'])('prints what makes %s ask', async (shell) => {
  const { code, stdout } = await runCli(['completion', shell]);
  expect(code).toBe(0);
  expect(stdout).toContain('sealed-memory complete ');
});
