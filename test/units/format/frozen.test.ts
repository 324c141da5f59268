import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/**
 * SHA-256 of the files that say what format 1 is. Format 1 is frozen: none of its bytes and verdicts changes any more.
 */
const FROZEN: Readonly<Record<string, string>> = {
  'format-1.json': 'fce52865ce43eb0ba84d502108e20a8383c04832da4bb291e7b55b303f68c77a',
  'format-1-additions.json': '09afaf7863393a7aa4dad9057966b1b58cbc9ed8c6ca356778d524763dc6cace',
  'golden-format-1.json': '5109c53d9df08f67820920c3b65e0de0ce7e866b43375b13fae07a28f3400db4',
  'golden-format-1-history.json': '4255837909f728db44dad9c334d348b8fac726ae033adc2742037ad708e9daba',
};

const WHAT_TO_DO =
  'is not what it was when format 1 was frozen, and stores that people have are read by what it said. Take the change back. ' +
  'If a byte or a verdict must change, it is a new format with another version number (docs/format.md, its first page): give it ' +
  'vectors and golden stores of its own, and leave these. Only where vectors were added, and none changed or taken away ' +
  '(git diff shows lines that begin with + alone), write the new hash here:';

describe('format 1 is frozen', () => {
  it.each(Object.entries(FROZEN))('in %s', (name, digest) => {
    const bytes = readFileSync(new URL(`../../vectors/${name}`, import.meta.url));
    const found = createHash('sha256').update(bytes).digest('hex');
    expect(found, `test/vectors/${name} ${WHAT_TO_DO} ${found}`).toBe(digest);
  });
});
