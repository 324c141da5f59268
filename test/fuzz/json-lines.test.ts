import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { execJsonLines, parseRequest } from '../../src/cli/serve/exec-jsonl.ts';
import { type Line, splitLines } from '../../src/cli/serve/lines.ts';
import { fuzz, verdictOf } from './fuzz.ts';
import { mutations } from './mutation.ts';

const MAX_LINE = 120;
const LINES = [
  '{"command":"view","path":"/memories"}',
  '{"id":1,"command":"create","path":"/memories/a","file_text":"x\\n\\u2028"}',
  '{"id":"b","__proto__":{"command":"view"},"constructor":1}',
  '{"id":9007199254740993}',
  '{"id":null}',
  '[1,2]',
  '"text"',
  ' \t\r',
  '',
  '{"id":1e400,"a":{"b":[[[[]]]]}}',
  '\ufeff{}',
  'x'.repeat(MAX_LINE),
  'x'.repeat(MAX_LINE + 1),
];
const bases = [
  LINES.join('\n'),
  `${LINES.join('\n')}\n`,
  ...LINES,
  '[['.repeat(500),
  '{"a":'.repeat(500),
].map((text) => new TextEncoder().encode(text));
const streams = mutations(bases);
const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 6 });

async function* inPieces(bytes: Uint8Array, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const end = start + (lengths[turn % lengths.length] ?? 1);
    yield bytes.subarray(start, end);
    start = end;
  }
}

async function linesOf(bytes: Uint8Array, lengths: readonly number[]): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for await (const line of splitLines(inPieces(bytes, lengths), MAX_LINE)) lines.push(line);
  return lines;
}

/** The same by another way: all at once. */
function linesAtOnce(bytes: Uint8Array): readonly string[] {
  const lines = Buffer.from(bytes).toString('latin1').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => (line.length > MAX_LINE ? 'too_long' : line));
}

describe('lines', () => {
  fuzz('are the same however the bytes come in', {
    runs: 1_500,
    inputs: [streams, sizes],
    async check(bytes, lengths) {
      const lines = await linesOf(bytes, lengths);
      const texts = lines.map((line) => (line === 'too_long' ? line : Buffer.from(line).toString('latin1')));
      expect(texts).toEqual(linesAtOnce(bytes));
    },
  });

  fuzz('are requests, blank or refused, each by itself', {
    runs: 5_000,
    inputs: [streams],
    check(line) {
      const verdict = verdictOf(() => parseRequest(line));
      if ('code' in verdict) throw new Error('it must not throw');
      const request = verdict.value;
      if (request.kind !== 'request') return;
      const { id, ...rest } = JSON.parse(new TextDecoder().decode(line)) as Readonly<Record<string, unknown>>;
      expect(request.id).toBe(id);
      expect(request.input).toEqual(rest);
      expect(Object.getPrototypeOf(request.input)).toBe(Object.prototype);
    },
  });

  fuzz('are answered with one line each, under their ids', {
    runs: 500,
    inputs: [streams, sizes],
    async check(bytes, lengths) {
      const written: string[] = [];
      await execJsonLines({
        input: inPieces(bytes, lengths),
        maxLineBytes: MAX_LINE,
        execute: async (input) => ({ isError: false, content: JSON.stringify(input) }),
        write: async (line) => void written.push(line),
        onThrown: (error) => {
          throw error;
        },
      });
      const requests = (await linesOf(bytes, lengths))
        .map(parseRequest)
        .filter(({ kind }) => kind !== 'blank');
      const answers = written.map(
        (line) => JSON.parse(line) as { readonly id?: unknown; readonly ok: boolean },
      );
      expect(written.every((line) => /^[^\n\u0085\u2028\u2029]+\n$/.test(line))).toBe(true);
      expect(answers).toHaveLength(requests.length);
      const ids = requests.map((request) => (request.kind === 'request' ? request.id : undefined));
      expect(answers.map(({ id }) => String(id)).sort()).toEqual(ids.map(String).sort());
      expect(answers.filter(({ ok }) => !ok)).toHaveLength(
        requests.filter(({ kind }) => kind === 'refused').length,
      );
    },
  });
});
