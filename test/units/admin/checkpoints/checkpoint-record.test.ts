import { beforeAll, describe, expect, it } from 'vitest';
import {
  type CheckpointEntry,
  decodeHead,
  decodePart,
  encodeEntry,
  encodeHead,
  headId,
  lineOf,
  numberOfHead,
  parseLine,
  partId,
  partsOf,
  rootOf,
  runOfPart,
} from '../../../../src/admin/checkpoints/checkpoint-record.ts';
import { hashPart } from '../../../../src/format/checkpoint-root.ts';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { loadSodium } from '../../../../src/format/sodium.ts';
import { inTurns } from '../../../../src/time.ts';
import { at, bytes } from '../../../stage/test-tree.ts';

beforeAll(loadSodium);

const entriesOf = (content: Uint8Array) => inTurns(decodePart(content));

const idOf = (byte: number): string => toBase64url(new Uint8Array(16).fill(byte));
const SECRET = new Uint8Array(32).fill(3);
const HEAD = {
  number: 12,
  files: 3,
  began: 1_790_000_000_000,
  ended: 1_790_000_000_001,
  epoch: 2,
  keepsHistory: true,
  run: idOf(4),
  parts: 2,
  secret: SECRET,
};
const ENTRY: CheckpointEntry = {
  path: at('/memories/a'),
  id: idOf(1),
  bound: 1_790_000_000_000_001n,
  mtime: 1_790_000_000_000,
  size: 5,
  previous: idOf(0),
  writer: idOf(9),
  etag: '"etag"' as const,
  textHash: toBase64url(new Uint8Array(32).fill(7)),
  note: '',
};
const PARTS = [
  [ENTRY, { ...ENTRY, path: at('/memories/b/ü'), id: idOf(2), note: 'young' as const }],
  [{ ...ENTRY, path: at('/memories/c'), id: idOf(3) }],
];

function contentOf(entries: readonly CheckpointEntry[]): Uint8Array {
  return bytes(entries.map(encodeEntry).join('\n'));
}

function digestsOf(parts: readonly (readonly CheckpointEntry[])[]): readonly Uint8Array[] {
  return parts.map((entries, part) => hashPart(SECRET, part, contentOf(entries)));
}

describe('the root of a checkpoint', () => {
  it('is what another implementation made of the same, with parts and without', () => {
    expect(rootOf(HEAD, digestsOf(PARTS))).toBe('UsaWB0YV3Oew3tXBPUL1C_EjTjn6lJAHWYyG0B0a4jo');
    expect(rootOf({ ...HEAD, files: 0 }, [])).toBe('xpItbBxjYe_mwoPNPN2eZ3wuhP15J1C10oVdgmbL2P8');
  });

  it('is another one for another fact, secret, line, or order or division of parts', () => {
    const changes = { number: 13, files: 4, began: 1, ended: 2, epoch: 3, keepsHistory: false };
    const roots = [
      ...Object.entries(changes).map(([fact, value]) => rootOf({ ...HEAD, [fact]: value }, digestsOf(PARTS))),
      rootOf({ ...HEAD, secret: new Uint8Array(32) }, digestsOf(PARTS)),
      rootOf(HEAD, digestsOf(PARTS.toReversed())),
      rootOf(HEAD, digestsOf(PARTS).toReversed()),
      rootOf(HEAD, digestsOf([PARTS.flat()])),
      rootOf(HEAD, digestsOf(PARTS.slice(1))),
      ...Object.entries({ bound: 5n, size: 6, textHash: SECRET, etag: 'x' }).map(([fact, value]) =>
        rootOf(HEAD, digestsOf([[{ ...ENTRY, [fact]: value }], ...PARTS.slice(1)])),
      ),
      rootOf(HEAD, digestsOf(PARTS)),
    ];
    expect(new Set(roots).size).toBe(roots.length);
  });
});

describe('the records of a checkpoint', () => {
  it('are read as they were written, and what a head says beside is passed over', async () => {
    expect(decodeHead(encodeHead(HEAD))).toEqual(HEAD);
    const more = { ...HEAD, secret: toBase64url(SECRET), more: true };
    expect(decodeHead(bytes(JSON.stringify(more)))).toEqual(HEAD);
    for (const entries of PARTS) expect(await entriesOf(contentOf(entries))).toEqual(entries);
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['number 0', { number: 0 }],
    ['number of 13 digits', { number: 10 ** 12 }],
    ['count below 0', { files: -1 }],
    ['count that is not whole', { epoch: 1.5 }],
    ['time that no date holds', { ended: 8.64e15 + 1 }],
    ['run that is no id', { run: 'AAAA' }],
    ['million and one parts', { parts: 1_000_001 }],
    ['secret of 31 bytes', { secret: toBase64url(SECRET.subarray(1)) }],
    ['secret that is no text', { secret: 3 }],
    ['word in the place of yes or no', { keepsHistory: 'yes' }],
  ])('are none with a %s in the head', (_, wrong) => {
    const head = { ...HEAD, secret: toBase64url(SECRET), ...wrong };
    expect(decodeHead(bytes(JSON.stringify(head)))).toBeUndefined();
  });

  it('are none where a head lacks a field, or is no object', () => {
    const fields = { ...HEAD, secret: toBase64url(SECRET) };
    for (const name of Object.keys(fields)) {
      const rest = Object.fromEntries(Object.entries(fields).filter(([field]) => field !== name));
      expect(decodeHead(bytes(JSON.stringify(rest))), name).toBeUndefined();
    }
    expect(decodeHead(bytes('[]'))).toBeUndefined();
    expect(decodeHead(Uint8Array.of(0xff))).toBeUndefined();
  });

  it.each<[string, number, unknown]>([
    ['path outside of the memory', 0, '/other/a'],
    ['path that is the root', 0, '/memories'],
    ['path with a segment that is none', 0, '/memories/../a'],
    ['path that is no text', 0, 7],
    ['id of 15 bytes', 1, toBase64url(new Uint8Array(15))],
    ['bound with a zero in front', 2, '01'],
    ['bound that is a number', 2, 5],
    ['bound of 2 to the 63rd', 2, String(2n ** 63n)],
    ['modification of 2 to the 53rd', 3, 2 ** 53],
    ['size below 0', 4, -1],
    ['predecessor that is no id', 5, ''],
    ['writer that is no id', 6, null],
    ['tag that is no text', 7, 1],
    ['hash of 31 bytes', 8, toBase64url(new Uint8Array(31))],
    ['note of another word', 9, 'old'],
    ['field more', 10, ''],
  ])('are none with a %s in a line', async (_, index, wrong) => {
    const fields: unknown[] = JSON.parse(encodeEntry(ENTRY));
    fields[index] = wrong;
    const lines = [encodeEntry(ENTRY), JSON.stringify(fields)];
    expect(await entriesOf(bytes(lines.join('\n')))).toBeUndefined();
    expect(await entriesOf(bytes(lines.slice(0, 1).join('\n')))).toEqual([ENTRY]);
  });

  it('are none where a part is empty, ends with a line end, or lacks a field', async () => {
    expect(await entriesOf(new Uint8Array())).toBeUndefined();
    expect(await entriesOf(bytes(`${encodeEntry(ENTRY)}\n`))).toBeUndefined();
    expect(await entriesOf(bytes('["/memories/a"]'))).toBeUndefined();
    expect(await entriesOf(bytes('{}'))).toBeUndefined();
  });
});

describe('the greatest numbers of a head', () => {
  it.each<Readonly<Record<string, unknown>>>([
    { number: 10 ** 12 - 1 },
    { parts: 1_000_000 },
    { files: 0, parts: 0 },
    { began: 0, ended: 8.64e15 },
    { keepsHistory: false },
  ])('are read: %j', (fields) => {
    const head = { ...HEAD, ...fields };
    expect(decodeHead(encodeHead(head))).toEqual(head);
  });
});

describe('the ids of a checkpoint', () => {
  const RUN = idOf(4);

  it('have its number in twelve digits, and that of a part in six', () => {
    expect(headId(12)).toBe('c000000000012');
    expect(partId(RUN, 7)).toBe(`p${RUN}_000007`);
    expect(partId(RUN, 7).startsWith(partsOf(RUN))).toBe(true);
    expect(partsOf(RUN)).toBe(`p${RUN}_`);
  });

  it('are read as they are written', () => {
    for (const number of [1, 999_999_999_999]) expect(numberOfHead(headId(number))).toBe(number);
    for (const part of [0, 999_999]) expect(runOfPart(partId(RUN, part))).toBe(RUN);
  });

  it('are no others', () => {
    const [head, part] = [headId(1), partId(RUN, 1)];
    for (const id of [
      part,
      `x${head}`,
      `${head}0`,
      head.slice(0, -1),
      `p${head.slice(1)}`,
      `${head.slice(0, -1)}x`,
    ])
      expect(numberOfHead(id), id).toBeUndefined();
    for (const id of [
      head,
      `x${part}`,
      `${part}0`,
      part.slice(0, -1),
      `c${part.slice(1)}`,
      `p.${part.slice(2)}`,
    ])
      expect(runOfPart(id), id).toBeUndefined();
  });
});

describe('the line of a checkpoint', () => {
  const root = toBase64url(SECRET);

  it('is its number and its root, with spaces around them where they were copied along', () => {
    expect(lineOf({ number: 12, root })).toBe(`12:${root}`);
    for (const text of [`12:${root}`, ` 12:${root}\n`]) expect(parseLine(text)).toEqual({ number: 12, root });
    expect(parseLine(`999999999999:${root}`)).toEqual({ number: 999_999_999_999, root });
  });

  it.each([
    ...['', `0:${root}`, `01:${root}`, `1000000000000:${root}`, `-1:${root}`, `1.5:${root}`, `1: ${root}`],
    ...[`1:${root}A`, `1:${root.slice(1)}`, `1:.${root.slice(1)}`, `x1:${root}`, `1${root}`, undefined, 1],
  ])('is nothing else: %s', (text) => {
    expect(() => parseLine(text)).toThrow(expect.objectContaining({ code: 'invalid_command' }));
  });
});
