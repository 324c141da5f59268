import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Action } from '../run/invocation.ts';

/** Notes what the command line asks for; it runs once the whole line was understood. */
export type Choose = (action: Action) => void;

export function parseCount(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
}

export function parsePort(text: string): number {
  const port = parseCount(text);
  if (port > 65_535) throw new InvalidArgumentError('A port is at most 65535.');
  return port;
}

/** Adds the options that say where a content comes from. */
export function withSource(command: Command): Command {
  return command
    .addOption(new Option('--text <text>', 'the text itself').conflicts('file'))
    .option('--file <file>', 'a file to read; - or neither option: standard input');
}

/** Reads an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
