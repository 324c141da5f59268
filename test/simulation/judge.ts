import type { ObjectKey } from '../../src/format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../../src/format/sizes.ts';
import { identityOf } from '../../src/tree/sightings.ts';
import { ImpossibleAnswer, isBelow } from './answer.ts';
import { type Claim, check } from './checker.ts';
import { type Alarm, describeCommand, describeResult, type History, type Operation } from './history.ts';
import { explain, type Surroundings, type Unfinished } from './model.ts';
import { takenBack } from './model-moves.ts';
import { END, either, type Tree, withFile, withoutFile, write } from './program.ts';
import type { Server } from './server.ts';
import { LAYOUT, pathOf } from './tenant.ts';

/** The reason why the answers of a simulation cannot all be true; undefined when they can. */
export type Complaint =
  | {
      readonly problem: string;
      readonly details: readonly string[];
      /** The search for an explanation has ended at its limit: nothing is proved. */
      readonly undecided: boolean;
    }
  | undefined;

export interface Evidence {
  readonly history: History;
  readonly server: Server;
  /** Opens an object that was written at a path of the tree, and answers its text. */
  readonly textOf: (key: ObjectKey, body: Uint8Array) => string;
}

/** Compares the history with the sequential model. */
export function judge({ history, server, textOf }: Evidence): Complaint {
  const falseAlarms = judgeAlarms(history);
  if (falseAlarms.length > 0) {
    return { problem: 'a false alarm', details: falseAlarms, undecided: false };
  }
  const paths = pathsOf(history);
  const others = history.operations.flatMap((operation) => unfinishedRename(operation) ?? []);
  const landed = [
    ...history.operations.flatMap((operation) => operation.landed),
    ...history.byOperators,
  ].toSorted((a, b) => a.at - b.at);
  const touched = new Set(landed.map(({ path }) => path));
  const surroundings: Surroundings = { paths, others, touched, landed };
  let claims: Claim[];
  try {
    claims = history.operations.map((operation) => claimOf(operation, surroundings));
  } catch (error) {
    if (!(error instanceof ImpossibleAnswer)) throw error;
    return { problem: error.message, details: [], undecided: false };
  }
  const strange = server.keys().filter((key) => key.startsWith(LAYOUT.data) && !paths.includes(pathOf(key)));
  if (strange.length > 0)
    return { problem: 'files lie where no writer put any', details: strange, undecided: false };
  const clashing = clashingFiles(server, history);
  if (clashing.length > 0)
    return { problem: 'a file lies above another one', details: clashing, undecided: false };
  const strays = history.strayCreates
    .filter(({ key }) => key.startsWith(LAYOUT.data))
    .map(({ at, key, body }) =>
      strayClaim({ at, path: pathOf(key), text: textOf(key, body) }, { paths, others, touched, landed }),
    );
  const lost = history.strayDeletes
    .filter(({ key }) => key.startsWith(LAYOUT.data))
    .map(({ at, key }) => instantClaim('a stray delete', at, pathOf(key), removed(pathOf(key))));
  // A repair by `verify --repair` removes one of two places with one text.
  const removals = history.byOperators.filter(({ removes }) => removes);
  const repaired = removals.map(({ at, path }) =>
    instantClaim('a repair', at, path, (tree) => (hasTwin(tree, path) ? removed(path)(tree) : undefined)),
  );
  const verdict = check([...claims, ...strays, ...lost, ...repaired], new Map());
  if (verdict.explained) return undefined;
  const problem = verdict.exhausted
    ? 'no explanation was found in time'
    : 'the answers contradict each other';
  return {
    problem: `${problem} (${verdict.states} states)`,
    undecided: verdict.exhausted,
    details: [
      ...verdict.stuck.map((label) => `unexplained: ${label}`),
      `tree: ${describeTree(verdict.tree)}`,
    ],
  };
}

/**
 * Finds files above which others lie at the end. A process that died in a create, one that stood still in it for as
 * long as files may be taken back, and a request that came late may leave such files; other commands that were answered
 * may not.
 */
function clashingFiles(server: Server, { operations, strayCreates, lateFiles }: History): readonly string[] {
  if (!operations.every(isAnswered) || strayCreates.length > 0 || lateFiles.length > 0) return [];
  if (operations.some(tookTooLong)) return [];
  const paths = server
    .keys()
    .filter((key) => key.startsWith(LAYOUT.data) && server.head(key)?.size !== TOMBSTONE_BYTES)
    .map(pathOf);
  return paths.filter((path) => paths.some((other) => other !== path && isBelow(other, path)));
}

/** Servers tell whole seconds, so that a minute may be 59 s. */
const SETTLED_MS = 59_000;

/** Tells whether its own file may have been taken for settled before it had looked for clashes. */
function tookTooLong({ landed, end, start }: Operation): boolean {
  return landed.some(({ at }) => (end ?? start) - at >= SETTLED_MS);
}

/** Collects every path at which a file may have been: those named in commands, and those where anything was written. */
export function pathsOf({ operations, byOperators }: History): readonly string[] {
  const paths = operations.flatMap(({ command, landed }) => [
    ...(command.command === 'rename' ? [command.old_path, command.new_path] : [command.path]),
    ...landed.map(({ path }) => path),
  ]);
  paths.push(...byOperators.map(({ path }) => path));
  return [...new Set(paths)].filter((path) => path !== '/memories').sort();
}

/**
 * Finds alarms about versions that were never put back, and commands that failed as if there had been an alarm. The one
 * way in which a server without an attacker puts a version back is that a create is executed twice.
 */
function judgeAlarms({ alarms, strayCreates, lateFiles, operations }: History): readonly string[] {
  const isTrue = ({ at, key, version }: Alarm): boolean =>
    strayCreates.some(
      (stray) => stray.again && stray.at <= at && stray.key === key && identityOf(stray.body) === version,
    );
  const unfounded = operations.filter(
    ({ result, process, start, end }) =>
      result?.ok === false &&
      result.code === 'integrity' &&
      !lateFiles.some((late) => late.at <= (end ?? start)) &&
      !alarms.some((alarm) => alarm.process === process && alarm.at >= start && alarm.at <= (end ?? start)),
  );
  return [
    ...alarms.filter((alarm) => !isTrue(alarm)).map(({ process, key }) => `${process} refused ${key}`),
    ...unfounded.map(({ process, id }) => `${process}#${id} failed without an alarm`),
  ];
}

function isAnswered({ result }: Operation): boolean {
  return result?.ok === true || (result !== undefined && result.code !== 'outcome_unknown');
}

function unfinishedRename(operation: Operation): Unfinished | undefined {
  const { command } = operation;
  if (command.command !== 'rename' || isAnswered(operation)) return undefined;
  return { from: command.old_path, to: command.new_path };
}

function claimOf(operation: Operation, surroundings: Surroundings): Claim {
  const { id, process, command, start, end, result, looked, landed } = operation;
  const { program, mayStop } = explain(operation, surroundings);
  return {
    label: `${process}#${id} ${describeCommand(command)}: ${describeResult(result)}`,
    start,
    end: isAnswered(operation) ? (end ?? start) : lastInstant(operation, surroundings.paths),
    program,
    mayStop,
    hints: { looked, landed, anyProcess: isAnswered(operation) ? [] : surroundings.landed },
  };
}

/**
 * Answers until when an operation without a certain end may change something: other processes may finish a rename
 * later.
 */
function lastInstant({ command, start, end, lastExecuted }: Operation, paths: readonly string[]): number {
  const mayMove = command.command === 'rename' ? paths.filter((path) => isBelow(path, command.old_path)) : [];
  if (mayMove.length > 0) return Number.POSITIVE_INFINITY;
  return Math.max(end ?? start, lastExecuted);
}

/** A copy of a rename that was left unfinished may be removed again by the process that takes the rename back. */
function strayClaim(
  { at, path, text }: { readonly at: number; readonly path: string; readonly text: string },
  { others, landed }: Surroundings,
): Claim {
  const isCopy = others.some(({ to }) => isBelow(path, to));
  const stray = (tree: Tree): Tree | undefined => (tree.has(path) ? undefined : withFile(tree, path, text));
  return {
    label: `a stray create of ${path}`,
    start: at,
    end: isCopy ? Number.POSITIVE_INFINITY : at,
    program: write(`stray ${path} ${text}`, stray, isCopy ? either(END, takenBack(path, text)) : END),
    mayStop: true,
    hints: { looked: [], landed: [{ at, path }], anyProcess: isCopy ? landed : [] },
  };
}

function instantClaim(
  what: string,
  at: number,
  path: string,
  change: (tree: Tree) => Tree | undefined,
): Claim {
  return {
    label: `${what} at ${path}`,
    start: at,
    end: at,
    program: write(`${what} ${path}`, change),
    mayStop: true,
    hints: { looked: [], landed: [{ at, path }], anyProcess: [] },
  };
}

function removed(path: string): (tree: Tree) => Tree | undefined {
  return (tree) => (tree.has(path) ? withoutFile(tree, path) : undefined);
}

function hasTwin(tree: Tree, path: string): boolean {
  return [...tree].some(([other, text]) => other !== path && text === tree.get(path));
}

function describeTree(tree: Tree): string {
  return [...tree].map(([path, text]) => `${path} = ${JSON.stringify(text)}`).join(', ') || 'empty';
}
