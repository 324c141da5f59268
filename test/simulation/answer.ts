import type { Command, Result } from './history.ts';
import { all, END, either, look, type Program, type Tree } from './program.ts';

/** The knowledge whether requests of an operation changed something at a path for its own sake. */
export type Touch = 'yes' | 'no' | 'maybe';

/** Thrown for an answer that no tree whatsoever could bring about. */
export class ImpossibleAnswer extends Error {}

export type Of<Name extends Command['command']> = Extract<Command, { command: Name }>;

/**
 * Answers that promise that nothing was changed, whatever the tree is. Another judge checks each `integrity` against
 * the objects of the server.
 */
const NOTHING_DONE = new Set(['unavailable', 'timeout', 'aborted', 'integrity']);

/** The answer to a command, and the facts that are known besides. */
export interface Answer {
  readonly code: string;
  readonly result: Result | undefined;
  readonly paths: readonly string[];
  readonly touched: ReadonlySet<string>;
  touches(path: string): Touch;
}

export function choose(touch: Touch, ways: { yes(): Program; no(): Program }): Program {
  if (touch === 'maybe') return either(ways.no(), ways.yes());
  return touch === 'yes' ? ways.yes() : ways.no();
}

/**
 * Makes the look after a create: it must see nothing below the file and no file above it, or that another process has
 * edited or renamed it.
 */
export function verified(path: string, paths: readonly string[]): (text: string) => Program {
  const clashing = [...belowOf(path, paths), ...aboveOf(path, paths)];
  const clear = all(clashing.map(absent));
  if (clashing.length === 0) return () => END;
  return (text) =>
    either(
      clear,
      look('built on', (tree) => tree.get(path) !== text),
    );
}

export function failed(code: string): Program {
  if (NOTHING_DONE.has(code) || code === 'outcome_unknown') return END;
  throw new ImpossibleAnswer(`nothing accounts for the answer ${code}`);
}

export function absent(path: string): Program {
  return look(`no ${path}`, (tree) => !tree.has(path));
}

export function nothingAt(path: string, paths: readonly string[]): Program {
  return all([path, ...belowOf(path, paths)].map(absent));
}

export function anyOf(key: string, paths: readonly string[]): Program {
  return look(key, (tree: Tree) => paths.some((path) => tree.has(path)));
}

export function belowOf(path: string, paths: readonly string[]): readonly string[] {
  return paths.filter((other) => isBelow(other, path));
}

export function aboveOf(path: string, paths: readonly string[]): readonly string[] {
  return paths.filter((other) => isBelow(path, other));
}

export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}

export function reasonOf(result: Result | undefined): string | undefined {
  return result === undefined || result.ok ? undefined : result.reason;
}
