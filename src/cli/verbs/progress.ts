import type { WriteStream } from 'node:tty';
import { SingleBar } from 'cli-progress';
import { withoutControls } from './terminal.ts';

/** What a long command is at: so many of so many, or a line of words where nothing can be counted. */
export type Step =
  | { readonly what: string; readonly done: number; readonly total: number }
  | { readonly line: string };

/** Shows steps on one line of a screen, the newest in place of the one before. */
export interface ProgressDisplay {
  show(step: Step): void;
  /** Clears the line, so that what follows stands alone. */
  clear(): void;
}

/** Commands that end sooner show nothing. */
export const QUIET_MS = 1_000;
const CLEAR_LINE = '\r\u001b[K';

/** Without a stream nothing is shown. */
export function createProgressDisplay(
  stream: WriteStream | undefined,
  now: () => number = () => performance.now(),
): ProgressDisplay {
  if (stream === undefined) return { show() {}, clear() {} };
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
        stream.write(`${CLEAR_LINE}${withoutControls(step.line)}`);
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
