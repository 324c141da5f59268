import type { Chance } from './chance.ts';
import type { Command } from './history.ts';

/** The files and commands of a simulation. */
export interface Theme {
  readonly name:
    | 'one file'
    | 'files'
    | 'clashes'
    | 'edited clashes'
    | 'directories'
    | 'moving directories'
    | 'contested directories'
    | 'clashing directories'
    | 'busy readers'
    | 'changing keys'
    | 'edits under changing keys';
  readonly paths: readonly string[];
  readonly directories: readonly string[];
  /** Every process looks through the whole tree again and again beside its commands, several times at once. */
  readonly verifies?: true;
  /** Operators rotate, migrate, repair and bury beside the commands. */
  readonly operated?: true;
  readonly weights: Readonly<Record<Command['command'] | 'delete_directory' | 'rename_directory', number>>;
}

const FILES_ONLY = { delete_directory: 0, rename_directory: 0 };

export const THEMES: readonly Theme[] = [
  {
    name: 'one file',
    paths: ['/memories/a'],
    directories: [],
    weights: { ...FILES_ONLY, view: 2, create: 3, str_replace: 2, insert: 5, delete: 2, rename: 0 },
  },
  {
    name: 'files',
    paths: ['/memories/a', '/memories/b', '/memories/c'],
    directories: ['/memories'],
    weights: { ...FILES_ONLY, view: 2, create: 3, str_replace: 1, insert: 4, delete: 2, rename: 6 },
  },
  {
    name: 'clashes',
    paths: ['/memories/a', '/memories/d', '/memories/d/x', '/memories/d/x/z'],
    directories: ['/memories/d'],
    weights: { ...FILES_ONLY, view: 1, create: 6, str_replace: 0, insert: 2, delete: 3, rename: 4 },
  },
  // A file that was created above or below another one is edited and renamed before it is taken back.
  {
    name: 'edited clashes',
    paths: ['/memories/d', '/memories/d/x', '/memories/b'],
    directories: ['/memories/d'],
    weights: { ...FILES_ONLY, view: 1, create: 7, str_replace: 0, insert: 9, delete: 3, rename: 3 },
  },
  {
    name: 'directories',
    paths: ['/memories/d/x', '/memories/d/y', '/memories/d/s/z', '/memories/e/x'],
    directories: ['/memories/d', '/memories/e'],
    weights: {
      view: 1,
      create: 4,
      str_replace: 1,
      insert: 3,
      delete: 1,
      rename: 2,
      delete_directory: 4,
      rename_directory: 0,
    },
  },
  {
    name: 'moving directories',
    paths: ['/memories/d/x', '/memories/d/y', '/memories/d/s/z', '/memories/e/x', '/memories/f/w'],
    directories: ['/memories/d', '/memories/e', '/memories/f'],
    weights: {
      view: 1,
      create: 3,
      str_replace: 1,
      insert: 3,
      delete: 1,
      rename: 1,
      delete_directory: 1,
      rename_directory: 5,
    },
  },
  // Renames of directories whose targets others take meanwhile: they are taken back.
  {
    name: 'contested directories',
    paths: ['/memories/d/x', '/memories/d/y', '/memories/e', '/memories/e/x', '/memories/e/z'],
    directories: ['/memories/d', '/memories/e'],
    weights: {
      view: 0,
      create: 7,
      str_replace: 0,
      insert: 2,
      delete: 3,
      rename: 1,
      delete_directory: 1,
      rename_directory: 6,
    },
  },
  // Files are created above and below others while the directory is renamed that holds them.
  {
    name: 'clashing directories',
    paths: ['/memories/d/x', '/memories/d/x/z', '/memories/d/y', '/memories/e/x', '/memories/e/x/z'],
    directories: ['/memories/d', '/memories/e'],
    weights: {
      view: 2,
      create: 8,
      str_replace: 0,
      insert: 0,
      delete: 3,
      rename: 1,
      delete_directory: 1,
      rename_directory: 6,
    },
  },
  {
    name: 'busy readers',
    paths: ['/memories/a', '/memories/d/x', '/memories/d/y'],
    directories: ['/memories/d', '/memories/e'],
    verifies: true,
    weights: {
      view: 12,
      create: 2,
      str_replace: 1,
      insert: 5,
      delete: 1,
      rename: 1,
      delete_directory: 0,
      rename_directory: 1,
    },
  },
  {
    name: 'changing keys',
    paths: ['/memories/a', '/memories/d', '/memories/d/x', '/memories/d/s/z'],
    directories: ['/memories/d', '/memories/e'],
    operated: true,
    weights: {
      view: 1,
      create: 5,
      str_replace: 0,
      insert: 2,
      delete: 3,
      rename: 5,
      delete_directory: 1,
      rename_directory: 2,
    },
  },
];

/** Further ones, which no seed draws by itself. */
export const NAMED_THEMES: readonly Theme[] = [
  ...THEMES,
  // An edit whose answer comes late is sealed anew, while others read and replace what it wrote.
  {
    name: 'edits under changing keys',
    paths: ['/memories/a'],
    directories: [],
    operated: true,
    weights: { ...FILES_ONLY, view: 3, create: 2, str_replace: 1, insert: 9, delete: 1, rename: 0 },
  },
];

export interface Workload {
  /** The files that are there before the processes begin. */
  readonly initial: readonly Command[];
  readonly verifies: boolean;
  readonly operated: boolean;
  next(): Command;
}

/**
 * Makes a workload. Every text that is written holds a token that occurs nowhere else, so that no two writes look
 * alike.
 */
export function createWorkload(theme: Omit<Theme, 'name'>, chance: Chance): Workload {
  let tokens = 0;
  const token = (): string => `t${++tokens}.`;
  const old = (): string => `t${chance.between(Math.max(1, tokens - 5), Math.max(1, tokens))}.`;
  const lottery = Object.entries(theme.weights).flatMap(([kind, weight]) =>
    Array.from({ length: weight }, () => kind as keyof Theme['weights']),
  );
  const create = (path: string): Command => ({ command: 'create', path, file_text: `${token()}\n` });
  const renamed = (from: string, targets: readonly string[]): Command => ({
    command: 'rename',
    old_path: from,
    new_path: chance.pick(targets.filter((target) => target !== from)),
  });

  return {
    initial: theme.paths.filter(() => chance.happens(0.5)).map(create),
    verifies: theme.verifies ?? false,
    operated: theme.operated ?? false,
    next() {
      const path = chance.pick(theme.paths);
      switch (chance.pick(lottery)) {
        case 'view':
          return { command: 'view', path: chance.pick([...theme.paths, ...theme.directories]) };
        case 'create':
          return create(path);
        case 'str_replace':
          return { command: 'str_replace', path, old_str: old(), new_str: token() };
        case 'insert':
          return { command: 'insert', path, insert_line: 0, insert_text: token() };
        case 'delete':
          return { command: 'delete', path };
        case 'rename':
          return renamed(path, theme.paths);
        case 'delete_directory':
          return { command: 'delete', path: chance.pick(theme.directories) };
        case 'rename_directory':
          return renamed(chance.pick(theme.directories), theme.directories);
      }
    },
  };
}
