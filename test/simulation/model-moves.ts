import {
  all,
  END,
  either,
  look,
  type Program,
  read,
  type Tree,
  withFile,
  withoutFile,
  write,
} from './program.ts';

/**
 * The possible ends of the move of one file. `moved`: it lies at the target alone. `undone`: the copy was taken back.
 * `gone`: another process removed the source meanwhile, and the copy was taken back. `kept`: both places changed, so
 * neither was touched. `copy_kept`: the source was removed by an unknown hand, and the copy stays. `built_on`: the copy
 * was to be taken back, but another process had changed it, so it stays beside the source.
 */
export type Ending = 'moved' | 'undone' | 'gone' | 'kept' | 'copy_kept' | 'built_on';

export interface MoveOfFile {
  readonly from: string;
  readonly to: string;
  readonly endings: readonly Ending[];
  /** It may be moved again when it comes back, and copied again when its copy is removed, as part of a directory. */
  readonly repeats?: boolean;
  /** Makes the look between the copy and the delete, for the text of the copy. */
  readonly verified?: (text: string) => Program;
}

/**
 * Makes the move of one file: copy, look, delete, each in an instant of its own; the copy is renewed while the source
 * changes.
 */
export function moveOfFile(move: MoveOfFile): Program {
  const { from, to, endings, repeats = false, verified } = move;
  const may = (ending: Ending): boolean => endings.includes(ending);

  const kind = `${from} ${endings.join('/')}`;

  const begin = read(`begin ${kind}`, from, (text) => (text === undefined ? undefined : have(text)));

  const have = (text: string): Program => {
    const after = copied(text);
    const rest = verified === undefined ? after : all([verified(text)], after);
    return write(
      `copy ${kind} ${text}`,
      (tree) => (tree.has(to) ? undefined : withFile(tree, to, text)),
      rest.key === after.key ? after : either(rest, ...backwards(text)),
    );
  };

  const backwards = (text: string): readonly Program[] => [
    ...(may('undone') ? [takenBack(to, text)] : []),
    ...(may('gone') ? [look('gone', (tree) => !tree.has(from), takenBack(to, text))] : []),
    ...(may('copy_kept') ? [look('gone', (tree) => !tree.has(from))] : []),
    ...(may('built_on') ? [look('built on', (tree) => tree.has(to) && tree.get(to) !== text)] : []),
    ...(may('kept') ? [all([differs(from, text), differs(to, text)])] : []),
  ];

  const copied = (text: string): Program =>
    lazily(`copied ${kind} ${text}`, () =>
      either(
        ...(may('moved')
          ? [write('drop', (tree) => dropped(tree, from, text), repeats ? either(END, begin) : END)]
          : []),
        read('again', from, (newer) =>
          newer === undefined || newer === text ? undefined : renew(text, newer),
        ),
        ...(repeats ? [look('copy gone', (tree) => !tree.has(to), begin)] : []),
        ...backwards(text),
      ),
    );

  const renew = (older: string, newer: string): Program =>
    write(
      `renew ${kind} ${older} ${newer}`,
      (tree) => (tree.get(to) === older ? withFile(tree, to, newer) : undefined),
      copied(newer),
    );

  return begin;
}

/** Takes the write of `text` at `path` back, unless another process has removed it already. */
export function takenBack(path: string, text: string): Program {
  return either(
    write(`undo ${path}`, (tree) => dropped(tree, path, text)),
    look(`none ${path}`, (tree) => !tree.has(path)),
  );
}

function differs(path: string, text: string): Program {
  return look(`${path} differs`, (tree) => tree.get(path) !== text);
}

function dropped(tree: Tree, path: string, text: string): Tree | undefined {
  return tree.get(path) === text ? withoutFile(tree, path) : undefined;
}

/** Makes a program only when it is reached, so that it may lead back to itself. */
function lazily(key: string, make: () => Program): Program {
  return { key, ended: false, onlyLooks: false, steps: (tree) => make().steps(tree) };
}
