import { isForTheOperator, type KeyHolder, keyHolderOf, MemoryError } from '../errors.ts';
import { heardLogger } from '../listeners.ts';
import type { LogFields, Logger } from '../logger.ts';
import { isoOf } from '../time.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface JsonLogger extends Logger {
  /** Makes a log whose every line has these fields besides; a function is asked at each line. */
  with(fields: LogFields | (() => LogFields)): JsonLogger;
}

export interface JsonLoggerOptions {
  readonly write: (line: string) => void;
  /** The least level that is written; `info` by default. */
  readonly level?: LogLevel;
  readonly clock?: () => number;
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/**
 * Makes a log of one JSON object a line: time, level, message, and the given fields. The log never adds a path, a text
 * or a key.
 */
export function createJsonLogger({ write, level = 'info', clock = Date.now }: JsonLoggerOptions): JsonLogger {
  const least = LEVELS.indexOf(level);
  const withFields = (common: () => LogFields): JsonLogger => {
    const at =
      (own: LogLevel) =>
      (message: string, fields: LogFields = {}): void => {
        if (LEVELS.indexOf(own) < least) return;
        const time = isoOf(clock());
        write(JSON.stringify({ time, level: own, message, ...common(), ...fields }));
      };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      with: (fields) =>
        withFields(() => ({ ...common(), ...(typeof fields === 'function' ? fields() : fields) })),
    };
  };
  return withFields(() => ({}));
}

/** Wraps a log of the caller's, whose failure changes nothing. */
export function heardJsonLogger(logger: JsonLogger): JsonLogger {
  return { ...heardLogger(logger), with: (fields) => heardJsonLogger(logger.with(fields)) };
}

/** The fields of a line about anything that was thrown. `keyHolder`: the root key that failed is not the operator's. */
export interface ToldFailure {
  readonly code: string;
  readonly keyHolder?: KeyHolder;
}

export function toldFailure(error: unknown): ToldFailure & LogFields {
  const keyHolder = keyHolderOf(error);
  return { code: codeOf(error), ...(keyHolder && { keyHolder }) };
}

function codeOf(error: unknown): string {
  if (!(error instanceof MemoryError)) return 'unexpected';
  // A store's failure may be the cause of the library's error.
  const { cause } = error;
  return cause instanceof MemoryError && isForTheOperator(cause) ? cause.code : error.code;
}
