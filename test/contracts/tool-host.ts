import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import { sensitiveInformation } from '../../src/policy/index.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { silentLogger } from '../stage/silent-logger.ts';
import { type Around, interceptStore } from '../stage/store-wrappers.ts';

/** The answer to one command, as it reached the model. */
export interface Reached {
  readonly content: string | readonly { readonly mediaType: string; readonly data: string }[];
  /** Absent where the host's protocol has no mark for errors. */
  readonly isError?: boolean;
}

export interface ToolHost {
  /**
   * Has a scripted model call the memory, all commands of a turn at once, and then end. Answers what reached the model
   * after each turn; rejects when the host's run does.
   */
  play(
    memory: Memory,
    turns: readonly (readonly Input[])[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly (readonly Reached[])[]>;
  /** True where a mark tells the model that a command failed. */
  readonly marksErrors: boolean;
}

type Input = Readonly<Record<string, unknown>> & { readonly command: string };

const path = '/memories/notes.md';
/** Made up, in the form of a token of GitHub. */
const CANARY = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0xff, 0xfe);

const create = (text: string, at = path): Input => ({ command: 'create', path: at, file_text: text });
const view = (at = path, range?: readonly number[]): Input => ({
  command: 'view',
  path: at,
  ...(range && { view_range: range }),
});

/** Describes what holds in every host that gives a model the six commands; run against the host's own package. */
export function describeToolHost(name: string, { play, marksErrors }: ToolHost): void {
  describe(`a memory in ${name}`, () => {
    let store: ObjectStore;
    let around: Around;
    let memory: Memory;
    const opened: Memory[] = [];

    const open = async (options: Partial<MemoryOptions> = {}): Promise<Memory> => {
      const over = interceptStore(store, (call, proceed) => around(call, proceed));
      const rootKey = new Uint8Array(32).fill(7);
      const each = await openMemory({
        store: over,
        tenant: 'acme',
        rootKey,
        logger: silentLogger,
        ...options,
      });
      opened.push(each);
      return each;
    };

    /** Answers what the model should read in answer to each input, according to the library. */
    const expected = async (by: Memory, inputs: readonly Input[]): Promise<readonly Reached[]> => {
      const replies: Reached[] = [];
      for (const input of inputs) {
        const { isError, content } = await by.execute(input);
        if (typeof content !== 'string') throw new Error('an image is not expected here');
        replies.push({ content, ...(marksErrors && { isError }) });
      }
      return replies;
    };

    beforeEach(async () => {
      store = openSqliteObjectStore({ path: ':memory:' });
      around = (_, proceed) => proceed();
      memory = await open();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((each) => each.close()));
      await store[Symbol.asyncDispose]();
    });

    it('carries out the commands of one turn in the order they were called', async () => {
      const [turn] = await play(memory, [
        [
          create('first\n'),
          { command: 'insert', path, insert_line: 1, insert_text: 'second\n' },
          { command: 'str_replace', path, old_str: 'first', new_str: 'one' },
          { command: 'rename', old_path: path, new_path: '/memories/done.md' },
          view('/memories/done.md'),
        ],
      ]);
      expect(turn).toHaveLength(5);
      expect(turn?.[4]?.content).toMatch(/ 1\tone\n +2\tsecond/);
      expect((await memory.files.read('/memories/done.md'))?.text()).toBe('one\nsecond\n');
    });

    it('shows the lines of a view_range, and nothing else', async () => {
      await memory.execute(create('a\nb\nc\nd\n'));
      const ranges = [[2, 3], [3, -1], undefined].map((range) => view(path, range));
      const [turn] = await play(memory, [ranges]);
      expect(turn).toEqual(await expected(memory, ranges));
      expect(turn?.[0]?.content).toMatch(/: *\n +2\tb\n +3\tc$/);
    });

    it('hands an image over as an image', async () => {
      await memory.files.write('/memories/sketch.png', PNG);
      await memory.files.write('/memories/copy.jpg', Uint8Array.of(0xff, 0xd8, 0xff, 0xe0));
      const [turn] = await play(memory, [[view('/memories/sketch.png'), view(), view('/memories/copy.jpg')]]);
      expect(turn?.map(({ content }) => content)).toEqual([
        [{ mediaType: 'image/png', data: Buffer.from(PNG).toString('base64') }],
        'The path /memories/notes.md does not exist. Please provide a valid path.',
        [{ mediaType: 'image/jpeg', data: '/9j/4A==' }],
      ]);
    });

    it('shows what is empty, binary or long as the library does', async () => {
      await memory.files.write(path, '');
      await memory.files.write('/memories/binary', Uint8Array.of(0xff, 0, 0xfe));
      await memory.files.write('/memories/long.txt', `${'x'.repeat(99)}\n`.repeat(10_000));
      const views = [view(), view('/memories/binary'), view('/memories/long.txt'), view('/memories')];
      expect(await play(memory, [views])).toEqual([await expected(memory, views)]);
    });

    it('tells a failure in the words of the memory alone, and marks it where that can be done', async () => {
      await memory.execute(create('a\na\n'));
      const inputs: readonly Input[] = [
        view('/memories/none'),
        create('b'),
        view('/etc/passwd'),
        view('/memories/../../etc'),
        view(path, [7, 9]),
        { command: 'str_replace', path, old_str: 'a', new_str: 'b' },
        { command: 'insert', path, insert_line: 99, insert_text: 'b' },
        { command: 'delete', path: '/memories' },
        { command: 'rename', old_path: '/memories/none', new_path: '/memories/other' },
      ];
      const [turn] = await play(memory, [inputs]);
      expect(turn).toEqual(await expected(memory, inputs));
      for (const { content } of turn ?? []) expect(content).not.toMatch(/error: *error|fix your mistakes/i);
    });

    it('refuses an input that is no command, and carries nothing of it out', async () => {
      const inputs: readonly Input[] = [
        { command: 'close' },
        { command: 'toString', path },
        { command: 'create', path },
        { command: 'create', path, file_text: 7 },
        { ...create('x'), owner: 'root' },
        { ...view(), view_range: 'all' },
      ];
      const [turn] = await play(memory, [inputs]);
      expect(turn).toEqual(await expected(memory, inputs));
      expect((await memory.execute(view('/memories'))).content).not.toContain('notes.md');
      expect(await memory.execute(create('still open'))).toMatchObject({ isError: false });
    });

    it('lets the model read why a policy or a memory that is read-only refused', async () => {
      const guarded = await open({ policy: sensitiveInformation() });
      const [turn] = await play(guarded, [[create(`the token is ${CANARY}`), view('/memories')]]);
      expect(turn?.[0]?.content).toMatch(/^Error: Nothing was written: \/memories\/notes\.md would hold/);
      expect(JSON.stringify(turn)).not.toContain(CANARY);
      const readOnly = await open({ readOnly: true });
      const [refused] = await play(readOnly, [[create('x')]]);
      expect(refused).toEqual(await expected(readOnly, [create('x')]));
      expect(refused?.[0]?.content).toMatch(/can be read only$/);
    });

    it('tells nothing of a failure that is for the operator', async () => {
      await memory.execute(create('x'));
      around = async () => {
        throw new MemoryError('unavailable', 'bucket-of-acme does not answer');
      };
      const [turn] = await play(memory, [[view('/memories/cold.md')]]);
      expect(turn).toEqual([
        {
          content: 'Error: The memory is temporarily unavailable, try again',
          ...(marksErrors && { isError: true }),
        },
      ]);
    });

    it('cancels the command that waits for the store when the run is cancelled', async () => {
      await memory.execute(create('x'));
      const stop = new AbortController();
      const cold = await open({ cache: { bytes: 0 } });
      let held = 0;
      const signals: (AbortSignal | undefined)[] = [];
      const { execute } = cold;
      const watched: Memory = {
        ...cold,
        execute: (input, options) => {
          signals.push(options?.signal);
          return execute(input, options);
        },
      };
      around = async (call, proceed) => {
        if (call.verb !== 'get' || !call.key.includes('/data/')) return proceed();
        held++;
        stop.abort(new DOMException('The user left.', 'AbortError'));
        throw new MemoryError('aborted', 'the request was cancelled');
      };
      await expect(
        play(watched, [[view(), create('y', '/memories/late.md')]], { signal: stop.signal }),
      ).rejects.toThrow();
      expect(held).toBe(1);
      expect(signals[0]?.aborted).toBe(true);
      around = (_, proceed) => proceed();
      expect(await cold.execute(view())).toMatchObject({ isError: false });
    });
  });
}
