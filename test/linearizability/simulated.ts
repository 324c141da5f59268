import type { History, Operation, Result } from '../simulation/history.ts';
import { pathsOf } from '../simulation/judge.ts';
import { START } from '../simulation/scheduler.ts';
import { type Simulation, type SimulationOptions, simulate } from '../simulation/simulate.ts';
import { LAYOUT, pathOf } from '../simulation/tenant.ts';
import { type RecordedCommand, type RecordedHistory, recorded } from './recording.ts';

/** The verdict of the simulation's own judge on a seed, and the seed's history in the words of Porcupine. */
export interface Simulated {
  readonly name: string;
  readonly complaint: Simulation['complaint'];
  /** Undefined: Porcupine cannot judge it, for it has several renames of directories. */
  readonly history: RecordedHistory | undefined;
}

/** The judge does not come to an end with more of them. */
const MOST_DIRECTORY_RENAMES = 1;
/** Behind every instant of a simulation. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Plays a seed, by the simulation as it is or by one with a bug in it. */
export async function recordSimulation(
  options: SimulationOptions,
  play: typeof simulate = simulate,
): Promise<Simulated> {
  const simulation = await play(options);
  const name = `${options.storeClass}-${options.seed}-${simulation.theme.replaceAll(' ', '-')}`;
  return { name, complaint: simulation.complaint, history: recordedOf(name, simulation) };
}

function recordedOf(name: string, { history, textOf }: Simulation): RecordedHistory | undefined {
  const paths = pathsOf(history);
  const processes = [...new Set(history.operations.map(({ process }) => process))];
  const commands = history.operations
    .filter((operation) => !isIdle(operation))
    .map((operation) =>
      commandOf(operation, { history, paths, client: processes.indexOf(operation.process) }),
    );
  const directories = commands.filter(({ moves }) => moves === 'directory');
  if (directories.length > MOST_DIRECTORY_RENAMES) return undefined;
  const client = processes.length;
  const at = (ms: number): Pick<RecordedCommand, 'client' | 'call' | 'end'> => ({
    client,
    call: instant(ms),
    end: instant(ms),
  });
  for (const stray of history.strayCreates) {
    if (!stray.key.startsWith(LAYOUT.data)) continue;
    const path = pathOf(stray.key);
    const isCopy = directories.some((each) => each.outcome === 'unknown' && isBelow(path, each.to ?? ''));
    const text = textOf(stray.key, stray.body);
    const until = isCopy ? { until: NEVER } : {};
    commands.push({ command: 'arrival', path, text, ...at(stray.at), ...until, outcome: 'unknown' });
  }
  for (const stray of history.strayDeletes) {
    if (!stray.key.startsWith(LAYOUT.data)) continue;
    commands.push({ command: 'loss', path: pathOf(stray.key), ...at(stray.at), outcome: 'unknown' });
  }
  for (const { at: ms, path, removes } of history.byOperators) {
    if (removes) commands.push({ command: 'repair', path, ...at(ms), outcome: 'unknown' });
  }
  return { name, paths, commands, resends: false };
}

function commandOf(
  operation: Operation,
  {
    history,
    paths,
    client,
  }: { readonly history: History; readonly paths: readonly string[]; readonly client: number },
): RecordedCommand {
  const { command, start, end: answered, result, lastExecuted } = operation;
  const end = instant(isUnknown(result) ? Math.max(answered ?? start, lastExecuted) : (answered ?? start));
  const played = { call: instant(start), end, result: excused(result, history) };
  return {
    ...recorded(client, command, played),
    ...(isUnknown(result) && { until: end }),
    ...(command.command === 'rename' && { moves: movesOf(operation, paths) }),
  };
}

/** Nothing of it was executed, and nothing is answered that the tree must explain. */
function isIdle({ command, result, wrote }: Operation): boolean {
  return command.command === 'rename' && isUnknown(result) && !wrote;
}

function isUnknown(result: Result | undefined): boolean {
  return result === undefined || (!result.ok && result.code === 'outcome_unknown');
}

/** A file is refused rightly where one came late, or a create twice: test/simulation/judge.ts holds each against that. */
function excused(result: Result | undefined, { strayCreates, lateFiles }: History): Result | undefined {
  const mayRefuse = lateFiles.length > 0 || strayCreates.some(({ again }) => again);
  if (result?.ok !== false || result.code !== 'integrity' || !mayRefuse) return result;
  return { ...result, code: 'unavailable' };
}

/** Answers what a command renamed, judged by where its requests changed anything. */
function movesOf({ command, result, landed }: Operation, paths: readonly string[]): RecordedCommand['moves'] {
  if (command.command !== 'rename') return undefined;
  const { old_path: from, new_path: to } = command;
  if (landed.some(({ path }) => path === from || path === to)) return 'file';
  if (landed.some(({ path }) => isBelow(path, from) || isBelow(path, to))) return 'directory';
  if (result?.ok !== true && !isUnknown(result)) return 'nothing';
  return paths.some((path) => isBelow(path, from)) ? 'directory' : 'file';
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}

/** Nanoseconds since the simulation began. */
function instant(ms: number): number {
  return Math.round((ms - START) * 1_000_000);
}
