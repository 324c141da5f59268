import fc from 'fast-check';
import { concat } from '../../src/format/encoding.ts';

/** One change to some bytes. Positions are taken modulo their length, so that every change fits all bytes. */
type Change =
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'drop' | 'repeat'; readonly at: number; readonly count: number }
  | { readonly kind: 'insert' | 'write'; readonly at: number; readonly bytes: Uint8Array }
  | {
      readonly kind: 'splice';
      readonly from: number;
      readonly begin: number;
      readonly count: number;
      readonly at: number;
    };

/** The values to which a length, a count, a version or a time is set in a search for a parser's limits. */
const EXTREMES: readonly bigint[] = [
  ...[0n, 1n, 0x7fn, 0x80n, 0xffn, 0x100n, 0x7fffn, 0xffffn, 0x10000n, 0x3fffffffn, 0x40000000n],
  ...[
    0x7fffffffn,
    0x80000000n,
    0xffffffffn,
    0x100000000n,
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 63n,
    2n ** 64n - 1n,
  ],
];

/** Fields stand near the beginning; the rest of large bytes is tried too. */
const position = fc.oneof({ weight: 3, arbitrary: fc.nat(260) }, fc.nat(200_000));
const count = fc.oneof(fc.nat(40), fc.constantFrom(224, 65_552, 65_536));
const number = fc
  .tuple(fc.constantFrom(...EXTREMES), fc.constantFrom(1, 2, 4, 8))
  .map(([value, width]) => bigEndian(value, width));

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('flip' as const), at: position, bit: fc.nat(7) }),
  fc.record({ kind: fc.constant('cut' as const), at: position }),
  fc.record({ kind: fc.constantFrom('drop' as const, 'repeat' as const), at: position, count }),
  fc.record({
    kind: fc.constantFrom('insert' as const, 'write' as const),
    at: position,
    bytes: fc.oneof(number, fc.uint8Array({ minLength: 1, maxLength: 32 })),
  }),
  fc.record({ kind: fc.constant('splice' as const), from: fc.nat(99), begin: position, count, at: position }),
);

/** The bases after 0–4 changes; pieces of one may come into another. A change may happen to change nothing. */
export function mutations(bases: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  return fc
    .tuple(fc.constantFrom(...bases), fc.array(change, { maxLength: 4 }))
    .map(([base, changes]) => changes.reduce((bytes, one) => apply(bytes, one, bases), base));
}

/** Any bytes, most of them behind the beginning of something valid. */
export function beginningLike(bases: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  return fc
    .tuple(fc.constantFrom(...bases), fc.nat(200), fc.uint8Array({ maxLength: 600 }))
    .map(([base, length, rest]) => concat(base.subarray(0, length), rest));
}

/** Texts after some of their characters were changed, dropped, doubled or moved. */
export function mutatedTexts(bases: readonly string[], pieces: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const edit = fc.tuple(fc.nat(300), fc.nat(6), fc.oneof(pieces, fc.constantFrom(...bases)));
  return fc.tuple(fc.constantFrom(...bases), fc.array(edit, { maxLength: 3 })).map(([base, edits]) =>
    edits.reduce((text, [place, dropped, put]) => {
      const at = text.length === 0 ? 0 : place % (text.length + 1);
      return text.slice(0, at) + put + text.slice(at + dropped);
    }, base),
  );
}

function apply(bytes: Uint8Array, one: Change, bases: readonly Uint8Array[]): Uint8Array {
  if (bytes.length === 0) return bytes;
  const at = one.at % bytes.length;
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (one.kind) {
    case 'flip':
      return bytes.with(at, (bytes[at] ?? 0) ^ (1 << one.bit));
    case 'cut':
      return before;
    case 'drop':
      return concat(before, after.subarray(one.count));
    case 'repeat':
      return concat(before, after.subarray(0, one.count), after);
    case 'insert':
      return concat(before, one.bytes, after);
    case 'write':
      return concat(before, one.bytes, after.subarray(one.bytes.length));
    case 'splice': {
      const other = bases[one.from % bases.length] ?? bytes;
      const begin = one.begin % other.length;
      const piece = other.subarray(begin, begin + one.count);
      return concat(before, piece, after.subarray(piece.length));
    }
  }
}

function bigEndian(value: bigint, width: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value);
  return bytes.slice(8 - width);
}
