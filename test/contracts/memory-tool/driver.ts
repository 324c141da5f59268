import { afterAll, beforeAll, beforeEach, expect } from 'vitest';

/** An input of the tool, as the model sends it. */
export type Input = Readonly<Record<string, unknown>>;

export type Outcome =
  | { readonly ok: true; readonly content: unknown }
  | { readonly ok: false; readonly content: string; readonly code: string };

/** Every stored file by its path: its text, or its bytes when they are not UTF-8. */
export type Dump = Readonly<Record<string, string | { readonly base64: string }>>;

export interface DriverOptions {
  readonly wording?: 'doc' | 'sdk';
  readonly onExists?: 'error' | 'overwrite';
  readonly maxFileBytes?: number;
  readonly names?: 'encrypted' | 'plain';
  /** Drivers of one tenant share its files where the store is one that several processes can open. */
  readonly tenant?: string;
}

/** A memory behind some entry point, and a way past it to the files that it stores. */
export interface MemoryDriver {
  run(input: Input): Promise<Outcome>;
  /** Starts all of them at once in this order, like the calls of one assistant turn. */
  runAll(inputs: readonly Input[]): Promise<readonly Outcome[]>;
  /** Stores bytes that no command can write. */
  put(path: string, bytes: Uint8Array): Promise<void>;
  dump(): Promise<Dump>;
  /** Deletes every file. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a memory; of a fresh, empty tenant unless one is named. */
export type OpenDriver = (options?: DriverOptions) => Promise<MemoryDriver>;

/** A driver whose commands are judged at once. */
export interface CheckedMemory extends Omit<MemoryDriver, 'run' | 'close'> {
  /** The command succeeds; answers what the model reads. */
  does(input: Input): Promise<string>;
  /** The command succeeds, and the model reads exactly this. */
  says(input: Input, content: unknown): Promise<void>;
  /**
   * The command fails with this code, the model reads exactly this text or one that matches, and every stored file
   * is what it was, byte for byte.
   */
  refuses(input: Input, code: string, content: string | RegExp): Promise<void>;
  /** Creates text files, one after the other. */
  files(texts: Readonly<Record<string, string>>): Promise<void>;
}

const SLOW = 60_000;

/** No sentence may tell where the memory lives or what it is made of. */
const LEAKS = [
  process.cwd(),
  process.execPath,
  'node:',
  'sqlite',
  's3:',
  'MemoryError',
  'undefined',
  '[object ',
];

function checked(driver: MemoryDriver): CheckedMemory {
  const { put, dump, reset, runAll } = driver;
  const run = async (input: Input): Promise<Outcome> => {
    const before = input['command'] === 'view' ? undefined : await dump();
    const outcome = await driver.run(input);
    if (!outcome.ok) {
      if (before !== undefined) expect(await dump(), 'files after a failure').toEqual(before);
      expectNoLeak(input, outcome.content);
    }
    return outcome;
  };
  const does = async (input: Input): Promise<string> => {
    const outcome = await driver.run(input);
    expect(outcome).toMatchObject({ ok: true });
    expect(outcome.content).toBeTypeOf('string');
    return outcome.content as string;
  };
  return {
    put,
    dump,
    reset,
    runAll,
    does,
    async says(input, content) {
      expect(await driver.run(input)).toEqual({ ok: true, content });
    },
    async refuses(input, code, content) {
      const outcome = await run(input);
      const text = typeof content === 'string' ? content : expect.stringMatching(content);
      expect(outcome).toEqual({ ok: false, code, content: text });
    },
    async files(texts) {
      for (const [path, text] of Object.entries(texts)) {
        await does({ command: 'create', path, file_text: text });
      }
    },
  };
}

/** One memory for all tests of the suite around, empty at the start of each. */
export function useMemory(open: OpenDriver, options?: DriverOptions): CheckedMemory {
  let opened: MemoryDriver | undefined;
  beforeAll(async () => {
    opened = await open(options);
  }, SLOW);
  beforeEach(() => opened?.reset(), SLOW);
  afterAll(() => opened?.close(), SLOW);
  return onceOpen(() => opened);
}

/** One memory for all tests of the suite around, with these files from the suite's beginning. */
export function useFilledMemory(
  open: OpenDriver,
  { files, ...options }: DriverOptions & { readonly files: Readonly<Record<string, string>> },
): CheckedMemory {
  let opened: MemoryDriver | undefined;
  const memory = onceOpen(() => opened);
  beforeAll(async () => {
    opened = await open(options);
    await memory.files(files);
  }, SLOW);
  afterAll(() => opened?.close(), SLOW);
  return memory;
}

function onceOpen(opened: () => MemoryDriver | undefined): CheckedMemory {
  const driver = (): MemoryDriver => {
    const found = opened();
    if (found === undefined) throw new Error('the memory is not open');
    return found;
  };
  return checked({
    run: (input) => driver().run(input),
    runAll: (inputs) => driver().runAll(inputs),
    put: (path, bytes) => driver().put(path, bytes),
    dump: () => driver().dump(),
    reset: () => driver().reset(),
    close: () => driver().close(),
  });
}

function expectNoLeak(input: Input, content: string): void {
  const own = JSON.stringify(input).toLowerCase();
  for (const leak of LEAKS.map((text) => text.toLowerCase())) {
    if (!own.includes(leak)) expect(content.toLowerCase()).not.toContain(leak);
  }
}
