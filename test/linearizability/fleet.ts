import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PROGRAM_ENV } from '../stage/programs.ts';
import type { LoggedVersion } from './judge-log.ts';
import type { PlayerAnswer, PlayerRequest } from './player-lines.ts';
import type { Played, Player } from './recording.ts';

const PROCESS = fileURLToPath(new URL('player-process.ts', import.meta.url));

/** Processes of one store that may be killed and stopped. */
export interface Fleet {
  readonly players: readonly Player[];
  /** Ends a process with SIGKILL; one that has been waiting takes its place at once. */
  kill(player: number): void;
  /** SIGSTOP, and SIGCONT after so long. */
  freeze(player: number, ms: number): Promise<void>;
  /** Rotates the tenant's keys and migrates its objects, in a process of its own. */
  operate(tenant: string): Promise<Played>;
  /** A process that has done nothing yet, apart from the players. */
  newcomer(): Player;
  stop(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  run(tenant: string, command: PlayerRequest['command']): Promise<Played>;
  log(tenant: string): Promise<readonly LoggedVersion[]>;
}

export function startFleet(size: number, env: Readonly<Record<string, string>>): Fleet {
  const all: Running[] = [];
  const start = (): Running => {
    const running = startProcess(env);
    all.push(running);
    return running;
  };
  let waiting = start();
  const next = (): Running => {
    const taken = waiting;
    waiting = start();
    return taken;
  };
  const operator = start();
  const places = Array.from({ length: size }, start);

  return {
    players: places.map((_, at) => ({
      run: async (tenant, command) => (places[at] ?? next()).run(tenant, command),
      log: async (tenant) => (places[at] ?? next()).log(tenant),
    })),
    kill(at) {
      places[at]?.child.kill('SIGKILL');
      places[at] = next();
    },
    async freeze(at, ms) {
      const { child } = places[at] ?? waiting;
      child.kill('SIGSTOP');
      await sleep(ms);
      child.kill('SIGCONT');
    },
    operate: (tenant) => operator.run(tenant, 'operate'),
    newcomer: () => next(),
    async stop() {
      await Promise.all(
        all.map(async ({ child }) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const closed = once(child, 'close');
          child.kill('SIGKILL');
          await closed;
        }),
      );
    },
  };
}

function startProcess(env: Readonly<Record<string, string>>): Running {
  const child = spawn(process.execPath, [PROCESS], {
    env: { ...PROGRAM_ENV, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const open = new Map<number, (played: Played) => void>();
  const sent = new Map<number, number>();
  let requests = 0;
  let over = false;
  child.stdin.on('error', () => {});
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, call, end, result } = JSON.parse(line) as PlayerAnswer;
    open.get(id)?.({ call, end, result });
    open.delete(id);
  });
  child.on('close', () => {
    over = true;
    for (const [id, settle] of open) settle({ call: sent.get(id) ?? 0, end: now(), result: undefined });
    open.clear();
  });
  const run: Running['run'] = (tenant, command) => {
    if (over) throw new Error('a process of players has ended by itself');
    const id = ++requests;
    sent.set(id, now());
    const { promise, resolve } = Promise.withResolvers<Played>();
    open.set(id, resolve);
    const request: PlayerRequest = { id, tenant, command };
    child.stdin.write(`${JSON.stringify(request)}\n`);
    return promise;
  };
  return {
    child,
    run,
    async log(tenant) {
      const { result } = await run(tenant, 'log');
      if (result?.ok !== true) throw new Error('the log of a tenant was not read');
      return JSON.parse(result.content) as readonly LoggedVersion[];
    },
  };
}

/** Nanoseconds of the clock that all processes of this machine share. */
export function now(): number {
  return Number(process.hrtime.bigint());
}
