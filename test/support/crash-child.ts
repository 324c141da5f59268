import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROCESS = fileURLToPath(new URL('crash-process.ts', import.meta.url));

/** A place between two requests of a process. */
export interface Boundary {
  /** Number of the request, from 1. */
  readonly request: number;
  readonly side: 'before' | 'after';
  /** What the request asks for, for messages. */
  readonly name: string;
}

export interface ChildTask {
  readonly env: Readonly<Record<string, string>>;
  /** A command of the memory tool. */
  readonly command: unknown;
  /** What the process does to itself, and where; nothing unless given. */
  readonly fate?: { readonly signal: 'SIGKILL' | 'SIGSTOP'; readonly at: Boundary };
}

export interface ChildEnd {
  readonly signal: NodeJS.Signals | null;
  /** What a process that lived to its end has told. */
  readonly report:
    | {
        readonly requests: readonly string[];
        readonly content: unknown;
        readonly code: string | undefined;
      }
    | undefined;
}

export interface CrashChild {
  /** Resolves when the process has stopped or ended. */
  readonly halted: Promise<void>;
  readonly ended: Promise<ChildEnd>;
  /** Wakes a process that has stopped. */
  thaw(): void;
  kill(): void;
}

/** Starts a process of its own that executes one command. */
export function startCrashChild({ env, command, fate }: ChildTask): CrashChild {
  const { signal, at } = fate ?? {};
  const fateArguments = at === undefined ? [] : [String(signal), String(at.request), at.side];
  const child = spawn(process.execPath, [PROCESS, JSON.stringify(command), ...fateArguments], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const stopped = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    if (line === 'stopped') stopped.resolve();
  });
  const ended = endOf(child, lines);
  return {
    halted: Promise.race([stopped.promise, ended.then(() => {})]),
    ended,
    thaw: () => child.kill('SIGCONT'),
    kill: () => child.kill('SIGKILL'),
  };
}

async function endOf(child: ChildProcess, lines: readonly string[]): Promise<ChildEnd> {
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const last = lines.findLast((line) => line.startsWith('{'));
  if (signal === null && last === undefined)
    throw new Error('the process failed before it executed its command');
  return { signal, report: last === undefined ? undefined : JSON.parse(last) };
}

/**
 * Both sides of every request that changes something. A process that dies beside a read leaves the server as one that
 * dies after the change before it.
 */
export function boundariesOf(requests: readonly string[]): readonly Boundary[] {
  return requests.flatMap((name, i) => {
    if (!/^(put|delete) /.test(name)) return [];
    const request = i + 1;
    return [
      { request, side: 'before', name },
      { request, side: 'after', name },
    ];
  });
}

export function describeBoundary({ request, side, name }: Boundary): string {
  return `${side} request ${request}, ${name}`;
}
