import type { Terminal } from './terminal.ts';

export type EventFields = Readonly<Record<string, unknown>>;

/**
 * What a long command says: readable lines on a screen, and otherwise JSON lines, each an object with an `event`:
 * `progress` once a second and when a new stage begins, `done` at the end, `failed` or `interrupted` instead of it.
 */
export interface EventLines {
  progress(fields: EventFields, shown: { readonly line: string; readonly stage: string }): void;
  done(fields: EventFields, lines: readonly string[]): Promise<void>;
  /** What cut the command off is explained on standard error; this tells programs. */
  cutOff(event: 'failed' | 'interrupted', fields: EventFields): Promise<void>;
}

const PROGRESS_PAUSE_MS = 1_000;
const STATUS_PAUSE_MS = 100;

export function createEventLines(
  terminal: Terminal,
  { json, now = () => performance.now() }: { readonly json: boolean; readonly now?: () => number },
): EventLines {
  const isJson = json || !terminal.isForEyes;
  const pauseMs = isJson ? PROGRESS_PAUSE_MS : STATUS_PAUSE_MS;
  let last: { readonly at: number; readonly stage: string } | undefined;
  const isDue = (stage: string): boolean => {
    const at = now();
    if (last?.stage === stage && at - last.at < pauseMs) return false;
    last = { at, stage };
    return true;
  };
  const toLine = (event: string, fields: EventFields): string => `${JSON.stringify({ event, ...fields })}\n`;

  return {
    progress(fields, { line, stage }) {
      if (!isDue(stage)) return;
      // That nobody reads any more shows at the end.
      if (isJson) terminal.out(toLine('progress', fields)).catch(() => {});
      else terminal.status(line);
    },
    async done(fields, lines) {
      terminal.status('');
      await terminal.out(isJson ? toLine('done', fields) : `${lines.join('\n')}\n`);
    },
    async cutOff(event, fields) {
      terminal.status('');
      // Where nobody reads any more, why the command was cut off still counts more.
      if (isJson) await terminal.out(toLine(event, fields)).catch(() => {});
    },
  };
}
