import type { Readable } from 'node:stream';

/** The lines of a stream of UTF-8; only a line feed ends one, though JSON may hold other separators as they are. */
export async function* linesOf(stream: Readable): AsyncGenerator<string, void, undefined> {
  let rest = '';
  for await (const part of stream.setEncoding('utf8')) {
    const lines = `${rest}${part}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** A value as one line of ASCII, which every reader of lines takes for one. */
export function lineOf(value: unknown): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, escaped)}\n`;
}
