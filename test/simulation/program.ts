/** The files of a memory: texts by path. */
export type Tree = ReadonlyMap<string, string>;

/**
 * The rest of an operation that may take several instants: at each of them it looks at the tree or changes it. Where
 * several steps are possible any of them may be taken.
 */
export interface Program {
  /** The name of this rest among all rests of the same operation. */
  readonly key: string;
  readonly ended: boolean;
  /** True where it only looks, and can end in one way alone: as soon as a step is possible it may be taken. */
  readonly onlyLooks: boolean;
  steps(tree: Tree): readonly Step[];
}

export interface Step {
  readonly tree: Tree;
  readonly rest: Program;
}

export const END: Program = { key: '.', ended: true, onlyLooks: true, steps: () => [] };

/** Goes on once `holds` is true. */
export function look(key: string, holds: (tree: Tree) => boolean, rest: Program = END): Program {
  return {
    key: `${key};${rest.key}`,
    ended: false,
    onlyLooks: rest.onlyLooks,
    steps: (tree) => (holds(tree) ? [{ tree, rest }] : []),
  };
}

/** Changes the tree in one instant, where `change` can. */
export function write(key: string, change: (tree: Tree) => Tree | undefined, rest: Program = END): Program {
  return {
    key: `${key};${rest.key}`,
    ended: false,
    onlyLooks: false,
    steps(tree) {
      const changed = change(tree);
      return changed === undefined ? [] : [{ tree: changed, rest }];
    },
  };
}

/** Goes on with what `next` makes of the text at `path` at that instant. */
export function read(
  key: string,
  path: string,
  next: (text: string | undefined) => Program | undefined,
): Program {
  return {
    key,
    ended: false,
    onlyLooks: false,
    steps(tree) {
      const rest = next(tree.get(path));
      return rest === undefined ? [] : [{ tree, rest }];
    },
  };
}

/** Goes one of several ways. */
export function either(...ways: readonly Program[]): Program {
  return {
    key: `(${ways.map(({ key }) => key).join('|')})`,
    ended: ways.some(({ ended }) => ended),
    onlyLooks: false,
    steps: (tree) => ways.flatMap((way) => way.steps(tree)),
  };
}

/** Goes through all parts, their steps in any order among each other. */
export function all(parts: readonly Program[], rest: Program = END): Program {
  const left = parts.filter((part) => part !== END);
  if (left.length === 0) return rest;
  return {
    key: `[${left.map(({ key }) => key).join('&')}];${rest.key}`,
    ended: rest.ended && left.every(({ ended }) => ended),
    onlyLooks: rest.onlyLooks && left.every(({ onlyLooks }) => onlyLooks),
    steps: (tree) =>
      left.flatMap((part, at) =>
        part.steps(tree).map((step) => ({
          tree: step.tree,
          rest: all(left.with(at, step.rest), rest),
        })),
      ),
  };
}

export function withFile(tree: Tree, path: string, text: string): Tree {
  return new Map(tree).set(path, text);
}

export function withoutFile(tree: Tree, path: string): Tree {
  const changed = new Map(tree);
  changed.delete(path);
  return changed;
}
