import { createProgressDisplay, QUIET_MS, type Step } from './progress.ts';
import type { Terminal } from './terminal.ts';

type ReportFields = Readonly<Record<string, unknown>>;

/**
 * The answers of a command on standard output: lines for people or, with `--json`, JSON lines, each an object with an
 * `event`. `entry` is one of what was asked for, `progress` comes once a second and when the words change; the last
 * line is `done`, `failed` or `interrupted`.
 */
export interface Report {
  /** One of many, such as a file of a listing. */
  entry(fields: ReportFields, line: string): Promise<void>;
  /**
   * How far a long command has come: a line of JSON, or on standard error a bar; without a screen a line now and then.
   */
  progress(fields: ReportFields, step: Step): void;
  /**
   * Runs what may take long. When nothing was told for a second the words are shown, or how far it said that it has
   * come: on a screen, or as a line now and then.
   */
  during<T>(words: string, work: () => Promise<T>): Promise<T>;
  done(fields: ReportFields, lines?: readonly string[]): Promise<void>;
  /** Takes the display of progress away, before something else is written to standard error. */
  clear(): void;
  /** Tells programs what cut the command off; people read it on standard error. */
  cutOff(event: 'failed' | 'interrupted', fields: ReportFields): Promise<void>;
}

const PROGRESS_PAUSE_MS = 1_000;
const DISPLAY_PAUSE_MS = 100;

export function createReport(
  terminal: Pick<Terminal, 'out' | 'progressStream' | 'note'>,
  { json, now = () => performance.now() }: { readonly json: boolean; readonly now?: () => number },
): Report {
  const { progressStream: stream, note: tell } = terminal;
  const display = createProgressDisplay({ stream, tell, now });
  const pauseMs = json ? PROGRESS_PAUSE_MS : DISPLAY_PAUSE_MS;
  let last = { at: now(), line: '' };
  const isDue = (step: Step): boolean => {
    const [at, line] = [now(), 'line' in step ? step.line : ''];
    if (last.line === line && at - last.at < pauseMs) return false;
    last = { at, line };
    return true;
  };
  /** The work that is under way, the newest last. */
  const underWay = new Set<{ step: Step }>();
  const newest = (): { step: Step } | undefined => [...underWay].at(-1);
  const toLine = (event: string, fields: ReportFields): string => `${JSON.stringify({ event, ...fields })}\n`;

  return {
    clear: () => display.clear(),
    async entry(fields, line) {
      display.clear();
      last = { at: now(), line: '' };
      await terminal.out(json ? toLine('entry', fields) : `${line}\n`);
    },
    progress(fields, step) {
      const own = json ? undefined : newest();
      if (own !== undefined) own.step = step;
      if (!isDue(step)) return;
      // A closed standard output is reported when the command ends.
      if (json) terminal.out(toLine('progress', fields)).catch(() => {});
      else display.show(step);
    },
    async during(words, work) {
      const own: { step: Step } = { step: { line: `${words} …` } };
      underWay.add(own);
      const timer = setInterval(() => {
        if (newest() === own && now() - last.at >= QUIET_MS) display.show(own.step);
      }, QUIET_MS);
      timer.unref?.();
      try {
        return await work();
      } finally {
        clearInterval(timer);
        underWay.delete(own);
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
