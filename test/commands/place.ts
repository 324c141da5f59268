import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { vi } from 'vitest';

export interface Answer {
  readonly code: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

/** The surroundings of a transcript: an empty folder, which is the home folder too, its settings and its clock. */
export interface Place extends Disposable {
  readonly folder: string;
  at(path: string): string;
  set(name: string, value: string | undefined): void;
  /** Has something closed when the transcript ends. */
  closeAtEnd(opened: AsyncDisposable): void;
  /** Lets time pass, in milliseconds. */
  later(ms: number): void;
  /** Has something done when the program asks next, before it is answered. */
  meanwhile(deed: () => Promise<void>): void;
  /** Presses Ctrl-C for the program that runs. */
  ctrlC(): void;
  /** Runs the program in this process: its streams, settings, folder and clock are those of the transcript. */
  sealedMemory(args: readonly string[], given: Given): Promise<Answer>;
}

interface Given {
  readonly input: Uint8Array;
  readonly settings: Readonly<Record<string, string>>;
  /** It runs at a screen, with a keyboard that types the input. */
  readonly isAtScreen?: boolean;
  /** Ctrl-C is pressed as soon as it listens. */
  readonly isInterrupted?: boolean;
}

/** The settings with which a transcript begins; one about settings unsets them. */
const SETTINGS: Readonly<Record<string, string>> = {
  SEALED_MEMORY_STORE: 'sqlite:store.sqlite',
  SEALED_MEMORY_TENANT: 'acme',
  SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 7).toString('base64'),
};

/** A disk has nothing to do with an answer, and would be waited for after every write. */
const SHARED_MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const BEGINNING = Date.UTC(2026, 0, 1, 12);
const COMMAND_MS = 1_000;

/** Matches what a run says of how far it is, which it never says on a quiet machine. */
const PROGRESS = /^(?:sealed-memory: (?:.* …|\d+ of \d+ \w+)|\{"event":"progress",.*)\n/gm;

/**
 * Opens the place of one transcript. A second goes by before each command; during one, time goes by for waiting alone,
 * so that the times in an answer are the same on every machine.
 */
export function openPlace(): Place {
  const folder = realpathSync(mkdtempSync(join(SHARED_MEMORY, 'sealed-memory-transcript-')));
  const own: Record<string, string | undefined> = { ...SETTINGS };
  let now = BEGINNING;
  let deed: (() => Promise<void>) | undefined;
  const running: Taken[] = [];
  const opened: AsyncDisposable[] = [];
  return {
    folder,
    at: (path) => (path.startsWith('/') ? path : join(folder, path)),
    set(name, value) {
      own[name] = value;
    },
    closeAtEnd: (each) => void opened.push(each),
    later(ms) {
      now += ms;
    },
    meanwhile(next) {
      deed = next;
    },
    ctrlC() {
      running.at(-1)?.interrupt();
    },
    async sealedMemory(args, { input, settings, isAtScreen = false, isInterrupted = false }) {
      // Loaded as the program's start does: it starts processes for an editor and a browser alone, so that the quick
      // run, which goes by what is imported, may play transcripts.
      const { runProgram } = await import('../../src/cli/program/program.ts');
      now += COMMAND_MS;
      const typed = async function* (): AsyncGenerator<Uint8Array> {
        const [before, all] = [deed, input];
        deed = undefined;
        await before?.();
        if (all.length > 0) yield all;
      };
      const env = { HOME: folder, ...own, ...settings };
      const isBeside = running.length > 0;
      using taken = takeProcess({ folder, stdin: typed(), env, now, isAtScreen, isInterrupted, isBeside });
      running.push(taken);
      const code = await runProgram(args).catch((error: unknown) => {
        if (error instanceof Exit) return error.code;
        throw error;
      });
      running.pop();
      if (isAtScreen && deed !== undefined)
        throw new Error('Nothing was asked, and a deed waits for a question.');
      const { stdout, stderr } = taken.said();
      const text = stdout.toString();
      return {
        code,
        stdout: text.includes('"progress"') ? Buffer.from(text.replaceAll(PROGRESS, '')) : stdout,
        stderr: stderr.toString().replaceAll(PROGRESS, ''),
      };
    },
    [Symbol.dispose]() {
      for (const each of opened) void each[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Thrown where the program ends the process. */
class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`The program ended with ${code}.`);
    this.code = code;
  }
}

interface Taken extends Disposable {
  said(): { readonly stdout: Buffer; readonly stderr: Buffer };
  interrupt(): void;
}

interface Surroundings {
  readonly folder: string;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: number;
  readonly isAtScreen: boolean;
  readonly isInterrupted: boolean;
  /** Another program runs, whose clock goes on. */
  readonly isBeside: boolean;
}

/** Puts streams, settings, a folder and a clock in the place of this process's own, until it is disposed of. */
function takeProcess(around: Surroundings): Taken {
  const [stdout, stderr] = [collector(), collector()];
  const streams = { stdin: Readable.from(around.stdin), stdout, stderr };
  if (around.isAtScreen) {
    Object.assign(streams.stdin, { isTTY: true });
    Object.assign(stdout, {
      isTTY: true,
      columns: Number(around.env['COLUMNS'] ?? 0),
      getColorDepth: () => 1,
    });
  }
  const before = Object.entries(streams).map(
    ([name]) => [name, Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor] as const,
  );
  const [ownFolder, ownEnv] = [process.cwd(), { ...process.env }];
  const others = new Set(process.listeners('SIGINT'));
  const atOnce = (name: string | symbol, listener: (signal: string) => void): void => {
    if (around.isInterrupted && name === 'SIGINT') listener('SIGINT');
  };
  process.on('newListener', atOnce);
  for (const [name, value] of Object.entries(streams)) {
    Object.defineProperty(process, name, { configurable: true, enumerable: true, value });
  }
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Exit(Number(code ?? 0));
  });
  replaceEnv(around.env);
  process.chdir(around.folder);
  if (around.isBeside) vi.setSystemTime(around.now);
  const clock = around.isBeside ? undefined : takeClock(around.now);
  return {
    said: () => ({ stdout: stdout.whole(), stderr: stderr.whole() }),
    interrupt() {
      for (const listener of process.listeners('SIGINT')) if (!others.has(listener)) listener('SIGINT');
    },
    [Symbol.dispose]() {
      clock?.[Symbol.dispose]();
      process.off('newListener', atOnce);
      exit.mockRestore();
      process.chdir(ownFolder);
      replaceEnv(ownEnv);
      for (const [name, descriptor] of before) Object.defineProperty(process, name, descriptor);
    },
  };
}

function takeClock(now: number): Disposable {
  vi.useFakeTimers({ toFake: ['Date'], now });
  // Who waits for another process looks at the clock again when a timer has run out.
  const ownTimeout = globalThis.setTimeout;
  let isTaken = true;
  const later = (run: (...args: unknown[]) => void, ms = 0, ...args: readonly unknown[]) =>
    ownTimeout(() => {
      if (isTaken) vi.setSystemTime(Date.now() + ms);
      run(...args);
    }, ms);
  globalThis.setTimeout = Object.assign(later, ownTimeout) as typeof setTimeout;
  return {
    [Symbol.dispose]() {
      isTaken = false;
      globalThis.setTimeout = ownTimeout;
      vi.useRealTimers();
    },
  };
}

function replaceEnv(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}

function collector(): Writable & { whole(): Buffer } {
  const parts: Uint8Array[] = [];
  const stream = new Writable({
    write(part: Uint8Array, _, done) {
      parts.push(part);
      done();
    },
  });
  return Object.assign(stream, { whole: () => Buffer.concat(parts) });
}
