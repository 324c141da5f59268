import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { crashProgram, PROGRAM_ENV } from '../stage/programs.ts';
import type { LifecycleTask } from './lifecycle-task.ts';

const COMMAND_PROCESS = crashProgram('crash-process');
const SESSION_PROCESS = crashProgram('session-process');
const LIFECYCLE_PROCESS = crashProgram('lifecycle-process');

/** A place between two requests of a process. */
export interface Boundary {
  /** Number of the request, from 1. */
  readonly request: number;
  readonly side: 'before' | 'after';
  /** The thing that the request asks for, for messages. */
  readonly name: string;
}

/** The signal that a process sends itself, and the place where it does. */
export interface Fate {
  readonly signal: 'SIGKILL' | 'SIGSTOP';
  readonly at: Boundary;
}

interface ChildLife {
  readonly env: Readonly<Record<string, string>>;
  /** It lives to its end unless given. */
  readonly fate?: Fate | undefined;
}

export interface ChildTask extends ChildLife {
  /** A command of the memory tool. */
  readonly command: unknown;
}

export interface LifecycleChildTask extends ChildLife {
  readonly task: LifecycleTask;
}

export interface SessionChildTask extends ChildLife {
  /** Whose batches it appends. */
  readonly worker: string;
}

export interface ChildEnd {
  readonly signal: NodeJS.Signals | null;
  /** All that it has printed. */
  readonly lines: readonly string[];
  /** The report of a process that lived to its end. */
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
export function startCrashChild({ command, ...life }: ChildTask): CrashChild {
  return start([COMMAND_PROCESS, JSON.stringify(command)], life);
}

/** Starts a process of its own that runs one verb of a tenant's lifecycle. */
export function startLifecycleChild({ task, ...life }: LifecycleChildTask): CrashChild {
  return start([LIFECYCLE_PROCESS, JSON.stringify(task)], life);
}

/** Starts a process of its own that appends to a session. */
export function startSessionChild({ worker, ...life }: SessionChildTask): CrashChild {
  return start([SESSION_PROCESS, worker], life);
}

function start(program: readonly string[], { env, fate }: ChildLife): CrashChild {
  const { signal, at } = fate ?? {};
  const fateArguments = at === undefined ? [] : [String(signal), String(at.request), at.side];
  const child = spawn(process.execPath, [...program, ...fateArguments], {
    env: { ...PROGRAM_ENV, ...env },
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
  if (signal === null && last === undefined) throw new Error('the process failed before it was done');
  return { signal, lines, report: last === undefined ? undefined : JSON.parse(last) };
}

/**
 * Both sides of every request that changes something. A process that dies beside a read leaves the server as one that
 * dies after the change before it.
 */
export function boundariesOf(requests: readonly string[]): readonly Boundary[] {
  return everyBoundaryOf(requests).filter(({ name }) => /^(put|delete|change) /.test(name));
}

/** Both sides of every request. */
export function everyBoundaryOf(requests: readonly string[]): readonly Boundary[] {
  return requests.flatMap((name, i) => [
    { request: i + 1, side: 'before', name },
    { request: i + 1, side: 'after', name },
  ]);
}

/** Every `step`th boundary, from the first one on, and the last. */
export function someOf(boundaries: readonly Boundary[], step: number): readonly Boundary[] {
  return boundaries.filter((_, i) => i % step === 0 || i === boundaries.length - 1);
}

export function describeBoundary({ request, side, name }: Boundary): string {
  return `${side} request ${request}, ${name}`;
}
