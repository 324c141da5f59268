import { decodeText } from '../language/text.ts';

const LINE_FEED = 0x0a;

/** One line without its line feed, or `too_long` in place of a line of more than the limit. */
export type Line = Uint8Array | 'too_long';

/**
 * Splits bytes into lines at the line feed alone, the last one with or without it. At most one line of `maxBytes`
 * is buffered; the rest of a longer one is passed over.
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const take = (): Line => {
    const line = length > maxBytes ? 'too_long' : join(parts, length);
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      keep(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }
  if (length > 0) {
    yield take();
  }

  function keep(part: Uint8Array): void {
    length += part.length;
    if (length > maxBytes) {
      parts = [];
    } else if (part.length > 0) {
      parts.push(part);
    }
  }
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) {
    return first;
  }
  const line = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    line.set(part, offset);
    offset += part.length;
  }
  return line;
}

/** A request as it stood on its line; `id` is taken out of the input. */
export type Request =
  | { readonly kind: 'blank' }
  | { readonly kind: 'refused'; readonly sentence: string }
  | {
      readonly kind: 'request';
      readonly id: string | number | undefined;
      readonly input: Readonly<Record<string, unknown>>;
    };

/** Parses one line as strict UTF-8 and JSON. Never throws. */
export function parseRequest(line: Line): Request {
  if (line === 'too_long') {
    return refused('The line is too long.');
  }
  const json = parseJson(line);
  if (json === 'blank') {
    return { kind: 'blank' };
  }
  if (json === undefined) {
    return refused('The line is not JSON in UTF-8.');
  }
  if (!isObject(json.value)) {
    return refused('The line must hold a JSON object.');
  }
  // Rest properties are defined, not assigned: a key named __proto__ stays an ordinary one.
  const { id, ...input } = json.value;
  if (Object.hasOwn(json.value, 'id') && !isId(id)) {
    return refused('"id" must be a string or a number that JSON carries exactly.');
  }
  return { kind: 'request', id: isId(id) ? id : undefined, input };
}

function parseJson(line: Uint8Array): { readonly value: unknown } | 'blank' | undefined {
  try {
    const text = decodeText(line);
    if (text === undefined) return undefined;
    return /^[ \t\r]*$/.test(text) ? 'blank' : { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is string | number {
  return (
    typeof value === 'string' || (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER)
  );
}

function refused(reason: string): Request {
  return { kind: 'refused', sentence: `Error: ${reason}` };
}
