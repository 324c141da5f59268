import { createChance } from '../simulation/chance.ts';
import type { Command } from '../simulation/history.ts';
import { createWorkload, type Theme } from '../simulation/workload.ts';

/** The subject of the histories of one kind. */
export interface Kind extends Omit<Theme, 'name'> {
  readonly name: string;
  /** Commands of each process. The judge's work grows fast with the steps that overlap. */
  readonly commands: number;
  /** Files that are there before the processes begin. */
  readonly initial: readonly string[];
  /** One process does this once. */
  readonly renamed?: Extract<Command, { command: 'rename' }>;
}

/** The commands that the processes of one history are asked to run; the same for the same seed. */
export interface Plan {
  readonly name: string;
  readonly keepsHistory: boolean;
  /** Every path at which a file may ever be. */
  readonly paths: readonly string[];
  readonly directories: readonly string[];
  /** Carried out one after the other before the processes begin. */
  readonly initial: readonly Command[];
  /** One list for each process. */
  readonly clients: readonly (readonly Command[])[];
  /** How long a process rests at most before a command, milliseconds. */
  readonly restMs: number;
}

export const CLIENTS = 4;
/** The names of tenants that keep history end so. */
export const KEPT = '-kept';
const NO_DIRECTORIES = { delete_directory: 0, rename_directory: 0 };

export const KINDS: readonly Kind[] = [
  {
    name: 'files',
    paths: ['/memories/a', '/memories/b'],
    initial: ['/memories/a'],
    directories: [],
    commands: 8,
    weights: { ...NO_DIRECTORIES, view: 5, create: 4, str_replace: 1, insert: 8, delete: 2, rename: 0 },
  },
  {
    name: 'renames',
    paths: ['/memories/a', '/memories/b', '/memories/c'],
    initial: ['/memories/a', '/memories/b'],
    directories: [],
    commands: 5,
    weights: { ...NO_DIRECTORIES, view: 4, create: 6, str_replace: 1, insert: 6, delete: 1, rename: 7 },
  },
  {
    name: 'clashes',
    paths: ['/memories/d', '/memories/d/x', '/memories/d/y'],
    initial: ['/memories/d/x'],
    directories: ['/memories/d'],
    commands: 5,
    weights: {
      view: 4,
      create: 8,
      str_replace: 0,
      insert: 2,
      delete: 2,
      rename: 0,
      delete_directory: 3,
      rename_directory: 0,
    },
  },
  {
    name: 'directories',
    paths: ['/memories/d/x', '/memories/d/y', '/memories/e/x', '/memories/e/y'],
    directories: ['/memories/d', '/memories/e'],
    initial: ['/memories/d/x', '/memories/d/y'],
    renamed: { command: 'rename', old_path: '/memories/d', new_path: '/memories/e' },
    commands: 4,
    weights: { ...NO_DIRECTORIES, view: 5, create: 2, str_replace: 0, insert: 8, delete: 1, rename: 0 },
  },
];

export function planHistory(seed: string, kind: Kind, history: 'kept' | 'not kept'): Plan {
  const chance = createChance(seed);
  const workload = createWorkload(kind, chance);
  const clients: Command[][] = Array.from({ length: CLIENTS }, () => []);
  for (let at = 0; at < kind.commands; at++) for (const list of clients) list.push(workload.next());
  if (kind.renamed !== undefined) chance.pick(clients).splice(chance.between(0, 2), 1, kind.renamed);
  const { paths, directories } = kind;
  const initial = kind.initial.map(
    (path): Command => ({ command: 'create', path, file_text: `first in ${path}\n` }),
  );
  const restMs = chance.pick([0, 5, 50]);
  const keepsHistory = history === 'kept';
  const name = keepsHistory ? `${seed}${KEPT}` : seed;
  return { name, keepsHistory, paths, directories, initial, clients, restMs };
}
