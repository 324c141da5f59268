import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRequest } from '../../../src/cli/serve/exec-jsonl.ts';
import { type Line, splitLines } from '../../../src/cli/serve/lines.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
  }
}

async function split(
  text: string,
  options: { size?: number; max?: number } = {},
): Promise<readonly string[]> {
  const lines: Line[] = [];
  for await (const line of splitLines(inPieces(encode(text), options.size ?? 7), options.max ?? 1000)) {
    lines.push(line);
  }
  return lines.map((line) => (line === 'too_long' ? '<too long>' : new TextDecoder().decode(line)));
}

describe('splitLines', () => {
  it('ends lines at the line feed alone', async () => {
    expect(await split('a\u2028b\u2029c\u0085d\r\ne\u000bf\n')).toEqual([
      'a\u2028b\u2029c\u0085d\r',
      'e\u000bf',
    ]);
  });

  it('takes a last line without a line feed and adds none after one', async () => {
    expect(await split('a\nb')).toEqual(['a', 'b']);
    expect(await split('a\n')).toEqual(['a']);
    expect(await split('')).toEqual([]);
    expect(await split('\n\na')).toEqual(['', '', 'a']);
  });

  it('passes over the rest of a line that is too long, once', async () => {
    for (const size of [1, 2, 5, 100]) {
      expect(await split('12345\n123456\n1234567890123\nab\n123456', { size, max: 5 })).toEqual([
        '12345',
        '<too long>',
        '<too long>',
        'ab',
        '<too long>',
      ]);
    }
  });

  it('keeps nothing of a line that is too long', async () => {
    const MEBIBYTE = 1_048_576;
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (let sent = 0; sent < 512; sent++) {
        yield new Uint8Array(MEBIBYTE).fill(97);
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
    }
    const lines: Line[] = [];
    for await (const line of splitLines(endless(), MEBIBYTE)) lines.push(line);
    expect(lines).toEqual(['too_long']);
    expect(most).toBeLessThan(384 * MEBIBYTE);
  });

  it('finds the same lines however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom('a', '\r', '\u2028', '😀', '\n') })),
        fc.integer({ min: 1, max: 9 }),
        async (parts, size) => {
          const text = parts.join('\n');
          const expected = text.split('\n');
          expect(await split(text, { size })).toEqual(
            expected.at(-1) === '' ? expected.slice(0, -1) : expected,
          );
        },
      ),
    );
  });
});

describe('parseRequest', () => {
  const parse = (text: string) => parseRequest(encode(text));

  it('takes the id out of the input', () => {
    expect(parse('{"id":"a","command":"view","path":"/memories"}')).toEqual({
      kind: 'request',
      id: 'a',
      input: { command: 'view', path: '/memories' },
    });
    expect(parse('{"id":0}')).toEqual({ kind: 'request', id: 0, input: {} });
    expect(parse('{}')).toEqual({ kind: 'request', id: undefined, input: {} });
  });

  it.each(['null', 'true', '[1]', '{}', '9007199254740993', '-9007199254740993', '1e400'])(
    'refuses the id %s, which no answer could carry exactly',
    (id) => {
      expect(parse(`{"id":${id}}`).kind).toBe('refused');
    },
  );

  it('keeps a key named __proto__ an ordinary one', () => {
    const request = parse('{"id":1,"__proto__":{"command":"view"}}');
    expect(request.kind === 'request' && Object.keys(request.input)).toEqual(['__proto__']);
    expect(request).not.toHaveProperty('input.command');
  });

  it.each(['', ' ', '\t \r'])('takes %j for a blank line', (text) => {
    expect(parse(text)).toEqual({ kind: 'blank' });
  });

  it.each([
    'x',
    '{',
    '{}{}',
    '\u00a0',
    '\ufeff{}',
    "{'a':1}",
    '{"a":NaN}',
    'null',
    '"text"',
    '3',
    '[]',
    '[{}]',
  ])('refuses %j', (text) => {
    expect(parse(text).kind).toBe('refused');
  });

  it('refuses bytes that are not UTF-8', () => {
    const line = Uint8Array.from([...encode('{"path":"'), 0xc3, 0x28, ...encode('"}')]);
    expect(parseRequest(line).kind).toBe('refused');
  });

  it('refuses deep nesting without running out of stack', () => {
    expect(parse('['.repeat(1_000_000)).kind).toBe('refused');
    expect(parse('['.repeat(100_000) + ']'.repeat(100_000)).kind).toBe('refused');
  });

  it('survives any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (line) => {
        expect(['blank', 'refused', 'request']).toContain(parseRequest(line).kind);
      }),
    );
  });
});
