import { randomBytes } from 'node:crypto';
import { trace } from '@opentelemetry/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MemoryOptions } from '../../src/memory-options.ts';
import { openMemory, openTenant } from '../../src/open-memory.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { runCli } from '../support/cli.ts';
import { findTraces } from '../support/traces.ts';
import { createTrail, recordSpans, type SpanRecord, type Trail } from '../support/trail.ts';

/** One store and what somebody sees of it who reaches it without the library. */
export interface LeakSite extends AsyncDisposable {
  readonly options: MemoryOptions;
  /** What the command line needs beside tenant and root key. */
  readonly env: Readonly<Record<string, string>>;
  keys(): Promise<readonly string[]>;
  /** Everything that is stored, as its bytes lie there, without the names of objects where that can be told apart. */
  bytes(): Promise<readonly Uint8Array[]>;
  damage(key: string): Promise<void>;
  /** Options that fail at the store: wrong credentials, or a place that is not there. */
  readonly broken: MemoryOptions;
}

const DIRECTORY = 'canary-directory-quetzal';
const NAME = 'canary-name-ocelot.md';
const CONTENT = 'canary-content-axolotl';
const REPLACED = 'canary-replaced-capybara';
const INSERTED = 'canary-inserted-pangolin';
const SOUGHT = 'canary-sought-narwhal';
const CONTENTS = [CONTENT, REPLACED, INSERTED, SOUGHT];
const NAMES = [DIRECTORY, NAME];
const PATH = `/memories/${DIRECTORY}/${NAME}`;
const OTHER = `/memories/${DIRECTORY}/other.md`;

/** No key, content or path shows where it must not, in whatever form. */
export function describeLeaks(title: string, start: () => Promise<LeakSite>): void {
  describe.each(['encrypted', 'plain'] as const)(`what ${title} lets out under %s names`, (names) => {
    const rootKey = new Uint8Array(randomBytes(32));
    const tenant = `canary-tenant-${randomBytes(4).toString('hex')}`;
    const keys = [rootKey, Buffer.from(rootKey).toString('base64')];
    const trail = createTrail();
    const told: { readonly input: unknown; readonly sentence: string }[] = [];
    let site: LeakSite;
    let spans: SpanRecord;

    const open = (options: MemoryOptions = {}): Promise<Memory> =>
      openMemory({ ...site.options, tenant, rootKey, names, logger: trail.logger, ...options });
    const run = async (memory: Memory, inputs: readonly unknown[], signal?: AbortSignal): Promise<void> => {
      for (const input of inputs) {
        const result = await memory.execute(input, { signal });
        if (!result.isError) continue;
        told.push({ input, sentence: result.content });
        trail.note(result.error);
      }
    };

    beforeAll(async () => {
      site = await start();
      spans = recordSpans();
      await using memory = await open();
      await run(memory, everyCommand());
      await run(memory, everyCommand(), AbortSignal.abort());
      for (const options of [
        { rootKey: randomBytes(32) },
        { names: names === 'plain' ? ('encrypted' as const) : ('plain' as const) },
        { limits: { fileBytes: 10 } },
        site.broken,
      ]) {
        await using failing = await open(options);
        await run(failing, everyCommand());
      }
    }, 60_000);
    afterAll(async () => {
      await spans?.[Symbol.asyncDispose]();
      await site?.[Symbol.asyncDispose]();
    });

    it('keeps contents and keys out of what is stored, and names too, but for plain ones in keys', async () => {
      const stored = Buffer.concat(await site.bytes());
      expect(findTraces(stored, [...CONTENTS, ...keys, '/memories'])).toEqual([]);
      const objectKeys = (await site.keys()).join('\n');
      expect(findTraces(objectKeys, [...CONTENTS, ...keys, '/memories'])).toEqual([]);
      // The search itself works: the tenant's id is visible by design, and so are names in the plain mode.
      expect(findTraces(objectKeys, [tenant])).toContain(`${tenant} as bytes`);
      const shown = NAMES.map((name) => `${name} as bytes`);
      expect(findTraces(objectKeys, NAMES)).toEqual(names === 'plain' ? expect.arrayContaining(shown) : []);
      if (names === 'encrypted') expect(findTraces(stored, NAMES)).toEqual([]);
    });

    it('keeps contents, paths, keys and the tenant out of every log line and error', async () => {
      const { data } = await damageAll();
      expect(data).toBeGreaterThan(0);
      expect(trail.lines.length).toBeGreaterThan(100);
      expectClean(trail, [...CONTENTS, ...NAMES, ...keys, tenant]);
    });

    it('tells the model no content but what it sent, no key and no tenant', () => {
      expect(told.length).toBeGreaterThan(30);
      for (const { input, sentence } of told) {
        const unsent = CONTENTS.filter((text) => !JSON.stringify(input).includes(text));
        expect(findTraces(sentence, [...unsent, ...keys, tenant])).toEqual([]);
      }
    });

    it('keeps contents, paths, keys and the tenant out of spans', () => {
      trace
        .getTracer('a host')
        .startSpan('the search itself works', { attributes: { text: CONTENT } })
        .end();
      const texts = spans.texts();
      expect(texts.some((text) => findTraces(text, [CONTENT]).length > 0)).toBe(true);
      const ours = texts.filter((text) => !text.includes('the search itself works'));
      for (const text of ours) expect(findTraces(text, [...CONTENTS, ...NAMES, ...keys, tenant])).toEqual([]);
    });

    it('keeps contents, keys and the tenant out of what the command line prints when it fails', async () => {
      const good = {
        ...site.env,
        SEALED_MEMORY_TENANT: tenant,
        SEALED_MEMORY_ROOT_KEY: String(keys[1]),
        SEALED_MEMORY_NAMES: names,
      };
      const half = String(keys[1]).slice(0, 30);
      const runs = await Promise.all(
        [
          { args: ['view', PATH], env: good },
          { args: ['verify'], env: good },
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
      for (const { code, stdout, stderr } of runs) {
        expect(code).not.toBe(0);
        expect(findTraces(`${stdout}${stderr}`, [...CONTENTS, ...keys, half, tenant])).toEqual([]);
      }
    });

    /** Damages every object, and has everything read once more. */
    async function damageAll(): Promise<{ readonly data: number }> {
      const objectKeys = await site.keys();
      const data = objectKeys.filter((key) => key.includes('/data/'));
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
      await using locked = await open();
      await run(locked, everyCommand());
      return { data: data.length };
    }
  });
}

function expectClean({ lines }: Trail, secrets: readonly (string | Uint8Array)[]): void {
  for (const line of lines) {
    const traces = findTraces(line, secrets);
    expect(traces, line.slice(0, 2_000)).toEqual([]);
  }
}

/** Every command, well and badly; afterwards a file is there at `OTHER` and one at `PATH`. */
function everyCommand(): readonly unknown[] {
  return [
    { command: 'create', path: PATH, file_text: `${CONTENT}\n${CONTENT}\n` },
    { command: 'create', path: PATH, file_text: CONTENT },
    { command: 'create', path: `${PATH}/below`, file_text: CONTENT },
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
  ];
}
