/** Facts beside a log line: counts, codes, command names. Never a path, a text or a key. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** The operator's log. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}
