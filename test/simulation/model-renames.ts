import {
  type Answer,
  aboveOf,
  absent,
  anyOf,
  belowOf,
  choose,
  failed,
  isBelow,
  nothingAt,
  type Of,
  reasonOf,
  type Touch,
  verified,
} from './answer.ts';
import { type Ending, moveOfFile } from './model-moves.ts';
import { all, END, either, look, type Program } from './program.ts';

/** Makes the program of all that a rename may have done. */
export function rename(command: Of<'rename'>, answer: Answer): Program {
  const { old_path: from, new_path: to } = command;
  const { code, result, paths } = answer;
  const below = belowOf(from, paths);
  const targetOf = (path: string): string => to + path.slice(from.length);
  const touches = (path: string): Touch => anyTouch(answer.touches(path), answer.touches(targetOf(path)));
  // A file that lies above both places lay above the source already, left by a process that died: no rename asks for
  // it.
  const asked = paths.filter((path) => !(isBelow(from, path) && isBelow(to, path)));
  const file = (...endings: Ending[]): Program =>
    moveOfFile({ from, to, endings, ...(code === 'ok' && { verified: verified(to, asked) }) });
  const moved = (path: string, endings: readonly Ending[]): Program =>
    moveOfFile({ from: path, to: targetOf(path), endings, repeats: true });
  const directory = (...endings: Ending[]): Program =>
    all(
      below.map((path) =>
        choose(touches(path), {
          yes: () => moved(path, endings),
          no: () => absent(path),
        }),
      ),
    );
  // If something was copied and taken back, a file that was not copied is where it was.
  const copiesAny = below.some((path) => touches(path) !== 'no');
  const takenBack = (...endings: Ending[]): Program =>
    all(
      below.map((path) =>
        choose(touches(path), {
          yes: () => moved(path, endings),
          no: () => (copiesAny ? END : absent(path)),
        }),
      ),
    );
  const takenBackAgain = all(
    [from, ...below].map((path) =>
      choose(touches(path), { yes: () => moved(path, ['undone', 'gone']), no: () => END }),
    ),
  );
  const source = look('source', (tree) => [from, ...below].some((path) => tree.has(path)));
  switch (code) {
    case 'ok':
      return choose(touches(from), {
        yes: () => file('moved'),
        no: () => all([directory('moved', 'gone', 'copy_kept', 'undone'), source]),
      });
    case 'outcome_unknown':
      return choose(touchesFile(command, answer), { yes: () => file(...ANY_ENDING), no: eitherEnd });
    case 'not_found':
      return takenBackAgain === END ? nothingAt(from, paths) : either(nothingAt(from, paths), takenBackAgain);
    case 'already_exists':
    case 'is_directory': {
      const target = [
        ...(reasonOf(result) === 'below_file' ? [] : belowOf(to, paths)),
        to,
        ...aboveOf(to, paths),
      ];
      return all([source, from === to ? END : anyOf('target', target), takenBackAgain]);
    }
    case 'version_conflict':
      return choose(touches(from), {
        yes: () => file('kept', 'undone'),
        // A file that would lie below another one at its new place stays where it is.
        no: () =>
          either(directory('moved', 'kept', 'gone', 'undone'), takenBack('undone', 'gone', 'built_on')),
      });
    case 'invalid_command':
      return source;
    default:
      return all([failed(code), takenBackAgain]);
  }

  /**
   * Makes the program by which this process or another one brings the rename to one of its ends, whatever was there
   * when it was left.
   */
  function eitherEnd(): Program {
    const copied = below.filter((path) => answer.touched.has(targetOf(path)));
    const wholly = (...endings: Ending[]): Program =>
      all(
        copied.map((path) =>
          either(...(endings.includes('moved') ? [absent(path)] : [END]), moved(path, endings)),
        ),
      );
    return either(wholly('moved', 'gone', 'kept', 'copy_kept'), wholly('undone', 'gone', 'built_on'));
  }
}

/** Tells whether the rename moved a file, if it moved anything. */
export function touchesFile(command: Of<'rename'>, { paths, touches }: Answer): Touch {
  if (belowOf(command.old_path, paths).length === 0) return 'yes';
  return anyTouch(touches(command.old_path), touches(command.new_path));
}

const ANY_ENDING: readonly Ending[] = ['moved', 'undone', 'gone', 'kept', 'copy_kept'];

function anyTouch(...touches: readonly Touch[]): Touch {
  if (touches.includes('yes')) return 'yes';
  return touches.includes('maybe') ? 'maybe' : 'no';
}
