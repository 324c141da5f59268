import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogFields } from '../../../src/logger.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { sensitiveInformation } from '../../../src/policy/index.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import type { MemoryEvent } from '../../../src/tool/watch.ts';
import type { Policy } from '../../../src/tree/admission/policy.ts';
import { countCalls, interceptStore, recordInto, type StoreCall } from '../../stage/store-wrappers.ts';

/** Made up, in the form of a token of GitHub. */
const CANARY = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
const [FIRST, SECOND] = [CANARY.slice(0, 20), CANARY.slice(20)];
const path = '/memories/notes.md';
const rootKey = new Uint8Array(32).fill(3);

let base: ObjectStore;
let calls: StoreCall[];
let logged: unknown[];
const opened: Memory[] = [];

beforeEach(() => {
  base = openSqliteObjectStore({ path: ':memory:' });
  calls = [];
  logged = [];
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((memory) => memory.close()));
  await base[Symbol.asyncDispose]();
});

async function open(options: Partial<MemoryOptions> = {}): Promise<Memory> {
  const log = (message: string, fields?: LogFields) => void logged.push(message, fields);
  const memory = await openMemory({
    store: interceptStore(base, recordInto(calls)),
    tenant: 'acme',
    rootKey,
    logger: { debug: log, info: log, warn: log, error: log },
    ...options,
  });
  opened.push(memory);
  return memory;
}

/** All that is stored: names and texts, as a memory without a policy reads them. */
async function stored(): Promise<Readonly<Record<string, string>>> {
  const { files } = await open();
  const found: Record<string, string> = {};
  for await (const entry of files.list('/memories', { recursive: true })) {
    found[entry.path] = (await files.read(entry.path))?.text() ?? '';
  }
  return found;
}

const create = (text: string, at = path) => ({ command: 'create', path: at, file_text: text });
const replace = (old_str: string, new_str: string) => ({ command: 'str_replace', path, old_str, new_str });
const insert = (text: string) => ({ command: 'insert', path, insert_line: 0, insert_text: text });

describe('a policy', () => {
  it.each<[string, (memory: Memory) => Promise<unknown>]>([
    ['create', (memory) => memory.execute(create(`a\n${CANARY}\n`, '/memories/new'))],
    ['create of that name', (memory) => memory.execute(create('a', `/memories/${CANARY}`))],
    ['str_replace', (memory) => memory.execute(replace('start', CANARY))],
    ['insert', (memory) => memory.execute(insert(CANARY))],
    [
      'rename',
      (memory) => memory.execute({ command: 'rename', old_path: path, new_path: `/memories/${CANARY}` }),
    ],
    ['files.write', (memory) => memory.files.write(path, CANARY).catch((error) => ({ error }))],
    ['files.append', (memory) => memory.files.append(path, `\n${CANARY}`).catch((error) => ({ error }))],
    ['files.copy', (memory) => memory.files.copy(path, `/memories/${CANARY}`).catch((error) => ({ error }))],
    [
      'files.rename',
      (memory) => memory.files.rename(path, `/memories/${CANARY}`).catch((error) => ({ error })),
    ],
  ])('refuses a %s before anything is sealed', async (_, write) => {
    await (await open()).execute(create('start'));
    const memory = await open({ policy: sensitiveInformation() });
    calls.length = 0;
    const result = (await write(memory)) as { readonly error: unknown };
    expect(result.error).toMatchObject({
      code: 'policy_refused',
      details: { rules: ['github/GITHUB_TOKEN'] },
    });
    expect(countCalls(calls)).not.toHaveProperty('put');
    expect(await stored()).toEqual({ [path]: 'start' });
    for (const said of [
      logged,
      String(result.error),
      Object(result.error).details,
      Object(result.error).cause,
    ]) {
      expect(JSON.stringify(said ?? null)).not.toContain(CANARY.slice(4));
    }
  });

  it('catches a secret that arrives in two edits, of which neither holds it', async () => {
    const memory = await open({ policy: sensitiveInformation() });
    expect(await memory.execute(create(`key: ${FIRST}HERE\n`))).toMatchObject({ isError: false });
    const result = await memory.execute(replace('HERE', SECOND));
    expect(result).toMatchObject({
      isError: true,
      content: `Error: Nothing was written: ${path} would hold information (github/GITHUB_TOKEN) in line 1 that must not be kept in this memory. Leave it out and try again`,
    });
    const appended = memory.files
      .write('/memories/b', FIRST)
      .then(() => memory.files.append('/memories/b', SECOND));
    await expect(appended).rejects.toMatchObject({ code: 'policy_refused' });
    const together = await Promise.all(
      [replace('HERE', SECOND), insert('fine')].map((each) => memory.execute(each)),
    );
    expect(together.map(({ isError }) => isError)).toEqual([true, false]);
    const texts = await stored();
    expect(texts).toEqual({ [path]: `fine\nkey: ${FIRST}HERE\n`, '/memories/b': FIRST });
    expect(JSON.stringify(logged)).not.toContain(SECOND);
  });

  it('does not repeat a name that it refused', async () => {
    const memory = await open({ policy: 'secrets' });
    const { content } = await memory.execute(create('text', `/memories/${CANARY}`));
    expect(content).toBe(
      'Error: Nothing was written: the name holds information (github/GITHUB_TOKEN) that must not be kept in this memory. Choose another name',
    );
  });

  it('writes nothing for a tenant that is new, not even a keyring', async () => {
    const memory = await open({ policy: 'secrets' });
    calls.length = 0;
    await memory.execute(create(CANARY));
    expect(calls).toEqual([]);
  });

  it('has placeholders written in the place of what it redacts, and the reply says so', async () => {
    const memory = await open({ policy: 'secrets,email,redact' });
    const note =
      ' Sensitive information (github/GITHUB_TOKEN) was replaced by placeholders before it was saved; view the file to see it as it is.';
    expect(await memory.execute(create(`${CANARY} .\n`))).toMatchObject({
      content: `File created successfully at: ${path}${note}`,
    });
    expect(await memory.execute(replace('.', `and ${CANARY}`))).toMatchObject({
      content: `The memory file has been edited.${note}`,
    });
    expect(await memory.execute(insert(`${CANARY} `))).toMatchObject({
      content: `The file ${path} has been edited.${note}`,
    });
    expect(await memory.execute(insert('plain'))).toMatchObject({
      content: `The file ${path} has been edited.`,
    });
    const heard: unknown[] = [];
    const onRedacted = (findings: unknown) => void heard.push(findings);
    await memory.files.write('/memories/b', 'Ask ada@example.org', { onRedacted });
    await memory.execute(create('Ask ada@example.org', '/memories/c'), { onRedacted });
    expect(heard).toEqual([[{ rule: 'email', line: 1 }], [{ rule: 'email', line: 1 }]]);
    const placeholder = '[redacted: github/GITHUB_TOKEN]';
    expect(await stored()).toEqual({
      [path]: `plain\n${placeholder} \n${placeholder} and ${placeholder}\n`,
      '/memories/b': 'Ask [redacted: email]',
      '/memories/c': 'Ask [redacted: email]',
    });
  });

  it.each<[string, (memory: Memory) => Promise<unknown>]>([
    ['files.write', ({ files }) => files.write(path, 'Ask ada@example.org')],
    ['files.write as new', ({ files }) => files.write('/memories/b', 'ada@example.org', { mode: 'create' })],
    [
      'files.write of a version',
      async ({ files }) => {
        const ifUnchanged =
          (await files.stat(path).then((found) => found?.type === 'file' && found.version)) || '';
        return files.write(path, 'Ask ada@example.org', { mode: { ifUnchanged } });
      },
    ],
    ['files.copy', ({ files }) => files.copy(path, '/memories/b')],
    ['files.append', ({ files }) => files.append(path, ' and ada@example.org')],
    ['create', (memory) => memory.execute(create('Ask ada@example.org', '/memories/b'))],
    ['str_replace', (memory) => memory.execute(replace('start', 'ada@example.org'))],
    ['insert', (memory) => memory.execute(insert('ada@example.org'))],
  ])('has the size told that a redacted %s leaves', async (_, write) => {
    await (await open()).files.write(path, 'start with eve@example.org');
    const events: MemoryEvent[] = [];
    const memory = await open({ policy: 'email,redact', onEvent: (event) => void events.push(event) });
    const told = await write(memory);
    await memory.close();
    const [at, text] = Object.entries(await stored()).find(([, each]) => each.includes('[redacted')) ?? [];
    expect(text).toBeDefined();
    expect(events.at(-1)).toMatchObject({ outcome: 'ok', bytesWritten: text?.length });
    if (Object(told).version !== undefined) expect(told).toMatchObject({ path: at, size: text?.length });
  });

  it.each([
    [{ fileBytes: 40 }, 'file_bytes'],
    [{ tenantBytes: 40 }, 'tenant_bytes'],
  ])('cannot make a file longer than %j allows', async (limits, limit) => {
    const long = 'a@b.cc c@d.ee e@f.gg';
    const memory = await open({ policy: 'email,redact', limits });
    await memory.execute(create('start'));
    const refused = { code: 'limit_exceeded', details: { limit } };
    expect(await memory.execute(create(long, '/memories/b'))).toMatchObject({
      isError: true,
      error: refused,
    });
    expect(await memory.execute(replace('start', long))).toMatchObject({ isError: true, error: refused });
    await expect(memory.files.write(path, long)).rejects.toMatchObject(refused);
    await expect(memory.files.append(path, long)).rejects.toMatchObject(refused);
    expect(await stored()).toEqual({ [path]: 'start' });
  });

  it.each<[string, Policy]>([
    ['throws', () => Promise.reject(new Error(`it met ${CANARY}`))],
    ['answers with nothing', (() => undefined) as unknown as Policy],
    ['answers with another thing', (() => ({ allow: true })) as unknown as Policy],
    ['refuses without findings', (() => ({ refuse: true })) as unknown as Policy],
  ])('that %s has nothing written, and says nothing of the text', async (_, policy) => {
    await (await open()).execute(create('start'));
    const memory = await open({ policy });
    for (const input of [create('x', '/memories/new'), insert('x')]) {
      const result = await memory.execute(input);
      expect(result).toMatchObject({ isError: true, error: { code: 'unavailable' } });
    }
    await expect(memory.files.write(path, 'x')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await stored()).toEqual({ [path]: 'start' });
    expect(JSON.stringify(logged)).not.toContain(CANARY);
  });

  it('is asked for the whole file as it would be, and only for a name where nothing else is new', async () => {
    const asked: unknown[] = [];
    const memory = await open({
      policy({ path: at, content }) {
        asked.push([at, content && new TextDecoder().decode(content)]);
        return 'allow';
      },
    });
    await memory.execute(create('one\n'));
    await memory.execute(insert('zero'));
    await memory.execute({ command: 'view', path });
    await memory.files.rename(path, '/memories/b');
    await memory.files.remove('/memories/b');
    expect(asked).toEqual([
      [path, 'one\n'],
      [path, 'zero\none\n'],
      ['/memories/b', undefined],
    ]);
  });

  it.each(['', 'secret', 'redact', 'secrets;email', 'secrets,'])(
    'is not made of the words "%s"',
    async (policy) => {
      await expect(open({ policy })).rejects.toMatchObject({ code: 'misconfigured' });
    },
  );
});

describe('a read-only memory', () => {
  it('refuses every write, and sends nothing for it', async () => {
    await (await open()).execute(create('start'));
    const memory = await open({ readOnly: true, expireAfterDays: 30 });
    await memory.execute({ command: 'view', path });
    calls.length = 0;
    const inputs = [
      create('x', '/memories/new'),
      replace('start', 'x'),
      insert('x'),
      { command: 'delete', path },
      { command: 'rename', old_path: path, new_path: '/memories/b' },
    ];
    for (const input of inputs) {
      expect(await memory.execute(input)).toMatchObject({ isError: true, error: { code: 'read_only' } });
    }
    expect((await memory.execute(insert('x'))).content).toBe(
      `Error: ${path} cannot be changed: this memory can be read only`,
    );
    const { files } = memory;
    for (const write of [
      files.write(path, 'x'),
      files.write(path, 'x', { mode: { ifUnchanged: 'a' } }),
      files.append(path, 'x'),
      files.copy(path, '/memories/b'),
      files.rename(path, '/memories/b'),
      files.remove(path),
    ]) {
      await expect(write).rejects.toMatchObject({ code: 'read_only' });
    }
    expect(Object.keys(countCalls(calls)).filter((verb) => verb !== 'get' && verb !== 'list')).toEqual([]);
    expect(await stored()).toEqual({ [path]: 'start' });
  });

  it('reads with GET and LIST alone, also where reads are recorded and a rename was cut off', async () => {
    await (await open()).execute(create('start'));
    const memory = await open({ readOnly: true, expireAfterDays: 30 });
    calls.length = 0;
    expect(await memory.execute({ command: 'view', path })).toMatchObject({ isError: false });
    expect(await memory.execute({ command: 'view', path: '/memories' })).toMatchObject({ isError: false });
    expect(countCalls(calls)).toEqual({ get: 1, list: 1 });
  });
});
