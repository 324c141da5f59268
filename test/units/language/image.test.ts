import { describe, expect, it } from 'vitest';
import { imageMediaType } from '../../../src/language/image.ts';
import { parseMemoryPath } from '../../../src/language/path.ts';

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1];
const JPEG = [0xff, 0xd8, 0xff, 0xe0];
const GIF = [...'GIF89a'].map((character) => character.charCodeAt(0));
const WEBP = [...'RIFF....WEBPVP8 '].map((character) => character.charCodeAt(0));

function typeOf(name: string, bytes: readonly number[]): string | undefined {
  return imageMediaType(parseMemoryPath(`/memories/${name}`), Uint8Array.from(bytes));
}

describe('imageMediaType', () => {
  it.each([
    ['a.png', PNG, 'image/png'],
    ['A.PNG', PNG, 'image/png'],
    ['a.jpg', JPEG, 'image/jpeg'],
    ['dir/a.b.jpeg', JPEG, 'image/jpeg'],
    ['a.gif', GIF, 'image/gif'],
    ['a.webp', WEBP, 'image/webp'],
  ])('knows %s by its extension and first bytes', (name, bytes, type) => {
    expect(typeOf(name, bytes)).toBe(type);
  });

  it.each([
    ['a.jpg', PNG],
    ['a.png', JPEG],
    ['a.txt', PNG],
    ['png', PNG],
    ['a.png/b', PNG],
    ['a.png', []],
    ['a.png', PNG.slice(0, 7)],
    ['a.webp', WEBP.slice(0, 11)],
    ['a.gif', [...'GIF88a'].map((character) => character.charCodeAt(0))],
    ['a.bmp', [0x42, 0x4d]],
  ])('takes %s for no image when extension and bytes disagree', (name, bytes) => {
    expect(typeOf(name, bytes)).toBeUndefined();
  });

  it.each([
    ['a.png', PNG.slice(0, 8)],
    ['a.jpg', JPEG.slice(0, 3)],
    ['a.gif', GIF],
    ['a.gif', [...'GIF87a'].map((character) => character.charCodeAt(0))],
    ['a.webp', WEBP.slice(0, 12)],
  ])('asks of %s for each byte of its signature', (name, bytes) => {
    expect(typeOf(name, bytes)).toBeDefined();
    expect(typeOf(name, bytes.slice(0, -1))).toBeUndefined();
    for (const index of bytes.keys()) {
      const isFree = name === 'a.webp' && index >= 4 && index < 8;
      // One of the two signatures of a GIF becomes no other one by this change.
      expect(typeOf(name, [...bytes].with(index, (bytes[index] ?? 0) ^ 0x40)) !== undefined).toBe(isFree);
    }
  });
});
