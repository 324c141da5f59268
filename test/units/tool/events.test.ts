import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogFields } from '../../../src/logger.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../../src/open/options/environment.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import type { MemoryEvent } from '../../../src/tool/watch.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';

const rootKey = Buffer.from(Array.from({ length: 32 }, (_, i) => 7 * i + 3)).toString('base64');
/** Made up, in the form of a token of GitHub. */
const SECRET = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
const path = '/memories/canary-path.md';

let store: ObjectStore;
let folder: string;
let events: MemoryEvent[];
let logged: unknown[];

beforeEach(() => {
  store = openSqliteObjectStore({ path: ':memory:' });
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-events-'));
  events = [];
  logged = [];
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Notes what is logged but for the line of a tenant's first write. */
const log = (message: string, fields?: LogFields): void => {
  if (message !== 'a tenant was begun') logged.push([message, fields]);
};
const common = (): MemoryOptions => ({
  store,
  tenant: 'acme',
  rootKey,
  logger: { debug: log, info: log, warn: log, error: log },
  onEvent: (event) => events.push(event),
});

/** All events of what `work` does; closing tells the last ones. */
async function within(work: (memory: Memory) => Promise<unknown>, options: Partial<MemoryOptions> = {}) {
  await using memory = await openMemory({ ...common(), ...options });
  await work(memory);
  await memory.close();
  return events;
}

const create = (text: string, at = path) => ({ command: 'create', path: at, file_text: text });
const replace = (old_str: string, new_str: string) => ({ command: 'str_replace', path, old_str, new_str });

async function drain(entries: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of entries);
}

/** Answers what each event tells of its outcome and of bytes. */
const amounts = () =>
  events.map(({ command, outcome, bytesRead, bytesWritten }) => [command, outcome, bytesRead, bytesWritten]);

describe('onEvent', () => {
  it('tells of every command of the model: what was read, written and asked of the store', async () => {
    await within(async ({ execute }) => {
      await execute(create('12345'));
      await execute({ command: 'view', path });
      await execute(replace('12345', '1234567'));
      await execute({ command: 'insert', path, insert_line: 0, insert_text: 'x' });
      await execute({ command: 'rename', old_path: path, new_path: '/memories/b' });
      await execute({ command: 'delete', path: '/memories/b' });
      await execute({ command: 'view', path });
      await execute({ command: 'toString', path });
      await execute(null);
    });
    expect(amounts()).toEqual([
      ['create', 'ok', 0, 5],
      ['view', 'ok', 5, 0],
      ['str_replace', 'ok', 5, 7],
      ['insert', 'ok', 7, 9],
      ['rename', 'ok', 0, 0],
      ['delete', 'ok', 0, 0],
      ['view', 'not_found', 0, 0],
      ['invalid', 'invalid_command', 0, 0],
      ['invalid', 'invalid_command', 0, 0],
    ]);
    for (const event of events) {
      expect(event).toMatchObject({ tenant: 'acme', time: expect.any(Date), durationMs: expect.any(Number) });
      expect(Object.keys(event).sort()).toEqual([
        'bytesRead',
        'bytesWritten',
        'command',
        'durationMs',
        'outcome',
        'requests',
        'tenant',
        'time',
      ]);
    }
    expect(events[1]?.requests).toEqual({ get: 1 });
    expect(events[2]?.requests).toEqual({ put: 1 });
    expect(events[7]?.requests).toEqual({});
  });

  it('tells of every call of memory.files, of a listing once', async () => {
    await within(async ({ files }) => {
      await files.write(path, '12345');
      await files.append(path, '67');
      await files.read(path);
      await files.copy(path, '/memories/b');
      await files.stat(path);
      await files.exists(path);
      await files.rename('/memories/b', '/memories/c');
      await drain(files.list('/memories', { recursive: true }));
      for await (const _ of files.list()) break;
      await files.remove('/memories/c');
      await files.write(path, 'late', { mode: { ifUnchanged: 'abc' } }).catch(() => {});
      await files.read('/elsewhere').catch(() => {});
      expect(() => files.list('/elsewhere')[Symbol.asyncIterator]()).not.toThrow();
      await drain(files.list('/elsewhere')).catch(() => {});
    });
    expect(amounts()).toEqual([
      ['files.write', 'ok', 0, 5],
      ['files.append', 'ok', 5, 7],
      ['files.read', 'ok', 7, 0],
      ['files.copy', 'ok', 7, 7],
      ['files.stat', 'ok', 0, 0],
      ['files.exists', 'ok', 0, 0],
      ['files.rename', 'ok', 0, 0],
      ['files.list', 'ok', 0, 0],
      ['files.list', 'ok', 0, 0],
      ['files.remove', 'ok', 0, 0],
      ['files.write', 'version_conflict', 0, 0],
      ['files.read', 'invalid_path', 0, 0],
      ['files.list', 'invalid_path', 0, 0],
    ]);
    expect(events[7]?.requests).toEqual({ list: 1 });
  });

  it('tells what was written after redaction, and of edits that are written together each its own', async () => {
    await within(
      async ({ execute, files }) => {
        await execute(create('mail ada@example.org'));
        await Promise.all([files.append(path, '12345'), files.append(path, ' bob@example.org')]);
      },
      { policy: 'email,redact' },
    );
    const redacted = 'mail [redacted: email]'.length;
    expect(events.map(({ bytesWritten }) => bytesWritten)).toEqual([
      redacted,
      redacted + 5,
      redacted + 5 + ' [redacted: email]'.length,
    ]);
  });

  it('tells of refusals by their codes, also by read-only, limits, policies and mounts', async () => {
    await within(
      async ({ execute }) => {
        await execute(create('fine'));
        await execute(create('x', '/memories/b'));
        await execute(create(SECRET, '/memories/c'));
        await execute(create('x', '/memories/handbook/a'));
        await execute({ command: 'view', path: '/memories/handbook' });
      },
      {
        policy: 'secrets',
        limits: { files: 1 },
        mounts: [{ at: '/memories/handbook', tenant: 'org', readOnly: true }],
      },
    );
    expect(events.map(({ tenant, outcome, bytesWritten }) => [tenant, outcome, bytesWritten])).toEqual([
      ['acme', 'ok', 4],
      ['acme', 'limit_exceeded', 0],
      ['acme', 'policy_refused', 0],
      ['acme', 'read_only', 0],
      ['acme', 'ok', 0],
    ]);
    // The requests to the mounted memory's store count too.
    expect(events.at(-1)?.requests['list']).toBeGreaterThan(0);
  });

  it('names who asked: of the memory, of the pool and its tenant, or of the call', async () => {
    await within(
      async ({ execute, files }) => {
        await execute(create('x'));
        await execute({ command: 'view', path }, { actor: 'turn-2' });
        await files.read(path, { actor: 'user-3' });
        await files.write(path, 'y', { actor: 'user-4' });
        await drain(files.list('/memories', { actor: 'user-5' }));
        await expect(files.read(path, { actor: '' })).rejects.toMatchObject({ code: 'misconfigured' });
      },
      { actor: 'session-1' },
    );
    const { tenant: _tenant, ...shared } = common();
    const pool = createMemoryPool({ ...shared, actor: 'pool' });
    for (const actor of [undefined, 'turn-6']) {
      await using memory = await pool.open('acme', { actor });
      await memory.execute({ command: 'view', path });
    }
    await expect(pool.open('acme', { actor: 'x'.repeat(257) })).rejects.toMatchObject({
      code: 'misconfigured',
    });
    await pool.close();
    const actors = ['session-1', 'turn-2', 'user-3', 'user-4', 'user-5', 'pool', 'turn-6'];
    expect(events.map(({ actor }) => actor)).toEqual(actors);
  });

  it('tells of the verbs of an administration', async () => {
    await within(({ execute }) => execute(create('x')));
    events.length = 0;
    const admin = await openAdmin({ ...common(), actor: 'operator' });
    await admin.rotate();
    await admin.verify();
    await admin.migrate({ ttlMs: 1 }).catch(() => {});
    await admin.close();
    expect(events.map(({ command, actor, outcome }) => [command, actor, outcome])).toEqual([
      ['admin.rotate', 'operator', 'ok'],
      ['admin.verify', 'operator', 'ok'],
      ['admin.migrate', 'operator', 'misconfigured'],
    ]);
  });

  it('is called when the answer is out, so that no command waits for it', async () => {
    await using memory = await openMemory(common());
    await memory.execute(create('x'));
    expect(events).toEqual([]);
    await memory.close();
    expect(events).toHaveLength(1);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error(`it met ${SECRET}`);
      },
    ],
    ['rejects', () => Promise.reject(new Error(`it met ${SECRET}`))],
  ])('breaks nothing where it %s, and is reported once, without what it threw', async (_, fail) => {
    const onEvent = (): unknown => fail();
    for (let round = 0; round < 2; round++) {
      await within(
        async ({ execute, files }) => {
          expect(await execute(create('x', `/memories/${round}`))).toMatchObject({ isError: false });
          await files.write(path, 'x');
        },
        { onEvent },
      );
    }
    expect(logged).toEqual([[expect.stringContaining('event'), undefined]]);
  });

  it('breaks nothing where the logger throws as well, or the handler never ends', async () => {
    const thrower = (): never => {
      throw new Error('no log');
    };
    const logger = { debug: thrower, info: thrower, warn: thrower, error: thrower };
    await within(({ execute }) => execute(create('x')), { onEvent: thrower, logger });
    await within(({ files }) => files.write(path, 'y'), { onEvent: () => new Promise(() => {}) });
    await within(({ execute }) => execute({ command: 'view', path }));
    expect(events).toMatchObject([{ bytesRead: 1, outcome: 'ok' }]);
  });

  it('asks nothing more of the store', async () => {
    let requests = 0;
    const watched = interceptStore(store, (_, proceed) => {
      requests++;
      return proceed();
    });
    const spent = async (options: Partial<MemoryOptions>): Promise<number> => {
      const before = requests;
      await within(
        async ({ execute }) => {
          await execute({ command: 'view', path });
          await execute(create('x'));
          await execute({ command: 'delete', path });
        },
        { store: watched, ...options },
      );
      return requests - before;
    };
    await spent({});
    expect(await spent({})).toBe(await spent({ onEvent: undefined }));
  });
});

describe('what an event holds', () => {
  /** Everything that a memory does, well and badly, with canaries in texts, names, settings and failures. */
  const doAll = async ({ execute, files }: Memory): Promise<void> => {
    const secret = 'canary-text';
    for (const input of [
      create(secret),
      create(secret, `/memories/canary-path/${secret}`),
      create(SECRET, `/memories/${SECRET}`),
      replace(secret, `${secret}${secret}`),
      replace('canary-missing', 'x'),
      { command: 'insert', path, insert_line: 0, insert_text: secret },
      { command: 'insert', path, insert_line: 99, insert_text: secret },
      { command: 'view', path },
      { command: 'view', path: '/memories' },
      { command: secret, path },
      { command: 'view', path: `/etc/${secret}` },
      { command: 'rename', old_path: path, new_path: '/memories/canary-path-2' },
      { command: 'rename', old_path: '/memories/canary-path-2', new_path: `/memories/${SECRET}` },
      { command: 'delete', path: '/memories/canary-path' },
    ]) {
      await execute(input, { actor: 'turn-1' });
    }
    await files.write(path, secret);
    await files.write(path, '/memories/canary-text');
    await files.append(path, secret);
    await files.read(path);
    await files.copy(path, '/memories/canary-path-3');
    await files.write(`/memories/${SECRET}`, 'x').catch(() => {});
    await drain(files.list());
  };
  const KEYS = [rootKey, Buffer.from(rootKey, 'base64').toString('hex'), rootKey.slice(0, 20)];

  it('is no text, path, key or secret, and neither is what is logged', async () => {
    await within(doAll, { policy: 'secrets' });
    expect(events.length).toBeGreaterThan(20);
    const said = JSON.stringify([events, logged]);
    for (const canary of ['canary', SECRET.slice(4), '/memories', ...KEYS])
      expect(said).not.toContain(canary);
  });

  it('is a path where paths are asked for, but no text, and no name that was refused', async () => {
    await within(doAll, { policy: 'secrets', eventPaths: true });
    const said = JSON.stringify(events);
    for (const canary of ['canary-text', 'canary-missing', SECRET.slice(4), ...KEYS]) {
      // One of the files of that name is at a path that holds the word.
      const texts = said.replaceAll('/memories/canary-path/canary-text', '');
      expect(texts).not.toContain(canary);
    }
    expect(events[0]?.paths).toEqual([path]);
    expect(events.find(({ command }) => command === 'rename')?.paths).toEqual([
      path,
      '/memories/canary-path-2',
    ]);
    expect(events.find(({ command }) => command === 'files.copy')?.paths).toEqual([
      path,
      '/memories/canary-path-3',
    ]);
  });
});

describe('a file for events', () => {
  const env = (): Readonly<Record<string, string>> => ({
    SEALED_MEMORY_EVENTS_FILE: join(folder, 'events.jsonl'),
    SEALED_MEMORY_EVENT_PATHS: '1',
    SEALED_MEMORY_ACTOR: 'my-agent',
  });

  it('gets a line of JSON for each, of all memories of the process, and is read by its owner alone', async () => {
    const options = optionsFromEnvironment(env(), { ...common(), onEvent: undefined });
    const memories = await Promise.all(['acme', 'other'].map((tenant) => openMemory({ ...options, tenant })));
    await Promise.all(
      memories.flatMap(({ files }) => [1, 2, 3].map((i) => files.write(`/memories/${i}`, 'x'.repeat(i)))),
    );
    await Promise.all(memories.map((memory) => memory.close()));
    const file = join(folder, 'events.jsonl');
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(6);
    for (const line of lines) {
      const { paths, bytesWritten, time } = line;
      expect(line).toMatchObject({ command: 'files.write', actor: 'my-agent', outcome: 'ok' });
      expect(paths).toEqual([`/memories/${bytesWritten}`]);
      expect(new Date(time).toISOString()).toBe(time);
    }
    expect(lines.filter(({ tenant }) => tenant === 'other')).toHaveLength(3);
    expect(statSync(file).mode & 0o077).toBe(0);
  });

  it('that cannot be written breaks nothing, and is reported once', async () => {
    const onEvent = join(folder, 'missing', 'events.jsonl');
    await within(
      async ({ execute }) => {
        for (const name of ['a', 'b']) {
          expect(await execute(create('x', `/memories/${name}`))).toMatchObject({ isError: false });
        }
      },
      { onEvent },
    );
    expect(logged).toHaveLength(1);
  });

  it.each([
    { onEvent: '' },
    { onEvent: 5 },
    { eventPaths: 'yes' },
    { actor: '' },
    { actor: 'x'.repeat(257) },
  ])('and what goes with it is refused as %o', async (wrong) => {
    await expect(openMemory({ ...common(), ...(wrong as Partial<MemoryOptions>) })).rejects.toMatchObject({
      code: 'misconfigured',
    });
  });
});
