import { createProgressDisplay, QUIET_MS, type Step } from './progress.ts';
import type { Terminal } from './terminal.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What a command says on standard output: lines for people or, with `--json`, JSON lines, each an object with an
 * `event`. `entry` is one of what was asked for, `progress` comes once a second and when the words change; the last line
 * is `done`, `failed` or `interrupted`.
 */
export interface Report {
  /** One of many, such as a file of a listing. */
  entry(fields: Fields, line: string): Promise<void>;
  /** How far a long command has come: a line of JSON, or a display on standard error. */
  progress(fields: Fields, step: Step): void;
  /** Runs what cannot tell how far it is; should it take long, the words are shown on a screen meanwhile. */
  during<T>(words: string, work: () => Promise<T>): Promise<T>;
  done(fields: Fields, lines?: readonly string[]): Promise<void>;
  /** Takes the display of progress away, before something else is written to standard error. */
  clear(): void;
  /** Tells programs what cut the command off; people read it on standard error. */
  cutOff(event: 'failed' | 'interrupted', fields: Fields): Promise<void>;
}

const PROGRESS_PAUSE_MS = 1_000;
const DISPLAY_PAUSE_MS = 100;

export function createReport(
  terminal: Pick<Terminal, 'out' | 'progressStream'>,
  { json, now = () => performance.now() }: { readonly json: boolean; readonly now?: () => number },
): Report {
  const display = createProgressDisplay(terminal.progressStream, now);
  const pauseMs = json ? PROGRESS_PAUSE_MS : DISPLAY_PAUSE_MS;
  let last = { at: now(), line: '' };
  const isDue = (step: Step): boolean => {
    const [at, line] = [now(), 'line' in step ? step.line : ''];
    if (last.line === line && at - last.at < pauseMs) return false;
    last = { at, line };
    return true;
  };
  const toLine = (event: string, fields: Fields): string => `${JSON.stringify({ event, ...fields })}\n`;

  return {
    clear: () => display.clear(),
    async entry(fields, line) {
      display.clear();
      await terminal.out(json ? toLine('entry', fields) : `${line}\n`);
    },
    progress(fields, step) {
      if (!isDue(step)) return;
      // A closed standard output is reported when the command ends.
      if (json) terminal.out(toLine('progress', fields)).catch(() => {});
      else display.show(step);
    },
    async during(words, work) {
      const before = last;
      const timer = setTimeout(() => last === before && display.show({ line: `${words} …` }), QUIET_MS);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        display.clear();
      }
    },
    async done(fields, lines = []) {
      display.clear();
      const text = lines.map((line) => `${line}\n`).join('');
      if (json || text !== '') await terminal.out(json ? toLine('done', fields) : text);
    },
    async cutOff(event, fields) {
      display.clear();
      // The reason for the interruption matters more than a closed standard output.
      if (json) await terminal.out(toLine(event, fields)).catch(() => {});
    },
  };
}

/** `1 file`, `2 files`; words that take more than an s bring their plural. */
export function counted(count: number, what: string, several = `${what}s`): string {
  return `${count} ${count === 1 ? what : several}`;
}
