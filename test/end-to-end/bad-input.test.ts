import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { interceptStore, noAnswer } from '../stage/store-wrappers.ts';
import { succeed } from '../stage/succeed.ts';
import { findTraces } from '../stage/traces.ts';
import { createWitness } from './witness.ts';

const CONTENT = 'correct-horse-battery-staple';
const PATH = '/memories/aurora-project/plan.md';
const VIEW = { command: 'view', path: PATH };
const NEUTRAL = `Error: The path ${PATH} could not be read`;
/** One command of each kind, all on the same path. */
const EVERY_COMMAND: readonly Readonly<Record<string, unknown>>[] = [
  VIEW,
  { command: 'create', path: PATH, file_text: CONTENT },
  { command: 'str_replace', path: PATH, old_str: 'horse', new_str: 'zebra-and-giraffe' },
  { command: 'insert', path: PATH, insert_line: 0, insert_text: 'inserted-sentence' },
  { command: 'delete', path: PATH },
  { command: 'rename', old_path: PATH, new_path: '/memories/borealis-project' },
];

describe('a memory in bad conditions', { timeout: 60_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-bad-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  let file: string;
  let good: MemoryOptions;
  const opened: Memory[] = [];
  const rootKeys: string[] = [];
  const witness = createWitness();

  const open = async (options: Partial<MemoryOptions> = {}): Promise<Memory> => {
    const memory = await openMemory({ lazy: true, ...good, logger: witness.logger, ...options });
    opened.push(memory);
    return memory;
  };

  beforeEach(() => {
    file = join(directory, `${randomBytes(6).toString('hex')}.db`);
    const rootKey = randomBytes(32).toString('base64');
    rootKeys.push(rootKey);
    good = { store: `sqlite:${file}`, tenant: 'acme', rootKey };
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await Promise.all(opened.splice(0).map((memory) => memory.close()));
  });

  async function fill(): Promise<Memory> {
    const memory = await open();
    await succeed(memory, { command: 'create', path: PATH, file_text: `${CONTENT}\n` });
    return memory;
  }

  it('is refused a root key that is another one, and nothing is lost', async () => {
    const memory = await fill();
    const stranger = await open({ rootKey: randomBytes(32) });
    for (const input of EVERY_COMMAND) {
      const { code, sentence } = await witness.refusal(stranger, input);
      expect(code).toBe('key_unavailable');
      expect(sentence).toMatch(
        /^Error: The path \/memories\/aurora-project\/plan\.md could not be (read|written|deleted|renamed)$/,
      );
    }
    expect(await succeed(memory, VIEW)).toContain(CONTENT);
  });

  it('opens with an old root key that stands behind a new one', async () => {
    await fill();
    const memory = await open({ rootKey: [randomBytes(32), good.rootKey as string] });
    expect(await succeed(memory, VIEW)).toContain(CONTENT);
  });

  it('is refused the root key of another tenant', async () => {
    await fill();
    const theirKey = randomBytes(32);
    const theirs = await open({ tenant: 'other', rootKey: theirKey });
    await succeed(theirs, { command: 'create', path: '/memories/theirs', file_text: '' });
    const wrong = await open({ rootKey: theirKey });
    expect(await witness.refusal(wrong, VIEW)).toEqual({ code: 'key_unavailable', sentence: NEUTRAL });
  });

  it('shows one tenant nothing of another under the same root key', async () => {
    await fill();
    const other = await open({ tenant: 'other' });
    expect((await witness.refusal(other, VIEW)).code).toBe('not_found');
    expect(await succeed(other, { command: 'view', path: '/memories' })).toMatch(/\n0B\t\/memories$/);
  });

  it('is refused when its names are of the other mode', async () => {
    await fill();
    const plain = await open({ names: 'plain' });
    expect(await witness.refusal(plain, VIEW)).toEqual({ code: 'misconfigured', sentence: NEUTRAL });
  });

  it.each([
    ['in a directory that does not exist', (at: string) => join(at, 'missing', 'store.db')],
    ['that is a directory', (at: string) => at],
    [
      'of another program',
      (at: string) => {
        const path = join(at, 'foreign.db');
        new DatabaseSync(path).exec('CREATE TABLE IF NOT EXISTS theirs (a)');
        return path;
      },
    ],
    [
      'that is no database',
      (at: string) => {
        const path = join(at, 'text.db');
        writeFileSync(path, 'This is no database at all. '.repeat(100));
        return path;
      },
    ],
  ])('explains a store %s to the operator alone', async (_, pathIn) => {
    const memory = await open({ store: `sqlite:${pathIn(directory)}` });
    for (const input of EVERY_COMMAND) {
      const { code, sentence } = await witness.refusal(memory, input);
      expect({ input, code }).toEqual({ input, code: 'misconfigured' });
      expect(sentence).not.toContain(directory);
    }
  });

  it('says one clear sentence when the database is full, and loses nothing', async () => {
    const memory = await fill();
    const exec = DatabaseSync.prototype.exec;
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
      exec.call(this, sql);
      if (sql.includes('synchronous')) exec.call(this, 'PRAGMA max_page_count = 20');
    });
    const cramped = await open();
    const big = { command: 'create', path: '/memories/big.md', file_text: CONTENT.repeat(10_000) };
    expect(await witness.refusal(cramped, big)).toEqual({
      code: 'unavailable',
      sentence: 'Error: The memory is temporarily unavailable, try again',
    });
    expect(await succeed(cramped, VIEW)).toContain(CONTENT);
    expect(await witness.refusal(memory, { command: 'view', path: big.path })).toMatchObject({
      code: 'not_found',
    });
    await succeed(cramped, { command: 'insert', path: PATH, insert_line: 0, insert_text: 'small' });
    expect(await succeed(memory, VIEW)).toContain('small');
  });

  it('says one clear sentence when the disk takes no more bytes, and loses nothing', async () => {
    const memory = await fill();
    const big = { command: 'create', path: '/memories/big.md', file_text: CONTENT.repeat(3_000) };
    const script = fileURLToPath(new URL('./run-commands.ts', import.meta.url));
    const blocks = Math.ceil(statSync(file).size / 512) + 64;
    const { stdout } = await promisify(execFile)(
      'sh',
      ['-c', `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, script, JSON.stringify([big, VIEW])],
      {
        env: {
          PATH: process.env['PATH'],
          SEALED_MEMORY_STORE: String(good.store),
          SEALED_MEMORY_TENANT: String(good.tenant),
          SEALED_MEMORY_ROOT_KEY: String(good.rootKey),
        },
      },
    );
    const [writing, viewing] = JSON.parse(stdout) as { content: string; code?: string }[];
    expect(writing).toEqual({
      code: 'outcome_unknown',
      content: `Error: The edit may have been applied. View ${big.path} before trying again.`,
    });
    expect(viewing?.content).toContain(CONTENT);
    expect(await succeed(memory, VIEW)).toContain(CONTENT);
    expect(await witness.refusal(memory, { command: 'view', path: big.path })).toMatchObject({
      code: 'not_found',
    });
    await succeed(memory, big);
  });

  it('refuses a file above the limit with the number and the limit', async () => {
    const memory = await open({ limits: { fileBytes: 1_000 } });
    const { code, sentence } = await witness.refusal(memory, {
      command: 'create',
      path: PATH,
      file_text: CONTENT.repeat(40),
    });
    expect(code).toBe('limit_exceeded');
    expect(sentence).toContain('1120');
    expect(sentence).toContain('1000');
  });

  it('refuses every command once it is closed, and can be closed again', async () => {
    const memory = await fill();
    await memory.close();
    await memory.close();
    for (const input of EVERY_COMMAND) {
      expect((await witness.refusal(memory, input)).code).toBe('aborted');
    }
    expect(await succeed(await open(), VIEW)).toContain(CONTENT);
  });

  it('ends the commands under way before it closes', async () => {
    const memory = await fill();
    const inserting = Array.from({ length: 20 }, (_, i) =>
      succeed(memory, { command: 'insert', path: PATH, insert_line: 0, insert_text: `line-${i}.` }),
    );
    await memory.close();
    await Promise.all(inserting);
    const shown = await succeed(await open(), VIEW);
    for (let i = 0; i < 20; i++) expect(shown).toContain(`line-${i}.`);
  });

  it('ends for a caller that cancels, before or while it waits, and changes nothing', async () => {
    const memory = await fill();
    for (const input of EVERY_COMMAND) {
      const refused = await witness.refusal(memory, input, AbortSignal.abort());
      expect(refused).toEqual({ code: 'aborted', sentence: 'Error: The command was cancelled' });
    }
    const controller = new AbortController();
    const waiting = EVERY_COMMAND.slice(4).map((input) =>
      memory.execute(input, { signal: controller.signal }),
    );
    controller.abort();
    for (const result of await Promise.all(waiting)) {
      expect(result.isError && result.error.code).toBe('aborted');
    }
    expect(await succeed(memory, VIEW)).toContain(CONTENT);
  });

  it('takes the failures of a store as they are, and no failure for success', async () => {
    await fill();
    const base = openSqliteObjectStore({ path: file });
    for (const [code, sentence] of [
      ['unavailable', 'Error: The memory is temporarily unavailable, try again'],
      ['timeout', 'Error: The memory is temporarily unavailable, try again'],
      ['access_denied', `Error: Access to ${PATH} is not permitted`],
      ['misconfigured', undefined],
    ] as const) {
      for (const input of EVERY_COMMAND) {
        const failing = interceptStore(base, () => Promise.reject(new MemoryError(code, 'the store failed')));
        const refused = await witness.refusal(await open({ store: failing }), input);
        expect(refused.code).toBe(code);
        if (sentence !== undefined) expect(refused.sentence).toBe(sentence);
      }
    }
    const broken = interceptStore(base, () => Promise.reject(new TypeError(`${file} is undefined`)));
    expect(await witness.refusal(await open({ store: broken }), VIEW)).toEqual({
      code: 'unavailable',
      sentence: 'Error: The memory is temporarily unavailable, try again',
    });
    await base[Symbol.asyncDispose]();
  });

  it('asks the model to look again when the outcome of a change is unknown', async () => {
    await fill();
    const base = openSqliteObjectStore({ path: file });
    const deaf = interceptStore(base, (call, proceed) =>
      call.verb === 'put' || call.verb === 'delete' ? Promise.reject(noAnswer()) : proceed(),
    );
    const memory = await open({ store: deaf });
    const inputs = EVERY_COMMAND.slice(2);
    for (const input of [{ command: 'create', path: '/memories/new', file_text: '' }, ...inputs]) {
      const { code, sentence } = await witness.refusal(memory, input);
      expect(code).toBe('outcome_unknown');
      expect(sentence).toMatch(
        /^Error: The edit may have been applied\. View \/memories\/.* before trying again\.$/,
      );
    }
    await base[Symbol.asyncDispose]();
  });

  it.each([
    ['an unknown kind of store', { store: 'postgres://someone:hidden-password@host/db' }],
    ['a tenant id that is none', { tenant: 'Not A Tenant/../x' }],
    ['a root key of the wrong length', { rootKey: randomBytes(31).toString('base64') }],
    ['a root key in another alphabet', { rootKey: `${'_'.repeat(43)}=` }],
    ['no root key at all', { rootKey: [] }],
    ['an unknown wording', { wording: 'verbose' as 'doc' }],
    ['a limit that is none', { limits: { fileBytes: -1 } }],
  ] satisfies readonly (readonly [string, Partial<MemoryOptions>])[])(
    'does not open with %s',
    async (_, options) => {
      const opening = open(options);
      await expect(opening).rejects.toMatchObject({ code: 'misconfigured' });
      const error = await opening.catch((reason: unknown) => reason);
      witness.note(error);
      const values = Object.values(options).filter((value) => typeof value === 'string' && value.length > 8);
      expect(findTraces(String((error as Error).message), values as string[])).toEqual([]);
    },
  );

  it('never tells the model or the operator what is none of their business', () => {
    const { model, operator } = witness.said();
    expect(model.length).toBeGreaterThan(60);
    expect(operator.length).toBeGreaterThan(60);
    const secrets = [
      String(good.rootKey),
      CONTENT,
      'inserted-sentence',
      'zebra-and-giraffe',
      'hidden-password',
    ];
    const ofTheHost = [
      directory,
      process.cwd(),
      'node_modules',
      '.ts:',
      'errcode',
      'SQLITE_',
      'tenants/acme',
    ];
    for (const sentence of model) {
      expect([...secrets, ...ofTheHost].filter((secret) => sentence.includes(secret))).toEqual([]);
      expect(sentence.split('\n')).toHaveLength(1);
    }
    const paths = ['aurora-project', 'borealis-project', 'plan.md'];
    for (const line of operator) {
      expect([...secrets, ...ofTheHost, ...paths].filter((secret) => line.includes(secret))).toEqual([]);
    }
  });
});
