import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import type { LogFields } from '../../../src/logger.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import {
  type Around,
  interceptStore,
  loseAnswer,
  noAnswer,
  type StoreCall,
} from '../../stage/store-wrappers.ts';

const path = '/memories/notes.txt';
const rootKey = new Uint8Array(32).fill(9);
const proceedAlways: Around = (_, proceed) => proceed();

let store: ObjectStore;
let around: Around;
let memory: Memory;
let logged: { readonly level: string; readonly message: string; readonly fields: LogFields | undefined }[];

beforeEach(async () => {
  store = await openSqliteObjectStore({ path: ':memory:' });
  around = proceedAlways;
  logged = [];
  const log = (level: string) => (message: string, fields?: LogFields) => {
    logged.push({ level, message, fields });
  };
  memory = await openMemory({
    store: interceptStore(store, (call, proceed) => around(call, proceed)),
    tenant: 'acme',
    rootKey,
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
  });
  await memory.execute({ command: 'create', path, file_text: 'a secret' });
});

afterEach(async () => {
  around = proceedAlways;
  await memory.close();
  await store[Symbol.asyncDispose]();
});

const COMMANDS = {
  view: { command: 'view', path },
  'view of a directory': { command: 'view', path: '/memories' },
  create: { command: 'create', path: '/memories/new', file_text: 'another secret' },
  str_replace: { command: 'str_replace', path, old_str: 'secret', new_str: 'x' },
  insert: { command: 'insert', path, insert_line: 0, insert_text: 'another secret' },
  delete: { command: 'delete', path },
  rename: { command: 'rename', old_path: path, new_path: '/memories/new' },
} as const;

type Name = keyof typeof COMMANDS;
const NAMES = Object.keys(COMMANDS) as readonly Name[];

/** Every request for a file or a listing fails so; those for the keyring do not. */
const failWith =
  (error: unknown): Around =>
  (call, proceed) =>
    concernsFiles(call) ? Promise.reject(error) : proceed();

function concernsFiles(call: StoreCall): boolean {
  const keys =
    'key' in call ? [call.key] : 'prefix' in call ? [call.prefix] : call.targets.map(({ key }) => key);
  return keys.some((key) => key.includes('/data'));
}

const HOST_DETAIL = 'connect ECONNREFUSED 10.0.0.7:9000 s3://internal-bucket/tenants/acme';

describe.each<readonly [MemoryErrorCode, sentence: (name: Name) => string]>([
  ['unavailable', () => 'Error: The memory is temporarily unavailable, try again'],
  ['timeout', () => 'Error: The memory is temporarily unavailable, try again'],
  ['access_denied', (name) => `Error: Access to ${subjectOf(name)} is not permitted`],
  ['key_unavailable', (name) => `Error: The path ${subjectOf(name)} could not be ${verbOf(name)}`],
  ['misconfigured', (name) => `Error: The path ${subjectOf(name)} could not be ${verbOf(name)}`],
])('a store that answers %s', (code, sentence) => {
  it.each(NAMES)(
    'is told to the model in neutral words by %s, and to the operator with its cause',
    async (name) => {
      around = failWith(new MemoryError(code, HOST_DETAIL));
      const result = await memory.execute(COMMANDS[name]);
      expect(result).toMatchObject({ isError: true, content: sentence(name), error: { code } });
      expect(logged.at(-1)).toMatchObject({ level: 'error', fields: { code } });
      expectSecretsKept();
      around = proceedAlways;
      expect(await dumped()).toEqual({ [path]: 'a secret' });
    },
  );
});

describe('a store that throws what is not expected', () => {
  it.each(NAMES)('is told to the model in neutral words by %s', async (name) => {
    around = failWith(new TypeError(HOST_DETAIL));
    const result = await memory.execute(COMMANDS[name]);
    expect(result).toMatchObject({
      isError: true,
      content: 'Error: The memory is temporarily unavailable, try again',
      error: { code: 'unavailable', cause: expect.any(TypeError) },
    });
  });
});

describe('a write whose answer is lost', () => {
  it.each(['create', 'str_replace', 'insert'] as const)('is found by %s to have landed', async (name) => {
    let lost = 0;
    around = (call, proceed) =>
      call.verb === 'put' && concernsFiles(call) && lost++ === 0 ? loseAnswer(proceed) : proceed();
    expect(await memory.execute(COMMANDS[name])).toMatchObject({ isError: false });
    expect(lost).toBeGreaterThan(0);
  });

  it.each(['str_replace', 'insert'] as const)(
    'lets %s warn that it may have been applied where nothing can be read back',
    async (name) => {
      let written = false;
      around = async (call, proceed) => {
        if (!concernsFiles(call)) return proceed();
        if (call.verb === 'put') {
          written = true;
          return loseAnswer(proceed);
        }
        if (written) throw noAnswer();
        return proceed();
      };
      const result = await memory.execute(COMMANDS[name]);
      expect(result).toMatchObject({
        isError: true,
        content: `Error: The edit may have been applied. View ${path} before trying again.`,
        error: { code: 'outcome_unknown' },
      });
      expectSecretsKept();
    },
  );
});

describe('a file that was changed in the store', () => {
  it.each(['view', 'str_replace', 'insert', 'rename'] as const)(
    'is refused by %s and stays as it is',
    async (name) => {
      const [object] = await objects();
      if (object === undefined) throw new Error('nothing is stored');
      const forged = object.body.with(-1, (object.body.at(-1) ?? 0) ^ 1);
      await store.put(object.key, forged, { mode: 'overwrite' });
      await memory.close();
      memory = await openMemory({ store, tenant: 'acme', rootKey });
      const result = await memory.execute(COMMANDS[name]);
      expect(result).toMatchObject({
        isError: true,
        content: `Error: The path ${path} could not be ${verbOf(name)}`,
        error: { code: 'integrity', retry: 'never' },
      });
      expect((await objects()).map(({ body }) => body)).toEqual([forged]);
    },
  );
});

describe('a root key that is not the tenant’s', () => {
  it.each(NAMES)('opens nothing for %s', async (name) => {
    const rootKey = new Uint8Array(32).fill(8);
    await using stranger = await openMemory({ store, tenant: 'acme', rootKey, lazy: true });
    const result = await stranger.execute(COMMANDS[name]);
    expect(result).toMatchObject({ isError: true });
    expect(result.content).toBe(`Error: The path ${subjectOf(name)} could not be ${verbOf(name)}`);
    expect(await dumped()).toEqual({ [path]: 'a secret' });
  });
});

function subjectOf(name: Name): string {
  const input = COMMANDS[name];
  return 'path' in input ? input.path : input.old_path;
}

function verbOf(name: Name): string {
  const verbs: Partial<Record<Name, string>> = { create: 'written', delete: 'deleted', rename: 'renamed' };
  return verbs[name] ?? 'read';
}

/** Neither log lines nor errors hold what the files say or how they are called. */
function expectSecretsKept(): void {
  const text = JSON.stringify(logged);
  for (const secret of ['a secret', 'another secret', 'notes.txt']) expect(text).not.toContain(secret);
}

async function objects() {
  const found = [];
  for await (const page of store.list({ prefix: 'tenants/acme/data/' })) {
    for (const { key } of page.objects) {
      const stored = await store.get(key);
      if (typeof stored === 'object') found.push({ key, body: stored.body });
    }
  }
  return found;
}

async function dumped(): Promise<Readonly<Record<string, string>>> {
  await using reader = await openMemory({ store, tenant: 'acme', rootKey });
  const files: Record<string, string> = {};
  for (const each of [path, '/memories/new']) {
    const { isError, content } = await reader.execute({ command: 'view', path: each });
    if (!isError) files[each] = String(content).split('\n     1\t')[1] ?? '';
  }
  return files;
}
