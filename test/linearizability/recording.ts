import type { Chance } from '../simulation/chance.ts';
import type { Command, Result } from '../simulation/history.ts';
import { readView } from '../simulation/views.ts';
import type { LoggedVersion } from './judge-log.ts';
import type { Plan } from './plan.ts';

/** One command of one process, as it saw it. */
export interface Played {
  /** Nanoseconds, or the numbers of a counter; one clock for all processes. */
  readonly call: number;
  /** Without a result the last instant at which the process was alive. */
  readonly end: number;
  readonly result: Result | undefined;
}

/** A process that carries out commands on the tree of a tenant. Another may take its place at any time. */
export interface Player {
  run(tenant: string, command: Command): Promise<Played>;
  /** Reads the versions that the tenant's history holds. */
  log(tenant: string): Promise<readonly LoggedVersion[]>;
}

/** A history in the words of the judge. */
export interface RecordedHistory {
  readonly name: string;
  readonly paths: readonly string[];
  readonly commands: readonly RecordedCommand[];
  /** Requests whose answers were lost may have been sent again. */
  readonly resends: boolean;
  /** Present for a tenant that keeps history; Porcupine does not read it. */
  readonly log?: readonly LoggedVersion[];
}

export interface RecordedCommand {
  readonly client: number;
  /** Beside those of the tool what nobody asked for: a request that comes late, or a second time, and a repair. */
  readonly command: Command['command'] | 'arrival' | 'loss' | 'repair';
  readonly path: string;
  readonly to?: string;
  /** The kind of thing that a rename has moved, where its paths leave that open. */
  readonly moves?: 'file' | 'directory' | 'nothing' | undefined;
  readonly text?: string;
  readonly old?: string;
  readonly call: number;
  readonly end: number;
  /** When nothing was on its way any more, of a command without a certain outcome. */
  readonly until?: number;
  readonly outcome: string;
  readonly reason?: string;
  readonly shown?: string;
  readonly listed?: Readonly<Record<string, number>>;
}

export interface Recording {
  readonly plan: Plan;
  readonly players: readonly Player[];
  /** Looks at every path once all others have ended. */
  readonly observer: Player;
  readonly chance: Chance;
  readonly pause: (ms: number) => Promise<void>;
  /** Called at the end of every command. */
  readonly onCommand?: () => void;
  /** Resolves when no fault is under way any more. */
  readonly calm?: () => Promise<void>;
  /** Resolves, with the time, when all requests have arrived that are on their way. */
  readonly settled: () => Promise<number>;
  readonly resends: boolean;
}

/** Has the processes carry out the plan side by side, each its commands one after the other. */
export async function recordHistory(recording: Recording): Promise<RecordedHistory> {
  const { plan, players, observer, chance, pause, onCommand, settled, resends } = recording;
  const commands: RecordedCommand[] = [];
  const waiting: Promise<unknown>[] = [];
  const play = async (client: number, player: Player, command: Command): Promise<void> => {
    const played = recorded(client, command, await player.run(plan.name, command));
    if (played.outcome !== 'unknown') commands.push(played);
    else waiting.push(settled().then((until) => commands.push({ ...played, until })));
    onCommand?.();
  };
  const [first = observer] = players;
  for (const command of plan.initial) await play(0, first, command);
  await Promise.all(
    players.map(async (player, client) => {
      for (const command of plan.clients[client] ?? []) {
        await pause(chance.fraction() * plan.restMs);
        await play(client, player, command);
      }
    }),
  );
  await recording.calm?.();
  for (const path of [...plan.paths, ...plan.directories.filter((path) => !plan.paths.includes(path))]) {
    await play(players.length, observer, { command: 'view', path });
  }
  await Promise.all(waiting);
  const history = { name: plan.name, paths: plan.paths, commands, resends };
  return plan.keepsHistory ? { ...history, log: await observer.log(plan.name) } : history;
}

/** A command in the words of the judge. */
export function recorded(client: number, command: Command, { call, end, result }: Played): RecordedCommand {
  return { client, call, end, ...asked(command), ...answered(command, result) };
}

function asked(command: Command): Pick<RecordedCommand, 'command' | 'path' | 'to' | 'text' | 'old'> {
  switch (command.command) {
    case 'create':
      return { command: 'create', path: command.path, text: command.file_text };
    case 'str_replace':
      return { command: 'str_replace', path: command.path, old: command.old_str, text: command.new_str };
    case 'insert':
      return { command: 'insert', path: command.path, text: command.insert_text };
    case 'rename':
      return { command: 'rename', path: command.old_path, to: command.new_path };
    default:
      return { command: command.command, path: command.path };
  }
}

function answered(
  { command }: Command,
  result: Result | undefined,
): Pick<RecordedCommand, 'outcome' | 'reason' | 'shown' | 'listed'> {
  if (result === undefined) return { outcome: 'unknown' };
  if (!result.ok) {
    const { code, reason } = result;
    return {
      outcome: code === 'outcome_unknown' ? 'unknown' : code,
      ...(reason !== undefined && { reason }),
    };
  }
  if (command !== 'view') return { outcome: 'ok' };
  const shown = readView(result.content);
  if (shown.kind === 'file') return { outcome: 'ok', shown: shown.text };
  return { outcome: 'ok', listed: Object.fromEntries(shown.sizes) };
}
