import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from './find-program.ts';

const START_WITHIN_MS = 30_000;

/**
 * The script of a shell in a process group of its own, which makes the server's folder, runs the server and watches a
 * pipe that only this process holds open. However this process ends (Ctrl-C and SIGKILL included), the pipe closes, and
 * the shell stops the server and removes the folder: there is no folder without a shell that removes it. A line `kill`
 * in the pipe asks for SIGKILL at once: the shell does that as well, so that the folder goes although this process may
 * end meanwhile. At last the shell ends its whole group, with the watcher that may still sleep and would hold this
 * process's pipes open. The shell itself writes no message: one into the closed pipe would end it too early.
 */
const GUARD = `
directory=$1; within=$2; shift 2
exec 3<&0 4>&2 2>/dev/null
mkdir -m 700 "$directory" 2>&4 || exit 1
for name in $within; do mkdir "$directory/$name"; done
"$@" </dev/null 3<&- 2>&4 4>&- & server=$!
exec 4>&-
{ read -r how <&3; [ "$how" = kill ] || { kill "$server"; sleep 5; }; kill -9 "$server"; } &
wait "$server"
rm -rf "$directory"
kill -9 0
`;

/** A program under the guard. */
export interface GuardedChild {
  /** Resolves when the program has ended and its folder is removed. */
  readonly ended: Promise<void>;
  /** Ends the program, by SIGTERM and five seconds later by SIGKILL. */
  stop(): Promise<void>;
  /** Ends the program at once, by SIGKILL. */
  kill(): Promise<void>;
}

/**
 * Starts a program that ends with this process, whatever becomes of this process, in a fresh folder, whose name begins
 * with `folder` and which goes with the program.
 */
export function spawnGuarded(options: {
  readonly program: string;
  readonly arguments: (directory: string) => readonly string[];
  readonly env: Environment;
  readonly folder: string;
  /** The folders to make within it, by names without a space. */
  readonly within?: readonly string[] | undefined;
  readonly onOutput: (chunk: Buffer) => void;
}): GuardedChild {
  const { onOutput } = options;
  const directory = join(tmpdir(), `${options.folder}-${randomUUID()}`);
  const command = [options.program, ...options.arguments(directory)];
  const within = (options.within ?? []).join(' ');
  const child = spawn('sh', ['-c', GUARD, 'sh', directory, within, ...command], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: directory, ...options.env },
  });
  child.stdout.on('data', onOutput);
  child.stderr.on('data', onOutput);
  child.stdin.on('error', () => {});
  const ended = once(child, 'exit').then(() => {});
  return {
    ended,
    async stop() {
      child.stdin.end();
      await ended;
    },
    async kill() {
      child.stdin.end('kill\n');
      await ended;
    },
  };
}

export interface GuardedProcess extends Omit<GuardedChild, 'ended'> {
  readonly url: string;
}

/**
 * Starts a server on a free loopback port, or at `address`, in a fresh folder, and waits until `healthPath` answers
 * 200.
 *
 * @throws Error with the end of its output when it does not come up.
 */
export async function startGuarded(options: {
  readonly program: string;
  readonly arguments: (place: { readonly address: string; readonly directory: string }) => readonly string[];
  /** The folders to make in the fresh one, by names without a space. */
  readonly within?: readonly string[];
  readonly env: Environment;
  readonly healthPath: string;
  readonly address?: string;
  /** Ends the waiting, and the server. */
  readonly signal?: AbortSignal | undefined;
}): Promise<GuardedProcess> {
  const address = options.address ?? `127.0.0.1:${await freePort()}`;
  let output = '';
  let hasEnded = false;
  const { ended, stop, kill } = spawnGuarded({
    ...options,
    arguments: (directory) => options.arguments({ address, directory }),
    folder: 'sealed-memory-test',
    onOutput(chunk) {
      output = (output + chunk.toString()).slice(-2000);
    },
  });
  void ended.then(() => {
    hasEnded = true;
  });
  const deadline = Date.now() + START_WITHIN_MS;
  while (!(await answers(`http://${address}${options.healthPath}`))) {
    if (hasEnded || options.signal?.aborted || Date.now() > deadline) {
      await stop();
      throw new Error(`it did not start: ${output.trim().split('\n').slice(-3).join(' ')}`);
    }
    await sleep(50);
  }
  return { url: `http://${address}`, stop, kill };
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
