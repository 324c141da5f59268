import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';

const KEY = 'data/file' as ObjectKey;
const BODY = new TextEncoder().encode('sealed bytes');
const WORKER = fileURLToPath(new URL('sqlite-worker.ts', import.meta.url));
const SLOW = 60_000;

describe('a SQLite store in a file that several processes open', () => {
  let directory: string;
  let path: string;
  const opened: ObjectStore[] = [];
  const children: ChildProcess[] = [];

  const open = (): ObjectStore => {
    const store = openSqliteObjectStore({ path });
    opened.push(store);
    return store;
  };

  const startWorker = (task: string, argument = ''): ChildProcess => {
    const child = spawn(process.execPath, [WORKER, task, path, argument], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    return child;
  };

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'sqlite-processes-'));
    path = join(directory, 'memory.db');
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
    for (const child of children.splice(0)) child.kill('SIGKILL');
    rmSync(directory, { recursive: true });
  });

  it('keeps every edit of four processes', { timeout: SLOW }, async () => {
    await open().put(KEY, new TextEncoder().encode('0'), { mode: 'create' });
    const workers = Array.from({ length: 4 }, () => startWorker('increment', '50'));
    const codes = await Promise.all(workers.map(async (child) => (await once(child, 'exit'))[0]));
    expect(codes).toEqual([0, 0, 0, 0]);
    const stored = await open().get(KEY);
    expect(stored).toMatchObject({ body: new TextEncoder().encode('200') });
  });

  it('keeps what was acknowledged to a process that is killed', { timeout: SLOW }, async () => {
    for (let round = 0; round < 3; round++) {
      const child = startWorker('append', `round-${round}-`);
      const acknowledged: string[] = [];
      for await (const chunk of child.stdout ?? []) {
        acknowledged.push(...String(chunk).trim().split('\n'));
        if (acknowledged.length >= 20) break;
      }
      child.kill('SIGKILL');
      await once(child, 'exit');
      const store = open();
      for (const key of acknowledged) expect(await store.head(key as ObjectKey), key).toBeDefined();
    }
  });

  it('loses nothing that was acknowledged when its file cannot grow, and goes on when it can', async () => {
    const store = open();
    await store.put(KEY, BODY, { mode: 'create' });
    await store[Symbol.asyncDispose]();
    const before = statSync(path).size;
    const code = await new Promise((resolve) => {
      // A limit on the size of files is the nearest thing to a full disk that needs no privileges.
      const child = spawn(
        'sh',
        [
          '-c',
          `ulimit -f ${Math.ceil(before / 512) + 64}; exec "$0" "$@"`,
          process.execPath,
          WORKER,
          'fill',
          path,
          '',
        ],
        {
          stdio: ['ignore', 'inherit', 'inherit'],
        },
      );
      children.push(child);
      child.on('exit', resolve);
    });
    expect(code).toBe(0);
    const again = open();
    expect(await again.get(KEY)).toMatchObject({ body: BODY });
    expect(await again.put(KEY, BODY, { mode: 'overwrite' })).toHaveProperty('etag');
  });

  it('reads a file it may not write, and says so when asked to write', { timeout: SLOW }, async () => {
    await open().put(KEY, BODY, { mode: 'create' });
    chmodSync(path, 0o444);
    chmodSync(directory, 0o555);
    const isRoot = process.getuid?.() === 0;
    try {
      const child = spawn(process.execPath, [WORKER, 'readonly', path, ''], {
        stdio: ['ignore', 'inherit', 'inherit'],
        // Root may write anything, so the worker runs as nobody.
        ...(isRoot ? { uid: 65534, gid: 65534 } : {}),
      });
      children.push(child);
      expect((await once(child, 'exit'))[0]).toBe(0);
    } finally {
      chmodSync(directory, 0o755);
    }
  });

  it('leaves another process its turn, however many writes follow one another', {
    timeout: SLOW,
  }, async () => {
    const store = open();
    await store.put('data/first' as ObjectKey, BODY, { mode: 'create' });
    const child = startWorker('append', 'theirs-');
    let acknowledged = 0;
    child.stdout?.on('data', (data: Buffer) => {
      acknowledged += data.toString().trim().split('\n').length;
    });
    let [next, stopped] = [0, false];
    const writer = async (): Promise<void> => {
      while (!stopped) await store.put(`data/ours/${next++}` as ObjectKey, BODY, { mode: 'create' });
    };
    const writers = Array.from({ length: 32 }, writer);
    while (acknowledged < 10) await new Promise((resolve) => setTimeout(resolve, 20));
    stopped = true;
    await Promise.all(writers);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(next).toBeGreaterThan(acknowledged);
  });

  it('means a path from the working directory in which it was opened', async () => {
    const before = process.cwd();
    mkdirSync(join(directory, 'other'));
    process.chdir(directory);
    try {
      const store = openSqliteObjectStore({ path: 'memory.db' });
      opened.push(store);
      process.chdir('other');
      await store.put(KEY, BODY, { mode: 'create' });
      expect(readdirSync('.')).toEqual([]);
      expect(statSync('../memory.db').size).toBeGreaterThan(0);
    } finally {
      process.chdir(before);
    }
  });
});
