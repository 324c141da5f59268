import { isForTheOperator, MemoryError } from '../errors.ts';
import type { LogFields, Logger } from '../logger.ts';

/** Prints warnings and errors, one line each. */
export function createOperatorLogger(print: (line: string) => void): Logger {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      const facts = Object.entries(fields).flatMap(([name, value]) =>
        value === undefined ? [] : [` ${name}=${value}`],
      );
      print(oneLine(`${level}: ${message}${facts.join('')}`));
    };
  return { debug: () => {}, info: () => {}, warn: at('warning'), error: at('error') };
}

/** The line for the operator; absent when the model's own sentence says all there is to say. */
export function operatorLine(error: unknown): string | undefined {
  if (error instanceof MemoryError) {
    return isForTheOperator(error) ? oneLine(`${error.code}: ${error.message}`) : undefined;
  }
  // A defect of ours. Its message may hold anything, so only its kind and place are shown.
  const [name, stack] = error instanceof Error ? [error.name, error.stack] : [typeof error, undefined];
  const place = stack
    ?.split('\n')
    .find((line) => /^\s+at /.test(line))
    ?.trim();
  return oneLine(`unexpected failure: ${[name, place].filter(Boolean).join(' ')}`);
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}
