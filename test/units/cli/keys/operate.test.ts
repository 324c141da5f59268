import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runMigrate, runRewrap, runRotate, runShowRoot, runStatus } from '../../../../src/cli/keys/keys.ts';
import { runShred } from '../../../../src/cli/keys/shred.ts';
import type { Invocation } from '../../../../src/cli/run/invocation.ts';
import { loadSodium } from '../../../../src/format/sodium.ts';
import { envRootKey } from '../../../../src/keys/env-root-key.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { invocationOf } from '../../../doubles/invocation.ts';
import { CLI_MEMORY_ENV, type CliRun, runCli, startCli } from '../../../support/cli.ts';

const OTHER_KEY = Buffer.alloc(32, 8).toString('base64');
const ROOT_KEY = CLI_MEMORY_ENV['SEALED_MEMORY_ROOT_KEY'] ?? '';

let folder: string;
let file: string;
let env: Record<string, string>;
let count = 0;
beforeAll(async () => {
  await loadSodium();
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-keys-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  file = join(folder, `${count++}.sqlite`);
  env = { ...CLI_MEMORY_ENV, SEALED_MEMORY_STORE: `sqlite:${file}` };
});
afterEach(() => vi.unstubAllEnvs());

const run = (...args: readonly string[]): Promise<CliRun> => runCli([...args, '--json'], { env });

/** The id of 32 bytes, when libsodium is loaded. */
const idOf = (key: string): string => envRootKey(key).id;

const plain = (...args: readonly string[]): Promise<CliRun> => runCli(args, { env });

async function create(path: string, text: string): Promise<void> {
  await using memory = await openMemory({ store: `sqlite:${file}`, tenant: 'acme', rootKey: ROOT_KEY });
  const result = await memory.execute({ command: 'create', path, file_text: text });
  expect(result).toMatchObject({ isError: false });
}

async function text(path: string, rootKey = ROOT_KEY): Promise<string> {
  await using memory = await openMemory({ store: `sqlite:${file}`, tenant: 'acme', rootKey, lazy: true });
  const result = await memory.execute({ command: 'view', path });
  return result.isError ? result.error.code : String(result.content);
}

type Event = Readonly<Record<string, unknown>>;

/** Runs a command in this process for a program: its exit code and its last event. */
async function done(command: (invocation: Invocation) => Promise<number>): Promise<Event> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const { invocation, shown } = invocationOf({ flags: { json: true } });
  const exit = await command(invocation);
  return { exit, ...(JSON.parse(shown.at(-1) ?? '{}') as Event) };
}

/** Everything in the store was written so much earlier. */
function age(ms: number): void {
  const database = new DatabaseSync(file);
  database.prepare('UPDATE objects SET last_modified = last_modified - ?').run(ms);
  database.close();
}

const eventsOf = ({ stdout }: Pick<CliRun, 'stdout'>): readonly Event[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Event);
const lastOf = (result: CliRun): Event => eventsOf(result).at(-1) ?? {};

describe('sealed-memory keys', { timeout: 60_000 }, () => {
  it('tells programs in JSON lines what the keyring holds', async () => {
    expect(await done(runStatus)).toEqual({ exit: 0, event: 'done', state: 'absent' });
    await create('/memories/a', 'text');
    const status = await run('keys', 'status');
    expect(status).toMatchObject({ code: 0, stderr: '' });
    expect(lastOf(status)).toMatchObject({
      event: 'done',
      state: 'open',
      epoch: 1,
      nameMode: 'encrypted',
      wrappedByFirst: true,
      keys: [{ version: 1, active: true }],
    });
    expect(status.stdout).not.toContain(ROOT_KEY);
  });

  it('shows each configured root key by its id, and which of them wraps the keyring', async () => {
    const [own, other] = [idOf(ROOT_KEY), idOf(OTHER_KEY)];
    const arn = 'aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
    env['SEALED_MEMORY_ROOT_KEY'] = `${ROOT_KEY},${arn}`;
    const before = await run('keys', 'show-root');
    expect(before).toMatchObject({ code: 0, stderr: '' });
    expect(lastOf(before)).toEqual({
      event: 'done',
      keyring: 'absent',
      rootKeys: [
        { id: own, wraps: false, opens: false },
        { id: arn, wraps: false, opens: false },
      ],
    });
    await create('/memories/a', 'text');
    env['SEALED_MEMORY_ROOT_KEY'] = `${OTHER_KEY},${ROOT_KEY}`;
    expect(await done(runShowRoot)).toEqual({
      exit: 0,
      event: 'done',
      keyring: 'open',
      wrappedBy: own,
      rootKeys: [
        { id: other, wraps: false, opens: false },
        { id: own, wraps: true, opens: true },
      ],
    });
    const people = await plain('keys', 'show-root');
    expect(people.stdout).toContain(`ok    root key 1: ${other} does not wrap the keyring\n`);
    expect(people.stdout).toContain(`to do root key 2: ${own} wraps the keyring, and opens it — `);
    for (const key of [ROOT_KEY, OTHER_KEY]) expect(before.stdout + people.stdout).not.toContain(key);
  });

  it('shows the ids also where none of the root keys opens the keyring, and fails', async () => {
    const [own, other] = [idOf(ROOT_KEY), idOf(OTHER_KEY)];
    await create('/memories/a', 'text');
    env['SEALED_MEMORY_ROOT_KEY'] = OTHER_KEY;
    expect(await done(runShowRoot)).toMatchObject({ exit: 1, keyring: 'locked', wrappedBy: own });
    expect((await plain('keys', 'show-root')).stdout).toBe(
      `ok    root key 1: ${other} does not wrap the keyring\nFAIL  the keyring is wrapped by ${own}, which is not configured — configure that root key\n`,
    );
    env['SEALED_MEMORY_ROOT_KEY'] = ROOT_KEY;
    const database = new DatabaseSync(file);
    database.exec("UPDATE objects SET body = CAST(substr(body, 1, length(body) - 1) || x'00' AS BLOB)");
    database.close();
    expect(await done(runShowRoot)).toMatchObject({
      exit: 1,
      keyring: 'unread',
      wrappedBy: own,
      failure: { code: 'integrity' },
      rootKeys: [{ id: own, wraps: true, opens: false }],
    });
    const { code, stdout } = await plain('keys', 'show-root');
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining(`FAIL  root key 1: ${own} wraps the keyring, and did not open it: integrity: `),
    ]);
  });

  it('shows the ids also where the store does not answer', async () => {
    env['SEALED_MEMORY_STORE'] = `sqlite:${join(folder, 'not-there', 'a.sqlite')}`;
    writeFileSync(join(folder, 'not-there'), '');
    const { code, stdout } = await plain('keys', 'show-root');
    rmSync(join(folder, 'not-there'));
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(
        /^ok {4}root key 1: env:[\w-]{22}\nFAIL {2}the keyring could not be read, so nothing tells which one wraps it: /,
      ),
    ]);
  });

  it('rotates once, migrates, and retires when it is time', async () => {
    await create('/memories/a', 'text');
    expect(await done((run) => runRotate({}, run))).toMatchObject({ exit: 0, rotated: true, version: 2 });
    expect(lastOf(await run('keys', 'rotate'))).toMatchObject({ rotated: false, version: 2 });
    expect(lastOf(await run('keys', 'rotate', '--force', '--if-active', '1'))).toMatchObject({
      rotated: false,
    });
    expect(lastOf(await run('keys', 'migrate'))).toMatchObject({ event: 'done', rebound: 0, young: 1 });
    age(61_000);
    const early = await run('keys', 'migrate');
    expect(early.code).toBe(0);
    expect(lastOf(early)).toMatchObject({ event: 'done', rebound: 1, young: 0, retired: [] });
    expect(lastOf(early)['retireAfter']).toBeGreaterThan(Date.now());
    age(1_900_000);
    expect(await done((run) => runMigrate({}, run))).toMatchObject({ exit: 0, retired: [1] });
    expect(await text('/memories/a')).toContain('text');
  });

  it('takes a shorter time to live, of a minute or more', async () => {
    await create('/memories/a', 'text');
    await done((run) => runRotate({}, run));
    age(130_000);
    expect(await run('keys', 'migrate', '--ttl', '59')).toMatchObject({ code: 2 });
    expect(lastOf(await run('keys', 'migrate', '--ttl', '60', '--reencrypt'))).toMatchObject({
      retired: [1],
    });
  });

  it('finds what cannot be migrated, and fails', async () => {
    await create('/memories/a', 'text');
    await done((run) => runRotate({}, run));
    await using store = openSqliteObjectStore({ path: file });
    for await (const { objects } of store.list({ prefix: 'tenants/acme/data/' })) {
      for (const { key } of objects) {
        const found = await store.get(key);
        if (typeof found !== 'object') throw new Error('no object is stored');
        found.body[found.body.length - 1] = (found.body.at(-1) ?? 0) ^ 1;
        await store.put(key, found.body, { mode: 'overwrite' });
      }
    }
    expect(await done((run) => runMigrate({}, run))).toMatchObject({
      exit: 1,
      problems: [{ kind: 'damaged', path: '/memories/a' }],
      blocked: [1],
    });
  });

  it('moves the keyring to another root key', async () => {
    await create('/memories/a', 'text');
    env['SEALED_MEMORY_ROOT_KEY'] = `${OTHER_KEY},${ROOT_KEY}`;
    expect(lastOf(await run('keys', 'rewrap-root'))).toMatchObject({ rewrapped: true, epoch: 2 });
    expect(await done((run) => runRewrap({}, run))).toMatchObject({ rewrapped: false, epoch: 2 });
    expect(await text('/memories/a', OTHER_KEY)).toContain('text');
    env['SEALED_MEMORY_ROOT_KEY'] = ROOT_KEY;
    expect(await done(runStatus)).toMatchObject({ exit: 1, state: 'locked' });
  });

  it('fails with an event and a sentence', async () => {
    const failed = await run('keys', 'rotate');
    expect(failed.code).toBe(1);
    expect(eventsOf(failed)).toEqual([
      { event: 'failed', code: 'key_unavailable', message: 'key_unavailable: The tenant has no keyring.' },
    ]);
    expect(failed.stderr).toBe('sealed-memory: key_unavailable: The tenant has no keyring.\n');
  });

  it('refuses what is no number', async () => {
    expect(await run('keys', 'migrate', '--ttl', '1m')).toMatchObject({ code: 2 });
    expect(await run('keys', 'rotate', '--if-active', 'x')).toMatchObject({ code: 2 });
  });

  it('says on Ctrl-C that a second run goes on, and the second run does', async () => {
    await create('/memories/a', 'text');
    await done((run) => runRotate({}, run));
    const child = startCli(['keys', 'migrate', '--wait', '--json'], { env });
    let [stdout, stderr] = ['', ''];
    const isWaiting = new Promise<void>((resolve) => {
      child.stdout.on('data', (data: Buffer) => {
        stdout += data.toString();
        if (stdout.includes('waitingUntil')) resolve();
      });
    });
    child.stderr.on('data', (data: Buffer) => {
      stderr += data.toString();
    });
    await isWaiting;
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(130);
    expect(eventsOf({ stdout }).at(-1)).toEqual({ event: 'interrupted' });
    expect(stderr).toMatch(
      /^sealed-memory: waiting before old keys are retired; until \d\d:\d\d:\d\d UTC at most, \d{4} s\n/,
    );
    expect(stderr).toContain('the same command continues from there');
    age(1_900_000);
    expect(await done((run) => runMigrate({ wait: true }, run))).toMatchObject({ retired: [1] });
    expect(await text('/memories/a')).toContain('text');
  });
});

describe('sealed-memory tenant shred', { timeout: 60_000 }, () => {
  it("needs the tenant's name", async () => {
    await create('/memories/a', 'text');
    const unnamed = await run('tenant', 'shred', '--ttl', '0');
    expect(unnamed).toMatchObject({ code: 2 });
    expect(unnamed.stderr).toContain('needs --confirm');
    const wrong = await run('tenant', 'shred', '--ttl', '0', '--confirm', 'acm');
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain('nothing was changed');
    expect(await text('/memories/a')).toContain('text');
  });

  it('leaves nothing that can be read, and can be run again', async () => {
    await create('/memories/a', 'text');
    const shredded = await run('tenant', 'shred', '--ttl', '1', '--confirm', 'acme');
    expect(shredded.code).toBe(0);
    // A second for the cache, and one more as stores tell times in whole seconds: a wait of two is told.
    expect(shredded.stderr).toMatch(/^(sealed-memory: waiting for the last cache to expire; .* 2 s\n)?$/);
    const events = eventsOf(shredded);
    // A slow machine has nothing left to wait for.
    expect(events.filter(({ phase }) => phase !== 'waiting')).toMatchObject([
      { event: 'progress', phase: 'marked' },
      { event: 'done', marked: true, objects: 1 },
    ]);
    expect(await text('/memories/a')).toBe('key_unavailable');
    expect(await done((run) => runShred({ ttl: 1, confirm: 'acme' }, run))).toMatchObject({
      exit: 0,
      marked: false,
    });
    expect(await done(runStatus)).toMatchObject({ exit: 0, state: 'shredded' });
  });

  it('takes every file from another process that had the keys in its cache, within its time to live', async () => {
    await create('/memories/a', 'text');
    const worker = startCli(['exec', '--jsonl'], { env: { ...env, SEALED_MEMORY_KEYRING_TTL_SECONDS: '2' } });
    const answers = createInterface({ input: worker.stdout })[Symbol.asyncIterator]();
    const view = async (): Promise<unknown> => {
      worker.stdin.write('{"command":"view","path":"/memories/a"}\n');
      return JSON.parse((await answers.next()).value as string);
    };
    expect(await view()).toMatchObject({ ok: true });
    expect(await done((run) => runShred({ ttl: 2, confirm: 'acme' }, run))).toMatchObject({
      event: 'done',
      marked: true,
    });
    expect(await view()).toMatchObject({ ok: false, code: 'key_unavailable' });
    worker.stdin.end();
    expect(await once(worker, 'close')).toEqual([0, null]);
  });

  it('marks the tenant, then waits, and goes on after it was killed meanwhile', async () => {
    await create('/memories/a', 'text');
    const child = startCli(['tenant', 'shred', '--confirm', 'acme', '--json'], { env });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const event = async (): Promise<unknown> => JSON.parse((await lines.next()).value as string);
    expect(await event()).toMatchObject({ event: 'progress', phase: 'marked' });
    expect(await event()).toMatchObject({ event: 'progress', phase: 'waiting' });
    child.kill('SIGKILL');
    await once(child, 'close');
    age(900_000);
    expect(await done((run) => runShred({ confirm: 'acme' }, run))).toMatchObject({
      event: 'done',
      marked: false,
    });
  });
});

describe('sealed-memory names', { timeout: 60_000 }, () => {
  it('translates between paths and object keys', async () => {
    await create('/memories/a/日本.md', 'text');
    const { stdout: key } = await plain('names', 'encode', '/memories/a/日本.md');
    expect(key).toMatch(/^tenants\/acme\/data\/[\w-]+\/[\w-]+\.sealed\n$/);
    expect(await plain('names', 'decode', key.trim())).toMatchObject({
      code: 0,
      stdout: '/memories/a/日本.md\n',
    });
    const foreign = await plain('names', 'decode', 'tenants/acme/data/foreign');
    expect(foreign).toMatchObject({ code: 1, stdout: '' });
    expect(foreign.stderr).toContain('not the object key of a file of this tenant');
  });
});

describe('the commands on a screen', () => {
  const inProcess = (): void => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  };

  it('show what is there and what is to do', async () => {
    await create('/memories/a', 'text');
    inProcess();
    const { invocation, shown } = invocationOf({ isForEyes: true });
    await runStatus(invocation);
    await runRotate({}, invocation);
    await runMigrate({}, invocation);
    age(61_000);
    await runMigrate({}, invocation);
    await runStatus(invocation);
    const said = shown.join('');
    expect(said).toMatch(/^ok {4}keyring: epoch 1, written \d{4}-\d\d-\d\dT[\d:]{8}Z, names encrypted\n/);
    expect(said).toContain('ok    root key: env:');
    expect(said).toMatch(/ok {4}key 2 is active since .* \(epoch 2\)\nto do "sealed-memory keys migrate"/);
    expect(said).toMatch(
      /to do old keys can be retired from .* on — run "sealed-memory keys migrate" again then/,
    );
    expect(said).toContain(
      'wait  left for the next pass: 1 object written a moment ago — run "sealed-memory keys migrate" again\n',
    );
    expect(said).toContain('ok    1 object looked at, 1 brought under the active key, in ');
    expect(said).toMatch(/ok {4}key 1: made .*, opens only\nok {4}key 2: made .*, active\n/);
  });

  it('say what a migration that encrypts again comes to, and ask for a checkpoint when it has ended', async () => {
    await create('/memories/a', 'text');
    inProcess();
    const said = async (): Promise<string> => {
      const { invocation, shown } = invocationOf({ isForEyes: true });
      await runMigrate({ reencrypt: true }, invocation);
      return shown.join('');
    };
    const checkpoint = 'to do take a checkpoint now ("sealed-memory checkpoint --since" and the last line';
    const nothingToDo = 'no data key is older than the active key — "sealed-memory keys rotate" first';
    expect(await said()).toContain(nothingToDo);
    await runRotate({}, invocationOf({ isForEyes: true }).invocation);
    const leftYoung = await said();
    expect(leftYoung).toContain('wait  left for the next pass: 1 object written a moment ago');
    expect(leftYoung).not.toContain(nothingToDo);
    age(61_000);
    await runMigrate({}, invocationOf({ isForEyes: true }).invocation);
    age(61_000);
    const first = await said();
    expect(first).toContain('ok    key 3 was made first: objects under the active key had older data keys\n');
    expect(first).toContain('run "sealed-memory keys migrate --reencrypt" again then');
    expect(first).not.toContain(checkpoint);
    age(1_900_000);
    expect(await said()).toContain(checkpoint);
  });

  it('shred only after the name was typed', async () => {
    await create('/memories/a', 'text');
    inProcess();
    for (const typed of ['', '\n', 'ACME\n', 'yes\n']) {
      const { invocation } = invocationOf({ isForEyes: true, typed });
      await expect(runShred({ ttl: 0 }, invocation)).rejects.toMatchObject({ code: 'misconfigured' });
    }
    expect(await text('/memories/a')).toContain('text');
    const { invocation, shown } = invocationOf({ isForEyes: true, typed: 'acme\n' });
    expect(await runShred({ ttl: 0 }, invocation)).toBe(0);
    const said = shown.join('\n');
    expect(said).toContain('This destroys the keys of "acme" for good');
    expect(said).toContain("ok    the tenant's keys are destroyed");
    expect(said).toContain('1 sealed object (244 bytes) stays, unreadable');
    expect(said).toContain('backups, replicas and other regions still hold older keyrings');
  });
});
