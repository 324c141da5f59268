import { expect, it } from 'vitest';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { FACTS_BYTES, sealedSize } from '../../../../src/format/sizes.ts';
import { NO_ID } from '../../../../src/format/wrap.ts';
import { judgeText, mayHoldText, type Sought } from '../../../../src/history/change/kept-versions.ts';
import { at, bytes } from '../../../stage/test-tree.ts';

const [PATH, OTHER] = [at('/memories/a'), at('/memories/b')];
const id = (byte: number): Uint8Array => new Uint8Array(16).fill(byte);
const [NAMED, KNOWN] = [toBase64url(id(1)), toBase64url(id(2))];

it.each([
  ['by_id', id(1), OTHER, NO_ID, 'another text', 'secret'],
  ['by_text', id(3), PATH, NO_ID, 'secret', 'secret'],
  ['by_text', id(3), OTHER, id(2), 'secret', 'secret'],
  ['elsewhere', id(3), OTHER, id(3), 'secret', 'secret'],
  ['elsewhere', id(2), OTHER, NO_ID, 'secret', 'secret'],
  ['other', id(3), PATH, id(2), 'Secret', 'secret'],
  ['other', id(3), PATH, id(2), 'secret', undefined],
  ['other', id(3), PATH, id(2), '', ''],
] as const)('a version is judged %s: case %#', (verdict, version, path, previous, content, text) => {
  const sought: Sought = {
    id: NAMED,
    size: 6,
    text: text === undefined ? undefined : bytes(text),
    paths: new Set([PATH]),
    versions: new Set([NAMED, KNOWN]),
    gone: new Map([[NAMED, PATH]]),
    records: new Set(),
  };
  expect(judgeText(sought, { id: version, path, previous }, bytes(content))).toBe(verdict);
});

it.each([
  [sealedSize(100) - 1, false],
  [sealedSize(100), true],
  [sealedSize(100 + FACTS_BYTES), true],
  [sealedSize(100 + FACTS_BYTES) + 1, false],
])('a record of %i bytes may hold a text of 100: %j', (stored, may) => {
  expect(mayHoldText(stored, 100)).toBe(may);
});
