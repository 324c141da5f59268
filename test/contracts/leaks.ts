import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startLocalWorker, TEST_API_KEY } from '../../infra/local/lambda/local-worker.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory, openTenant } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { createJsonLogger } from '../../src/worker/json-log.ts';
import type { TenantCredentials } from '../../src/worker/tenant-credentials.ts';
import { runCli } from '../stage/cli.ts';
import { findTraces } from '../stage/traces.ts';
import { type KeyWitness, watchKeys } from './key-witness.ts';
import { createTrail, recordSpans, type SpanRecord } from './trail.ts';

/** One store and what a party sees of it that reaches it without the library. */
export interface LeakSite extends AsyncDisposable {
  readonly options: Omit<MemoryOptions, 'tenant' | 'rootKey'>;
  /** The environment that the command line needs besides the tenant and the root key. */
  readonly env: Readonly<Record<string, string>>;
  /** The credentials with which a worker reaches this tenant, where the store knows any. */
  readonly session?: TenantCredentials;
  /** Every part of the credentials that are used here. */
  readonly credentials: readonly string[];
  keys(): Promise<readonly string[]>;
  /** Everything that is stored, as its bytes lie there, without the names of objects where that can be told apart. */
  bytes(): Promise<readonly Uint8Array[]>;
  damage(key: string): Promise<void>;
  /** Options that fail at the store: wrong credentials, or a place that is not there. */
  readonly broken: Partial<MemoryOptions>;
}

const DIRECTORY = 'canary-directory-quetzal';
const NAME = 'canary-name-ocelot.md';
const CONTENT = 'canary-content-axolotl';
const REPLACED = 'canary-replaced-capybara';
const INSERTED = 'canary-inserted-pangolin';
const SOUGHT = 'canary-sought-narwhal';
const CONTENTS = [CONTENT, REPLACED, INSERTED, SOUGHT];
const NAMES = [DIRECTORY, NAME];
const ACTOR = 'canary-actor-tamarin@example.org';
const PATH = `/memories/${DIRECTORY}/${NAME}`;
const OTHER = `/memories/${DIRECTORY}/other.md`;
const KEPT = `/memories/${DIRECTORY}-kept/${NAME}`;

/** No key, credential, content, path or tenant shows where it must not, in whatever form. */
export function describeLeaks(title: string, start: (tenant: string) => Promise<LeakSite>): void {
  describe.each(['encrypted', 'plain'] as const)(`what ${title} lets out under %s names`, (names) => {
    const rootKey = new Uint8Array(randomBytes(32));
    const tenant = `canary-tenant-${randomBytes(4).toString('hex')}`;
    const rootText = Buffer.from(rootKey).toString('base64');
    const trail = createTrail();
    const printed: string[] = [];
    const told: { readonly input: unknown; readonly sentence: string }[] = [];
    let site: LeakSite;
    let spans: SpanRecord;
    let witness: KeyWitness;
    /** Every key that this process used, and every credential. */
    const secrets = (): readonly (string | Uint8Array)[] => [
      ...witness.keys(),
      rootText,
      TEST_API_KEY,
      ...site.credentials,
    ];

    const open = (options: Partial<MemoryOptions> = {}): Promise<Memory> =>
      openMemory({
        lazy: true,
        ...site.options,
        tenant,
        rootKey,
        names,
        logger: trail.logger,
        history: { days: 30 },
        actor: ACTOR,
        ...options,
      });
    const run = async (memory: Memory, inputs: readonly unknown[], signal?: AbortSignal): Promise<void> => {
      for (const input of inputs) {
        const result = await memory.execute(input, { signal });
        if (!result.isError) continue;
        told.push({ input, sentence: result.content });
        trail.note(result.error);
      }
    };

    beforeAll(async () => {
      for (const stream of [process.stdout, process.stderr]) {
        vi.spyOn(stream, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
      }
      for (const level of ['debug', 'log', 'info', 'warn', 'error'] as const) {
        vi.spyOn(console, level).mockImplementation((...line) => void printed.push(inspect(line)));
      }
      site = await start(tenant);
      witness = await watchKeys();
      spans = recordSpans();
      await using memory = await open();
      await run(memory, everyCommand());
      expect(await askHistory(memory)).toBeGreaterThan(5);
      await run(memory, everyCommand(), AbortSignal.abort());
      for (const options of [
        { rootKey: randomBytes(32) },
        { names: names === 'plain' ? ('encrypted' as const) : ('plain' as const) },
        { limits: { fileBytes: 10 } },
        site.broken,
      ]) {
        await using failing = await open(options);
        await run(failing, everyCommand());
        await askHistory(failing);
      }
      await runTurns();
      await damageAll();
    }, 180_000);
    afterAll(async () => {
      vi.restoreAllMocks();
      witness?.[Symbol.dispose]();
      await spans?.[Symbol.asyncDispose]();
      await site?.[Symbol.asyncDispose]();
    });

    it('looks for every kind of key there is, and finds what it looks for', () => {
      const used = witness.keys();
      expect(used).toContainEqual(rootKey);
      // The keys of two turns, of six memories and of their commands: one for each write of the keyring, and data keys
      // for each file.
      expect(used.length).toBeGreaterThan(50);
      for (const key of used) {
        expect(findTraces(`a line that tells ${Buffer.from(key).toString('hex')}`, secrets())).not.toEqual(
          [],
        );
      }
    });

    it('keeps contents and keys out of what is stored, and names too, but for plain ones in keys', async () => {
      const stored = Buffer.concat(await site.bytes());
      expect(findTraces(stored, [...CONTENTS, ACTOR, ...secrets(), '/memories'])).toEqual([]);
      const objectKeys = (await site.keys()).join('\n');
      expect(findTraces(objectKeys, [...CONTENTS, ACTOR, ...secrets(), '/memories'])).toEqual([]);
      for (const cls of ['history', 'actors', 'checkpoints']) expect(objectKeys).toContain(`/${cls}/`);
      // The search itself works: the tenant's id is visible by design, and so are names in the plain mode.
      expect(findTraces(objectKeys, [tenant])).toContain(`${tenant} as bytes`);
      const shown = NAMES.map((name) => `${name} as bytes`);
      expect(findTraces(objectKeys, NAMES)).toEqual(names === 'plain' ? expect.arrayContaining(shown) : []);
      if (names === 'encrypted') expect(findTraces(stored, NAMES)).toEqual([]);
    });

    it('keeps contents, paths, keys, credentials and the tenant out of every log line and error', () => {
      expect(trail.lines.length).toBeGreaterThan(100);
      expectClean(trail.lines, [...CONTENTS, ...NAMES, ACTOR, ...secrets(), tenant]);
    });

    it('keeps them out of whatever the process prints', () => {
      console.warn('the listener hears');
      process.stderr.write('and hears this');
      expect(printed.join()).toMatch(/the listener hears.*and hears this/s);
      expectClean(printed, [...CONTENTS, ...NAMES, ACTOR, ...secrets(), tenant]);
    });

    it('tells the model no content but what it sent, no key, no credential and no tenant', () => {
      expect(told.length).toBeGreaterThan(30);
      expectClean(
        told.map(({ sentence }) => sentence),
        [...secrets(), tenant],
      );
      for (const { input, sentence } of told) {
        const unsent = CONTENTS.filter((text) => !JSON.stringify(input).includes(text));
        expect(findTraces(sentence, unsent)).toEqual([]);
      }
    });

    it('keeps contents, paths, keys and credentials out of the spans and log lines of a worker', () => {
      const ours = spans.texts().filter((text) => text.includes('sealed_memory.'));
      const operations = ours.filter((text) => text.includes('sealed_memory.command'));
      expect(ours.length - operations.length).toBe(2);
      expect(operations.length).toBeGreaterThan(20);
      expect(workerLines.length).toBeGreaterThan(2);
      // The tenant's id stands in them by design, which shows that the search itself works.
      for (const text of [...ours, workerLines.join('\n')])
        expect(findTraces(text, [tenant])).not.toEqual([]);
      expectClean([...spans.texts(), ...workerLines], [...CONTENTS, ...NAMES, ...secrets()]);
    });

    it('keeps contents, keys, credentials and the tenant out of what the command line prints when it fails', {
      timeout: 60_000,
    }, async () => {
      const good = {
        ...site.env,
        SEALED_MEMORY_TENANT: tenant,
        SEALED_MEMORY_ROOT_KEY: rootText,
        SEALED_MEMORY_NAMES: names,
      };
      const half = rootText.slice(0, 30);
      const runs = await Promise.all(
        [
          { args: ['view', PATH], env: good },
          { args: ['verify'], env: good },
          { args: ['keys', 'status'], env: good },
          { args: ['keys', 'rotate'], env: good },
          { args: ['expire'], env: good },
          { args: ['log'], env: good },
          { args: ['view', '/memories/nowhere'], env: good },
          { args: ['str-replace', PATH, SOUGHT, REPLACED], env: good },
          { args: ['view', PATH], env: { ...good, SEALED_MEMORY_ROOT_KEY: half } },
          {
            args: ['view', PATH],
            env: { ...good, SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64') },
          },
          { args: ['create', PATH, '--text', CONTENT], env: { ...good, SEALED_MEMORY_STORE: 'nonsense:' } },
          { args: ['create', PATH, CONTENT], env: good },
        ].map(({ args, env }) => runCli(args, { env })),
      );
      for (const { code } of runs) expect(code).not.toBe(0);
      expectClean(
        runs.map(({ stdout, stderr }) => `${stdout}${stderr}`),
        [...CONTENTS, ...secrets(), half, tenant],
      );
    });

    /** Asks a history and its checkpoints, well and badly, and returns how many versions they told of. */
    async function askHistory(memory: Memory): Promise<number> {
      const { history } = memory;
      const noted = <T>(asked: Promise<T>): Promise<T | undefined> =>
        asked.catch((error: unknown) => {
          trail.note(error);
          return undefined;
        });
      const entries = (await noted(history.list())) ?? [];
      await noted(history.list(PATH));
      for (const { path, version } of entries) await noted(history.read({ path, version }));
      await noted(history.trace({ path: PATH }));
      await noted(history.read({ path: OTHER, version: 'aaaaaaaa' }));
      await noted(history.restoreAt(new Date(0)));
      await noted(history.restoreAt(new Date(0), { partial: true }));
      await noted(history.restoreAt(new Date(), { dryRun: true }));
      await noted(history.undo({ writer: ACTOR, dryRun: true }));
      const kept = entries.find((entry) => entry.kind === 'written' && entry.end !== 'current');
      for (const entry of [kept, ...entries.slice(0, 1)]) {
        if (entry === undefined) continue;
        // A text that a file holds is refused with the paths of such files: docs/security.md names that exception.
        await noted(history.redact(entry));
        await noted(history.restore(entry));
      }
      await using admin = await openAdmin({
        ...site.options,
        tenant,
        rootKey,
        names,
        logger: trail.logger,
        actor: ACTOR,
      });
      const checkpoint = await noted(admin.checkpoint());
      if (checkpoint !== undefined) {
        await noted(admin.verify({ since: checkpoint.line }));
        await noted(admin.checkpoint({ since: checkpoint.line }));
      }
      await noted(admin.expire());
      return entries.length;
    }

    const workerLines: string[] = [];

    /** Two turns of a worker: one that uses every command, and one whose root key opens nothing. */
    async function runTurns(): Promise<void> {
      const { session } = site;
      const { store, s3 } = site.options;
      for (const root of [rootText, randomBytes(32).toString('base64')]) {
        await using worker = await startLocalWorker(
          undefined,
          ({ messages }) => {
            const done = messages.flatMap(({ content }) =>
              content.filter(({ type }) => type === 'tool_result'),
            );
            const input = everyCommand()[done.length];
            return input === undefined
              ? { say: CONTENT }
              : { calls: [{ name: 'memory', input: input as Readonly<Record<string, unknown>> }] };
          },
          {
            memory: { store, s3, names, rootKey: root },
            logger: createJsonLogger({ write: (line) => workerLines.push(line), level: 'debug' }),
            ...(session && { credentials: () => async () => session }),
          },
        );
        await worker.deliver([{ tenant, turn: `turn-${workerLines.length}`, prompt: CONTENT }]);
      }
    }

    /** Damages every object, and has everything read once more. */
    async function damageAll(): Promise<void> {
      const objectKeys = await site.keys();
      const data = objectKeys.filter((key) => key.includes('/data/'));
      expect(data.length).toBeGreaterThan(0);
      for (const key of data) await site.damage(key);
      await using memory = await open();
      await run(memory, everyCommand());
      const { parts, close } = await openTenant({
        ...site.options,
        tenant,
        rootKey,
        names,
        logger: trail.logger,
      });
      await parts.verify();
      await close();
      for (const key of objectKeys.filter((each) => each.startsWith('keyrings/'))) await site.damage(key);
      for (const key of objectKeys.filter((each) => /\/(history|actors|checkpoints)\//.test(each)))
        await site.damage(key);
      await using damaged = await open();
      await askHistory(damaged);
      await using locked = await open();
      await run(locked, everyCommand());
      await askHistory(locked);
    }
  });
}

/** Searches all lines at once, and line by line only where something was found, so that the failing test shows it. */
function expectClean(lines: readonly string[], secrets: readonly (string | Uint8Array)[]): void {
  const traces = findTraces([...new Set(lines)].join('\n'), secrets);
  const where = traces.length === 0 ? undefined : lines.find((line) => findTraces(line, secrets).length > 0);
  expect({ traces, where: where?.slice(0, 2_000) }).toEqual({ traces: [], where: undefined });
}

/** Every command, well and badly; afterwards a file is there at `OTHER` and one at `PATH`. */
function everyCommand(): readonly unknown[] {
  return [
    { command: 'create', path: KEPT, file_text: CONTENT },
    { command: 'create', path: PATH, file_text: `${CONTENT}\n${CONTENT}\n` },
    { command: 'create', path: PATH, file_text: CONTENT },
    { command: 'create', path: `/memories/${DIRECTORY}`, file_text: CONTENT },
    { command: 'view', path: PATH },
    { command: 'view', path: PATH, view_range: [7, 9] },
    { command: 'view', path: '/memories' },
    { command: 'view', path: `/memories/${NAME}` },
    { command: 'str_replace', path: PATH, old_str: SOUGHT, new_str: REPLACED },
    { command: 'str_replace', path: PATH, old_str: CONTENT, new_str: REPLACED },
    { command: 'str_replace', path: PATH, old_str: `${CONTENT}\n${CONTENT}`, new_str: REPLACED },
    { command: 'insert', path: PATH, insert_line: 0, insert_text: INSERTED },
    { command: 'insert', path: PATH, insert_line: 99, insert_text: INSERTED },
    { command: 'rename', old_path: PATH, new_path: OTHER },
    { command: 'rename', old_path: `/memories/${NAME}`, new_path: PATH },
    { command: 'rename', old_path: `/memories/${DIRECTORY}`, new_path: `/memories/${DIRECTORY}-2` },
    { command: 'rename', old_path: `/memories/${DIRECTORY}-2`, new_path: `/memories/${DIRECTORY}` },
    { command: 'create', path: PATH, file_text: CONTENT },
    { command: 'rename', old_path: PATH, new_path: OTHER },
    { command: 'delete', path: `/memories/${NAME}` },
    { command: 'delete', path: OTHER },
    { command: 'view', path: `/memories/../${DIRECTORY}` },
    { command: CONTENT, path: PATH },
    { command: 'view', path: { [CONTENT]: NAME } },
    { command: 'create', path: `${OTHER}/${'x'.repeat(200)}`, file_text: CONTENT },
    CONTENT,
    // Below a file that is 3 s old it is refused at once.
    { command: 'create', path: `${KEPT}/below`, file_text: CONTENT },
  ];
}
