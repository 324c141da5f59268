import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createNames } from '../../../src/format/names.ts';
import { loadSodium } from '../../../src/format/sodium.ts';

const counted = vi.hoisted(() => ({ hashes: 0 }));
vi.mock('../../../src/format/sodium.ts', async (load) => {
  const real = await load<typeof import('../../../src/format/sodium.ts')>();
  return {
    ...real,
    hash(...input: Parameters<typeof real.hash>) {
      counted.hashes += 1;
      return real.hash(...input);
    },
  };
});

beforeAll(loadSodium);

/** A directory's tweak is one hash; the text of a short name, or the way back, is two. */
const [TWEAK, TEXT] = [1, 2];

describe('the hashes that encrypted names cost', () => {
  const open = () => createNames({ mode: 'encrypted', nameKey: new Uint8Array(32).fill(4) });
  let names: ReturnType<typeof open>;
  beforeEach(() => {
    names = open();
  });
  const cost = (work: () => unknown): number => {
    counted.hashes = 0;
    work();
    return counted.hashes;
  };

  it('to encode a path are those of its names and directories once, and none the next time', () => {
    expect(cost(() => names.encodeFile(['a', 'b', 'c']))).toBe(3 * TEXT + 2 * TWEAK);
    expect(cost(() => names.encodeFile(['a', 'b', 'c']))).toBe(0);
    expect(cost(() => names.encodeDirectory(['a', 'b', 'c']))).toBe(0);
    expect(cost(() => names.encodeFile(['a', 'b', 'd']))).toBe(TEXT);
    expect(cost(() => names.encodeDirectory(['a', 'b']))).toBe(0);
    expect(cost(() => names.encodeFile(['a', 'e', 'f']))).toBe(2 * TEXT + TWEAK);
  });

  it('to decode a path are those of its names, and of each directory once', () => {
    const other = open();
    const [first, second] = [other.encodeFile(['a', 'b', 'c']), other.encodeFile(['a', 'b', 'd'])];
    const below = second.split('/')[2] ?? '';
    expect(cost(() => names.decodeFile([], first))).toBe(3 * TEXT + 2 * TWEAK);
    expect(cost(() => names.decodeFile([], second))).toBe(TEXT);
    expect(cost(() => names.decodeFile(['a', 'b'], below))).toBe(TEXT);
    expect(cost(() => names.encodeFile(['a', 'b', 'x']))).toBe(TEXT);
  });

  it('to decode below a directory are those of the way to it once', () => {
    const other = open();
    const text = other.encodeFile(['a', 'b']).split('/')[1] ?? '';
    expect(cost(() => names.decodeFile(['a'], text))).toBe(2 * TEXT + TWEAK);
    expect(cost(() => names.decodeFile(['a'], text))).toBe(TEXT);
  });

  it('are those of a path anew where 4,096 others were encoded since', () => {
    names.encodeFile(['a']);
    for (let index = 0; index < 4_095; index++) names.encodeFile([`${index}`]);
    expect(cost(() => names.encodeFile(['a']))).toBe(0);
    for (let index = 0; index < 4_096; index++) names.encodeFile([`${index}b`]);
    expect(cost(() => names.encodeFile(['a']))).toBe(TEXT);
  });

  it('are those of a directory anew where 20,000 others were met since', () => {
    names.encodeFile(['a', 'x']);
    for (let index = 0; index < 19_999; index++) names.encodeFile([`${index}`, 'x']);
    expect(cost(() => names.encodeFile(['a', 'y']))).toBe(TEXT);
    names.encodeFile(['one more', 'x']);
    expect(cost(() => names.encodeFile(['a', 'z']))).toBe(2 * TEXT + TWEAK);
    // And the next ones are remembered again.
    expect(cost(() => names.encodeFile(['a', 'zz']))).toBe(TEXT);
  });
});
