import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { CLI_PROGRAM } from '../stage/programs.ts';
import { succeed } from '../stage/succeed.ts';

const ROOT_KEY = Buffer.alloc(32, 5).toString('base64');
const PATH = '/memories/notes.md';
const UNAVAILABLE = 'Error: The memory is temporarily unavailable, try again';

describe('a memory in a SQLite file', { timeout: 60_000 }, () => {
  let directory: string;
  let file: string;
  const opened: Memory[] = [];
  /** The reasons that the operator was told. */
  const told: unknown[] = [];

  const open = async (path = file): Promise<Memory> => {
    const note = (_: string, fields?: Readonly<Record<string, unknown>>): void => {
      told.push(fields?.['reason']);
    };
    const memory = await openMemory({
      store: `sqlite:${path}`,
      tenant: 'acme',
      rootKey: ROOT_KEY,
      logger: { debug() {}, info() {}, warn: note, error: note },
    });
    opened.push(memory);
    return memory;
  };

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'sealed-memory-sqlite-'));
    file = join(directory, 'memory.db');
    told.length = 0;
    await succeed(await open(), { command: 'create', path: PATH, file_text: 'first\n' });
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((memory) => memory.close()));
    rmSync(directory, { recursive: true });
  });

  it('is unavailable while another process keeps it locked, and goes on when it lets go', async () => {
    const memory = await open();
    await linesOf(memory);
    const other = new DatabaseSync(file);
    other.exec('BEGIN EXCLUSIVE');
    expect(await memory.execute(inserting('second'))).toMatchObject({ isError: true, content: UNAVAILABLE });
    expect(told).toEqual([
      'The SQLite file stayed locked by another process: try again once that has ended.',
    ]);
    other.close();
    expect(await linesOf(memory)).toEqual(['first']);
    await succeed(memory, inserting('second'));
    expect(await linesOf(memory)).toEqual(['second', 'first']);
  });

  it('keeps what it acknowledged when the disk is full, and goes on when there is room', async () => {
    const paths = Array.from({ length: 60 }, (_, i) => `/memories/file-${i}.md`);
    const text = 'sixteen letters.'.repeat(640);
    const inputs = paths.map((path) => ({ command: 'create', path, file_text: text }));
    // A limit on the size of files is the nearest thing to a full disk that needs no privileges.
    const blocks = Math.ceil(statSync(file).size / 512) + 400;
    const { answers, reasons } = await runCommands(inputs, {
      shell: `ulimit -f ${blocks}`,
      nodeArgs: ['--import', 'data:text/javascript,process.on("SIGXFSZ", () => {})'],
    });
    const failed = answers.filter(({ ok }) => !ok);
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThan(paths.length);
    expect(reasons).toHaveLength(failed.length);
    const memory = await open();
    expect(await linesOf(memory)).toEqual(['first']);
    for (const [i, path] of paths.entries()) {
      const shown = await memory.execute({ command: 'view', path });
      if (answers[i]?.ok) expect(shown.isError, path).toBe(false);
      else if (answers[i]?.code !== 'outcome_unknown') expect(shown.isError, path).toBe(true);
      if (!shown.isError) expect(shown.content, path).toContain(text);
    }
    await succeed(memory, { command: 'create', path: '/memories/after.md', file_text: text });
  });

  it('is as it was before a transaction whose process was killed in the middle of it', async () => {
    const before = readFileSync(file);
    const child = spawn(process.execPath, ['-e', HALF_A_TRANSACTION, file], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
    expect(readFileSync(file).equals(before)).toBe(false);
    const memory = await open();
    expect(await linesOf(memory)).toEqual(['first']);
    await succeed(memory, inserting('second'));
    expect(await linesOf(await open())).toEqual(['second', 'first']);
  });

  it('can be copied away at any time, with all that was acknowledged until then', async () => {
    const memory = await open();
    for (let i = 1; i <= 5; i++) {
      await succeed(memory, inserting(`line ${i}`));
      const copy = join(directory, `copy-${i}.db`);
      copyFileSync(file, copy);
      const lines = await linesOf(await open(copy));
      expect(lines).toEqual([...Array.from({ length: i }, (_, n) => `line ${i - n}`), 'first']);
    }
  });

  it('is unavailable once its file was moved away, and loses nothing when it comes back', async () => {
    const memory = await open();
    await succeed(memory, inserting('second'));
    const away = join(directory, 'away.db');
    renameSync(file, away);
    expect(await memory.execute(inserting('third'))).toMatchObject({ isError: true, content: UNAVAILABLE });
    expect(told).toEqual(['The SQLite file was moved, replaced or deleted while in use.']);
    expect(await linesOf(await open(away))).toEqual(['second', 'first']);
    renameSync(away, file);
    await succeed(memory, inserting('fourth'));
    expect(await linesOf(memory)).toEqual(['fourth', 'second', 'first']);
  });

  it('can be read where it may not be written, and every change is refused in one sentence', async () => {
    const shared = join(directory, 'read-only');
    mkdirSync(shared);
    renameSync(file, join(shared, 'memory.db'));
    file = join(shared, 'memory.db');
    chmodSync(file, 0o444);
    chmodSync(shared, 0o555);
    chmodSync(directory, 0o755);
    const inputs = [
      { command: 'view', path: PATH },
      { command: 'create', path: '/memories/new.md', file_text: 'new' },
      inserting('second'),
      { command: 'delete', path: PATH },
      { command: 'rename', old_path: PATH, new_path: '/memories/new.md' },
      { command: 'view', path: PATH },
    ];
    // Root may write anything, so the process is nobody's.
    const isRoot = process.getuid?.() === 0;
    const { answers, reasons } = await runCommands(inputs, isRoot ? { uid: 65534, gid: 65534 } : {});
    chmodSync(shared, 0o755);
    const [first, create, insert, remove, rename, last] = answers.map(({ content }) => content);
    expect(create).toBe('Error: Access to /memories/new.md is not permitted');
    expect([insert, remove, rename]).toEqual(Array(3).fill(`Error: Access to ${PATH} is not permitted`));
    expect(last).toBe(first);
    expect(reasons).toEqual(
      Array(4).fill(
        'The SQLite file may not be written: give this user write access to the file and its directory.',
      ),
    );
    expect(await linesOf(await open())).toEqual(['first']);
  });

  interface Answer {
    readonly ok: boolean;
    readonly content: string;
    readonly code?: string;
  }

  /** Sends the commands through a process of its own: what the model reads of each, and what the operator. */
  async function runCommands(
    inputs: readonly unknown[],
    options: {
      readonly shell?: string;
      readonly nodeArgs?: readonly string[];
      readonly uid?: number;
      readonly gid?: number;
    },
  ): Promise<{ readonly answers: readonly Answer[]; readonly reasons: readonly string[] }> {
    const { shell = 'true', nodeArgs = [], ...user } = options;
    const script = `${shell}; exec "$0" "$@"`;
    const child = spawn('sh', ['-c', script, process.execPath, ...nodeArgs, CLI_PROGRAM, 'exec', '--jsonl'], {
      env: {
        PATH: process.env['PATH'],
        SEALED_MEMORY_STORE: `sqlite:${file}`,
        SEALED_MEMORY_TENANT: 'acme',
        SEALED_MEMORY_ROOT_KEY: ROOT_KEY,
      },
      ...user,
    });
    const [output, errors] = [child.stdout, child.stderr].map((stream) => stream.toArray());
    child.stdin.end(inputs.map((input) => `${JSON.stringify(input)}\n`).join(''));
    expect((await once(child, 'close'))[0]).toBe(0);
    const answers = linesIn(await output).map((line) => JSON.parse(line) as Answer);
    expect(answers).toHaveLength(inputs.length);
    const reasons = linesIn(await errors).map((line) => line.slice(line.indexOf('reason=') + 7));
    return { answers, reasons };
  }
});

/** Changes pages of the file itself before it commits, as a large transaction does, and dies. */
const HALF_A_TRANSACTION = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(process.argv[1]);
  database.exec('PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE objects SET body = zeroblob(length(body) + 50000)');
  database.exec("INSERT INTO objects VALUES (x'00', '', 0, zeroblob(1000000))");
  process.kill(process.pid, 'SIGKILL');
`;

function inserting(line: string): unknown {
  return { command: 'insert', path: PATH, insert_line: 0, insert_text: line };
}

function linesIn(chunks: readonly Buffer[] | undefined): readonly string[] {
  return Buffer.concat(chunks ?? [])
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
}

async function linesOf(memory: Memory): Promise<readonly string[]> {
  const lines = (await succeed(memory, { command: 'view', path: PATH })).split('\n').slice(1);
  return lines.map((line) => line.slice(line.indexOf('\t') + 1)).filter((line) => line !== '');
}
