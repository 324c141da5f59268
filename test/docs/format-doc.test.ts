import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

const page = read('../../docs/format.md');
const vectors = ['format-1.json', 'format-1-additions.json'].map((name) => read(`../vectors/${name}`)).join();
const blocks = page.split(/^```.*$/m).filter((_, index) => index % 2 === 1);

/** Answers what an example shows as bytes: runs of hexadecimal, those of four bytes and more. */
const bytesIn = (text: string): readonly string[] => text.match(/\b(?:[0-9a-f]{2}){4,}\b/g) ?? [];

describe('the examples of docs/format.md', () => {
  it('are those of the test vectors, to the byte', () => {
    const shown = blocks.flatMap(bytesIn);
    expect(shown.length).toBeGreaterThan(90);
    expect(shown.filter((hex) => !vectors.includes(hex))).toEqual([]);
  });

  it('add up to the whole object and the whole keyring', () => {
    const wholeOf = (block: string): string =>
      block
        .split('\n')
        .map((line) => /^ *(?:\d+)? +([0-9a-f]+)(?: |$)/.exec(line)?.[1] ?? '')
        .join('');
    const wholes = blocks.filter((block) => /^ +0 .*magic$/m.test(block)).map(wholeOf);
    expect(wholes).toHaveLength(2);
    for (const whole of wholes) expect(vectors).toContain(`"hex":"${whole}"`);
  });

  it('show key texts and hashes of the vectors', () => {
    const texts = page.match(/\b[A-Za-z0-9_-]{43}(?:\.sealed)?(?![\w-])/g) ?? [];
    const shown = texts.filter((text) => /[A-Z]/.test(text));
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.filter((text) => !vectors.includes(text))).toEqual([]);
  });
});
