import { expect, it } from 'vitest';
import { readAll } from '../../../../src/cli/run/source.ts';
import { type Line, splitLines } from '../../../../src/cli/serve/lines.ts';
import { sameBytes } from '../../../../src/format/encoding.ts';

/** More pieces than a call can have arguments. */
const PIECES = 200_000;
const WHOLE = Uint8Array.from({ length: PIECES }, (_, index) => (index % 100) + 32);

/** The bytes one by one, as a slow writer sends them. */
async function* oneByOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (const byte of bytes) yield Uint8Array.of(byte);
}

it('a line is taken byte by byte, however long it is, and so are those behind it', async () => {
  const lines: unknown[] = [];
  const sent = new Uint8Array([...WHOLE, 10, ...WHOLE, 10, 65]);
  for await (const line of splitLines(oneByOne(sent), PIECES)) lines.push(line);
  expect(lines.map((line) => line instanceof Uint8Array && line.length)).toEqual([PIECES, PIECES, 1]);
  expect(sameBytes(lines[1] as Uint8Array, WHOLE)).toBe(true);
});

it('a line that is too long is passed over byte by byte, and the next one is taken', async () => {
  const lines: unknown[] = [];
  const sent = new Uint8Array([...WHOLE, 10, 65, 10]);
  for await (const line of splitLines(oneByOne(sent), PIECES - 1)) lines.push(line);
  expect(lines).toEqual(['too_long', Uint8Array.of(65)]);
});

it('nothing is kept of a line that is too long', async () => {
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

it('what stdin holds is read byte by byte, however much it is', async () => {
  expect(sameBytes(await readAll(oneByOne(WHOLE)), WHOLE)).toBe(true);
});
