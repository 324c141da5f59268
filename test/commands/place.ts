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
  /** Lets time pass, in milliseconds. */
  later(ms: number): void;
  /** Runs the program in this process: its streams, settings, folder and clock are those of the transcript. */
  sealedMemory(
    args: readonly string[],
    given: { readonly input: Uint8Array; readonly settings: Readonly<Record<string, string>> },
  ): Promise<Answer>;
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

/** What a run says of how far it is, which a quiet machine never says. */
const PROGRESS = /^(?:sealed-memory: (?:.* …|\d+ of \d+ \w+)|\{"event":"progress",.*)\n/gm;

/**
 * Opens the place of one transcript. A second goes by before each command; during one, time goes by for waiting alone,
 * so that the times in an answer are the same on every machine.
 */
export function openPlace(): Place {
  const folder = realpathSync(mkdtempSync(join(SHARED_MEMORY, 'sealed-memory-transcript-')));
  const own: Record<string, string | undefined> = { ...SETTINGS };
  let now = BEGINNING;
  return {
    folder,
    at: (path) => (path.startsWith('/') ? path : join(folder, path)),
    set(name, value) {
      own[name] = value;
    },
    later(ms) {
      now += ms;
    },
    async sealedMemory(args, { input, settings }) {
      // Loaded as the program's start does: it starts processes for an editor and a browser alone, so that the quick
      // run, which goes by what is imported, may play transcripts.
      const { runProgram } = await import('../../src/cli/program/program.ts');
      now += COMMAND_MS;
      using process = takeProcess({ folder, input, env: { HOME: folder, ...own, ...settings }, now });
      const code = await runProgram(args);
      const { stdout, stderr } = process.said();
      const text = stdout.toString();
      return {
        code,
        stdout: text.includes('"progress"') ? Buffer.from(text.replaceAll(PROGRESS, '')) : stdout,
        stderr: stderr.toString().replaceAll(PROGRESS, ''),
      };
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

interface Taken extends Disposable {
  said(): { readonly stdout: Buffer; readonly stderr: Buffer };
}

/** Puts streams, settings, a folder and a clock in the place of this process's own, until it is disposed of. */
function takeProcess({
  folder,
  input,
  env,
  now,
}: {
  readonly folder: string;
  readonly input: Uint8Array;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: number;
}): Taken {
  const [stdout, stderr] = [collector(), collector()];
  const streams = { stdin: Readable.from(input.length === 0 ? [] : [input]), stdout, stderr };
  const before = Object.entries(streams).map(
    ([name]) => [name, Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor] as const,
  );
  const [ownFolder, ownEnv] = [process.cwd(), { ...process.env }];
  for (const [name, value] of Object.entries(streams)) {
    Object.defineProperty(process, name, { configurable: true, enumerable: true, value });
  }
  replaceEnv(env);
  process.chdir(folder);
  vi.useFakeTimers({ toFake: ['Date'], now });
  // Who waits for another process looks at the clock again when a timer has run out.
  const ownTimeout = globalThis.setTimeout;
  const later = (run: (...args: unknown[]) => void, ms = 0, ...args: readonly unknown[]) =>
    ownTimeout(() => {
      if (vi.isFakeTimers()) vi.setSystemTime(Date.now() + ms);
      run(...args);
    }, ms);
  globalThis.setTimeout = Object.assign(later, ownTimeout) as typeof setTimeout;
  return {
    said: () => ({ stdout: stdout.whole(), stderr: stderr.whole() }),
    [Symbol.dispose]() {
      globalThis.setTimeout = ownTimeout;
      vi.useRealTimers();
      process.chdir(ownFolder);
      replaceEnv(ownEnv);
      for (const [name, descriptor] of before) Object.defineProperty(process, name, descriptor);
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
