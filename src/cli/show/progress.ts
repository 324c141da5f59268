import type { WriteStream } from 'node:tty';
import { SingleBar } from 'cli-progress';
import { seenOnScreen } from './terminal.ts';

/** The step that a long command is at: a number done of a total, or a line of words where nothing can be counted. */
export type Step =
  | { readonly what: string; readonly done: number; readonly total: number }
  | { readonly line: string };

/** Shows steps on one line of a screen, the newest in place of the one before. */
interface ProgressDisplay {
  show(step: Step): void;
  /** Clears the line, so that what follows stands alone. */
  clear(): void;
}

/** Commands that end sooner show nothing. */
export const QUIET_MS = 1_000;
/**
 * The times, in milliseconds, after which a line is told without a screen: the first, and each of those that follow.
 */
const FIRST_LINE_MS = 5_000;
const LINES_MS = 10_000;
const CLEAR_LINE = '\r\u001b[K';

interface DisplayOptions {
  /** The screen; undefined where there is none. */
  readonly stream: WriteStream | undefined;
  /** Takes a line where there is no screen. */
  readonly tell: (line: string) => void;
  readonly now: () => number;
}

export function createProgressDisplay({ stream, tell, now }: DisplayOptions): ProgressDisplay {
  return stream === undefined ? lineDisplay(tell, now) : screenDisplay(stream, now);
}

/** Makes the display for a log, or a person who looks at one: now and then a line of its own. */
function lineDisplay(tell: (line: string) => void, now: () => number): ProgressDisplay {
  let nextAt = now() + FIRST_LINE_MS;
  return {
    show(step) {
      if (now() < nextAt) return;
      nextAt = now() + LINES_MS;
      tell('line' in step ? step.line : `${step.done} of ${step.total} ${step.what}`);
    },
    clear() {},
  };
}

function screenDisplay(stream: WriteStream, now: () => number): ProgressDisplay {
  const startedAt = now();
  let shown: 'nothing' | 'line' | SingleBar = 'nothing';

  const clear = (): void => {
    if (typeof shown === 'object') shown.stop();
    else if (shown === 'line') stream.write(CLEAR_LINE);
    shown = 'nothing';
  };
  return {
    show(step) {
      if (now() - startedAt < QUIET_MS) return;
      if ('line' in step) {
        clear();
        stream.write(`${CLEAR_LINE}${seenOnScreen(step.line)}`);
        shown = 'line';
        return;
      }
      const { what, done, total } = step;
      if (typeof shown !== 'object') {
        clear();
        shown = new SingleBar({ stream, format: '{bar} {value} of {total} {what}', clearOnComplete: true });
        shown.start(total, done, { what });
      } else {
        shown.setTotal(total);
        shown.update(done, { what });
      }
    },
    clear,
  };
}
