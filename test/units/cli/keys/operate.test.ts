import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runMigrate, runRotate } from '../../../../src/cli/keys/keys.ts';
import { runShred } from '../../../../src/cli/keys/shred.ts';
import type { Invocation } from '../../../../src/cli/run/invocation.ts';
import { loadSodium } from '../../../../src/format/sodium.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { CLI_MEMORY_ENV, type CliRun, startCli } from '../../../stage/cli.ts';
import { invocationOf } from '../../../stage/invocation.ts';

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

describe('sealed-memory keys', { timeout: 60_000 }, () => {
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
