import {
  type Answer,
  aboveOf,
  absent,
  anyOf,
  belowOf,
  choose,
  failed,
  ImpossibleAnswer,
  isBelow,
  nothingAt,
  type Of,
  reasonOf,
  type Touch,
  verified,
} from './answer.ts';
import type { Command, Landing, Operation } from './history.ts';
import { takenBack } from './model-moves.ts';
import { rename, touchesFile } from './model-renames.ts';
import { all, END, either, look, type Program, withFile, withoutFile, write } from './program.ts';
import { readView } from './views.ts';

/** The steps that an operation may have taken, by its answer. */
export interface Explanation {
  readonly program: Program;
  /** True where no answer says whether it was carried out: it may have stopped at any step. */
  readonly mayStop: boolean;
}

export interface Surroundings {
  readonly paths: readonly string[];
  readonly others: readonly Unfinished[];
  /** The paths at which anything was changed in the whole simulation. */
  readonly touched: ReadonlySet<string>;
  readonly landed: readonly Landing[];
}

export interface Unfinished {
  readonly from: string;
  readonly to: string;
}

/**
 * Explains an operation by the sequential model of the six commands, spread out in time where the design promises no
 * single instant: a rename is a copy and a delete, a command on a directory is one on each of its files, a refused
 * create may have been there for a moment. `paths` are all paths at which files could ever be; `others` the renames of
 * directories that any process may have finished on the side.
 */
export function explain(operation: Operation, { paths, others, touched }: Surroundings): Explanation {
  const { command, result } = operation;
  const code = result === undefined ? 'outcome_unknown' : result.ok ? 'ok' : result.code;
  const mayStop = code === 'outcome_unknown';
  const landed = new Set(operation.landed.map(({ path }) => path));
  const touches = (path: string): Touch => {
    if (!landed.has(path)) return 'no';
    return others.some(({ from, to }) => [from, to].some((end) => isBelow(path, end))) ? 'maybe' : 'yes';
  };
  const isIdle = !operation.wrote && command.command === 'rename';
  if (mayStop && isIdle) return { mayStop, program: END };
  const answer: Answer = { code, result, paths, touched, touches };
  // A rename of a directory that was left is brought to an end by the next process.
  const isFinished = command.command === 'rename' && touchesFile(command, answer) === 'no';
  return { mayStop: mayStop && !isFinished, program: programOf(command, answer) };
}

function programOf(command: Command, answer: Answer): Program {
  switch (command.command) {
    case 'view':
      return view(command, answer);
    case 'create':
      return create(command, answer);
    case 'str_replace':
    case 'insert':
      return edit(command, answer);
    case 'delete':
      return remove(command, answer);
    case 'rename':
      return rename(command, answer);
  }
}

function view({ path }: Of<'view'>, { code, result, paths }: Answer): Program {
  if (result?.ok) {
    const shown = readView(result.content);
    if (shown.kind === 'file') return look(`${path} reads`, (tree) => tree.get(path) === shown.text);
    const strange = [...shown.sizes.keys()].find((listed) => !paths.includes(listed));
    if (strange !== undefined)
      throw new ImpossibleAnswer(`${strange} is listed, where no writer ever put a file`);
    return all(
      paths
        .filter((below) => isBelow(below, path) && below.slice(path.length + 1).split('/').length <= 2)
        .map((below) =>
          look(`${below} listed`, (tree) => tree.get(below)?.length === shown.sizes.get(below)),
        ),
    );
  }
  if (code === 'not_found') return nothingAt(path, paths);
  return failed(code);
}

function create({ path, file_text: text }: Of<'create'>, answer: Answer): Program {
  const { code, result, paths } = answer;
  const touch = answer.touches(path);
  const written = (rest: Program): Program =>
    write('create', (tree) => (tree.has(path) ? undefined : withFile(tree, path, text)), rest);
  const refused = (clash: Program): Program => either(clash, written(all([clash], takenBack(path, text))));
  switch (code) {
    case 'ok':
      return written(verified(path, paths)(text));
    case 'outcome_unknown':
      return choose(touch, { yes: () => written(takenBack(path, text)), no: () => END });
    case 'is_directory':
      return refused(anyOf('below', belowOf(path, paths)));
    case 'already_exists':
      if (reasonOf(result) === 'below_file') return refused(anyOf('above', aboveOf(path, paths)));
      return look('exists', (tree) => tree.has(path));
    default:
      return refused(failed(code));
  }
}

function edit(command: Of<'insert'> | Of<'str_replace'>, { code }: Answer): Program {
  const { path } = command;
  switch (code) {
    case 'ok':
    case 'outcome_unknown':
      return write('edit', (tree) => {
        const edited = edits(command, tree.get(path));
        return edited === undefined ? undefined : withFile(tree, path, edited);
      });
    case 'not_found':
      return absent(path);
    case 'no_match':
      return look('no match', (tree) => tree.has(path) && edits(command, tree.get(path)) === undefined);
    case 'version_conflict':
      return END;
    default:
      return failed(code);
  }
}

/** Makes the text after the edit; undefined where the edit cannot be made. Texts of simulations end in a newline. */
function edits(command: Of<'insert'> | Of<'str_replace'>, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (command.command === 'insert') return `${command.insert_text}\n${text}`;
  const parts = text.split(command.old_str);
  return parts.length === 2 ? parts.join(command.new_str) : undefined;
}

function remove({ path }: Of<'delete'>, { code, paths, touches }: Answer): Program {
  const removed = (at: string): Program =>
    write(`delete ${at}`, (tree) => (tree.has(at) ? withoutFile(tree, at) : undefined));
  const below = belowOf(path, paths);
  // Each file of a directory goes at an instant of its own, if it is there then.
  const each = below.map((at) => choose(touches(at), { yes: () => removed(at), no: () => absent(at) }));
  const noFile = absent(path);
  switch (code) {
    case 'ok':
      return choose(touches(path), {
        yes: () => removed(path),
        no: () => all([noFile, anyOf('below', below), ...each]),
      });
    case 'outcome_unknown':
      return all([path, ...below].filter((at) => touches(at) !== 'no').map(removed));
    case 'not_found':
      return nothingAt(path, paths);
    default:
      return failed(code);
  }
}
