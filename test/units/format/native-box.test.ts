import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';

type Cipher = typeof import('node:crypto').createCipheriv;
type Decipher = typeof import('node:crypto').createDecipheriv;

/** Stands in for the cipher of Node where a test says so. */
interface Stand {
  cipher: Cipher | undefined;
  made: number;
  readonly opened: Uint8Array[];
  opensNothing: boolean;
}
const node = vi.hoisted((): Stand => ({ cipher: undefined, made: 0, opened: [], opensNothing: false }));
vi.mock('node:crypto', async (load) => {
  const real = await load<typeof import('node:crypto')>();
  const createCipheriv = (...input: Parameters<Cipher>): ReturnType<Cipher> => {
    node.made += 1;
    return (node.cipher ?? real.createCipheriv)(...input);
  };
  const createDecipheriv = (...input: Parameters<Decipher>): ReturnType<Decipher> => {
    const decipher = real.createDecipheriv(...input);
    const update = decipher.update.bind(decipher);
    const noted = (box: Uint8Array): Uint8Array => {
      const text = update(box);
      node.opened.push(text);
      return text;
    };
    const refuse = (): never => {
      throw new Error('unable to authenticate data');
    };
    return Object.assign(decipher, { update: noted }, node.opensNothing ? { final: refuse } : {});
  };
  return { ...real, createCipheriv, createDecipheriv };
});
const { createCipheriv: realCipher } = await vi.importActual<typeof import('node:crypto')>('node:crypto');

/** The modules as a new process has them: whether Node's cipher serves is found out once in each. */
async function load() {
  vi.resetModules();
  const sodium = await import('../../../src/format/sodium.ts');
  await sodium.loadSodium();
  const native = await import('../../../src/format/native-box.ts');
  return { ...sodium, ...native, ...(await import('../../../src/format/chunks.ts')) };
}

beforeEach(() => {
  node.cipher = undefined;
  node.opensNothing = false;
});

const CHUNK = 65_536;
const LONG = 32_768;
const HEADER = 224;
const bodyKey = new Uint8Array(randomBytes(32));

function objectFor(length: number): Uint8Array {
  return new Uint8Array(HEADER + length + 16 * Math.max(1, Math.ceil(length / CHUNK)));
}

describe('sealNativeBox and openNativeBox', () => {
  it('make and open the boxes of libsodium, and no others', async () => {
    const { sealBox, sealNativeBox, openNativeBox, hchacha20 } = await load();
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
    const length = fc.oneof(fc.nat(300), fc.nat(CHUNK), fc.constantFrom(LONG - 1, LONG, LONG + 1, CHUNK));
    fc.assert(
      fc.property(bytes(32), bytes(24), length, fc.nat(255), (key, nonce, size, step) => {
        const message = Uint8Array.from({ length: size }, (_, index) => index * step);
        const inner = { key: hchacha20(key, nonce.subarray(0, 16)), nonce };
        const box = sealBox(message, { key, nonce, additional: new Uint8Array(0) });
        const own = new Uint8Array(size + 16);
        sealNativeBox(message, own, inner);
        expect(Buffer.compare(own, box)).toBe(0);
        const opened = new Uint8Array(size);
        expect(openNativeBox(box, opened, inner)).toBe(true);
        expect(Buffer.compare(opened, message)).toBe(0);
        const at = step % box.length;
        const untouched = new Uint8Array(size).fill(0x5a);
        expect(openNativeBox(box.with(at, (box[at] ?? 0) ^ 0x80), untouched, inner)).toBe(false);
        expect(untouched.every((byte) => byte === 0x5a)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

it('the cipher of Node is not used where it makes the boxes of libsodium, and does not open them', async () => {
  node.opensNothing = true;
  expect((await load()).hasNativeBoxes()).toBe(false);
});

describe('the chunks of a content', () => {
  const sizes = [0, 1, LONG - 1, LONG, CHUNK, CHUNK + 1, CHUNK + LONG, 3 * CHUNK, 5 * CHUNK + 100];

  it.each([
    [LONG - 1, 0],
    [LONG, 1],
    [CHUNK, 1],
    [CHUNK + LONG - 1, 1],
    [CHUNK + LONG, 2],
    [4 * CHUNK + 1, 4],
  ])('of %i bytes: %i of them go through the cipher of Node', async (length, native) => {
    const { hasNativeBoxes, sealChunks, openChunks } = await load();
    expect(hasNativeBoxes()).toBe(true);
    const [before, object] = [node.made, objectFor(length)];
    sealChunks(new Uint8Array(length), bodyKey, object);
    expect(node.made - before).toBe(native);
    node.opened.length = 0;
    expect(openChunks(object, bodyKey, length)).toHaveLength(length);
    expect(node.opened).toHaveLength(native);
  });

  it.each([
    {
      what: 'is missing',
      cipher: () => {
        throw new Error('Unknown cipher');
      },
    },
    {
      what: 'answers otherwise',
      cipher: ((...[, key, nonce, options]: Parameters<Cipher>) =>
        realCipher('chacha20-poly1305', new Uint8Array(key as Uint8Array).fill(1), nonce, options)) as Cipher,
    },
  ])('are the same where that cipher $what', async ({ cipher }) => {
    const seal = (sealChunks: Awaited<ReturnType<typeof load>>['sealChunks'], content: Uint8Array) => {
      const object = objectFor(content.length);
      sealChunks(content, bodyKey, object);
      return object;
    };
    for (const size of sizes) {
      const content = new Uint8Array(randomBytes(size));
      const fast = await load();
      const object = seal(fast.sealChunks, content);
      node.cipher = cipher as Cipher;
      const slow = await load();
      expect(slow.hasNativeBoxes()).toBe(false);
      expect(Buffer.compare(seal(slow.sealChunks, content), object)).toBe(0);
      for (const { openChunks } of [fast, slow]) {
        expect(Buffer.compare(openChunks(object, bodyKey, size) ?? Buffer.from('none'), content)).toBe(0);
      }
      node.cipher = undefined;
    }
  });

  it('are rejected when any one is changed, cut off, or in another place', async () => {
    const { sealChunks, openChunks } = await load();
    const length = 3 * CHUNK;
    const object = objectFor(length);
    sealChunks(new Uint8Array(randomBytes(length)), bodyKey, object);
    expect(openChunks(object, bodyKey, length)).toBeDefined();
    const step = CHUNK + 16;
    for (let chunk = 0; chunk < 3; chunk++) {
      for (const at of [0, 40_000, CHUNK, step - 1]) {
        const place = HEADER + chunk * step + at;
        const changed = object.with(place, (object[place] ?? 0) ^ 1);
        expect(openChunks(changed, bodyKey, length)).toBeUndefined();
      }
    }
    const [first, second] = [0, 1].map((index) =>
      object.slice(HEADER + index * step, HEADER + (index + 1) * step),
    );
    const swapped = object.slice();
    swapped.set(second ?? [], HEADER);
    swapped.set(first ?? [], HEADER + step);
    expect(openChunks(swapped, bodyKey, length)).toBeUndefined();
    const cut = object.slice(0, HEADER + 2 * step);
    expect(openChunks(cut, bodyKey, 2 * CHUNK)).toBeUndefined();
  });

  it('leave no copy of what was opened, nor of what was refused', async () => {
    const { sealBox, openNativeBox, hchacha20 } = await load();
    const [key, nonce] = [new Uint8Array(randomBytes(32)), new Uint8Array(randomBytes(24))];
    const inner = { key: hchacha20(key, nonce.subarray(0, 16)), nonce };
    const box = sealBox(new Uint8Array(1_000).fill(7), { key, nonce, additional: new Uint8Array(0) });
    node.opened.length = 0;
    expect(openNativeBox(box, new Uint8Array(1_000), inner)).toBe(true);
    expect(openNativeBox(box.with(1_015, (box[1_015] ?? 0) ^ 1), new Uint8Array(1_000), inner)).toBe(false);
    expect(node.opened.map((text) => text.length)).toEqual([1_000, 1_000]);
    expect(node.opened.every((text) => text.every((byte) => byte === 0))).toBe(true);
  });

  it('leave no copy of the key of that cipher', async () => {
    const { sealChunks, openChunks } = await load();
    const given: Uint8Array[] = [];
    const witness = (...input: Parameters<Cipher>): ReturnType<Cipher> => {
      given.push(input[1] as Uint8Array);
      return realCipher(...input);
    };
    node.cipher = witness as Cipher;
    const object = objectFor(2 * CHUNK);
    sealChunks(new Uint8Array(2 * CHUNK), bodyKey, object);
    openChunks(object, bodyKey, 2 * CHUNK);
    expect(given.length).toBeGreaterThanOrEqual(3);
    expect(given.every((key) => key.every((byte) => byte === 0))).toBe(true);
  });
});
