import type { LogFields, Logger } from '../logger.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface JsonLog extends Logger {
  /** The same log with fields that stand in every line of it. */
  with(fields: LogFields): JsonLog;
}

export interface JsonLogOptions {
  readonly write: (line: string) => void;
  /** The least that is written; `info` by default. */
  readonly level?: LogLevel;
  readonly clock?: () => number;
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** One JSON object a line: time, level, message, and the given fields. Never a path, a text or a key. */
export function createJsonLog({ write, level = 'info', clock = Date.now }: JsonLogOptions): JsonLog {
  const least = LEVELS.indexOf(level);
  const withFields = (common: LogFields): JsonLog => {
    const at =
      (own: LogLevel) =>
      (message: string, fields: LogFields = {}): void => {
        if (LEVELS.indexOf(own) < least) return;
        const time = new Date(clock()).toISOString();
        write(JSON.stringify({ time, level: own, message, ...common, ...fields }));
      };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      with: (fields) => withFields({ ...common, ...fields }),
    };
  };
  return withFields({});
}
