import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { fromBase64, fromBase64url, toBase64, toBase64url } from '../../src/format/encoding.ts';
import { createNames, type NameMode } from '../../src/format/names.ts';
import { createLayout, parseTenantId } from '../../src/format/object-keys.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { isValidSegment, parseMemoryPath, segmentsOf } from '../../src/language/path.ts';
import { input } from '../format/format-vectors.ts';
import { fuzz, largestArray, verdictOf } from './fuzz.ts';
import { mutatedTexts } from './mutation.ts';

await loadSodium();

const namesOf = (mode: NameMode) => createNames({ mode, nameKey: input('NK') });
const paths = [
  ['a'],
  ['notes', 'a.txt'],
  ['x'.repeat(15), 'x'.repeat(16), 'x'.repeat(143)],
  ['日本', 'é', '👩\u200d💻.md'],
  Array.from({ length: 20 }, (_, index) => `${index}`),
];
const keyTexts = paths.map((path) => namesOf('encrypted').encodeFile(path));
const hostile = fc.oneof(
  fc.constantFrom(
    ...[
      '/',
      '//',
      '.',
      '..',
      '\\',
      '%2e',
      '%252F',
      '%',
      '=',
      '+',
      '-',
      '_',
      'A',
      '\0',
      '\ufeff',
      '\ud800',
      '\u0301',
      'é',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

describe('the text of a key', () => {
  fuzz('is one that encryption gives, or foreign', {
    runs: 3_000,
    inputs: [mutatedTexts(keyTexts, hostile), fc.nat(paths.length - 1)],
    check(text, index) {
      const base = paths[index] ?? [];
      for (const directory of [[], base]) {
        const segments = namesOf('encrypted').decodeFile(directory, text);
        if (segments === undefined) continue;
        const above = directory.length === 0 ? '' : `${namesOf('encrypted').encodeDirectory(directory)}/`;
        expect(namesOf('encrypted').encodeFile([...directory, ...segments])).toBe(above + text);
        expect(segments.every(isValidSegment)).toBe(true);
      }
    },
  });

  fuzz('is said the same of by names that have seen other keys', {
    runs: 1_000,
    inputs: [fc.array(mutatedTexts(keyTexts, hostile), { minLength: 1, maxLength: 6 })],
    check(texts) {
      const seasoned = namesOf('encrypted');
      for (const text of texts) {
        expect(seasoned.decodeFile([], text)).toEqual(namesOf('encrypted').decodeFile([], text));
      }
    },
  });

  fuzz('is in plain mode the segments themselves, or foreign', {
    runs: 3_000,
    inputs: [
      mutatedTexts(
        paths.map((path) => namesOf('plain').encodeFile(path)),
        hostile,
      ),
    ],
    check(text) {
      const segments = namesOf('plain').decodeFile([], text);
      if (segments !== undefined) expect(`${segments.join('/')}.sealed`).toBe(text);
      const named = text.endsWith('.sealed') ? text.slice(0, -7).split('/') : [''];
      const isOurs =
        named.every(isValidSegment) && !named.slice(0, -1).some((name) => name.endsWith('.sealed'));
      expect(segments !== undefined).toBe(isOurs);
    },
  });

  fuzz('makes no array much larger than a segment', {
    runs: 500,
    inputs: [mutatedTexts([...keyTexts, 'A'.repeat(100_000)], hostile)],
    check(text) {
      expect(largestArray(() => namesOf('encrypted').decodeFile([], text))).toBeLessThanOrEqual(512);
    },
  });
});

describe('base64 of either kind', () => {
  const texts = mutatedTexts(['AAAA', 'AA==', 'AAE=', '_-8', '+/8=', '44QG', 'A'.repeat(44)], hostile);

  fuzz('is read only as it would be written', {
    runs: 5_000,
    inputs: [texts],
    check(text) {
      const url = fromBase64url(text);
      expect(url !== undefined).toBe(Buffer.from(text, 'base64url').toString('base64url') === text);
      if (url !== undefined) expect(toBase64url(url)).toBe(text);
      const padded = fromBase64(text);
      expect(padded !== undefined).toBe(Buffer.from(text, 'base64').toString('base64') === text);
      if (padded !== undefined) expect(toBase64(padded)).toBe(text);
    },
  });
});

describe('a path', () => {
  fuzz('is canonical, or refused by a rule', {
    runs: 5_000,
    inputs: [
      mutatedTexts(
        paths.map((path) => `/memories/${path.join('/')}`),
        hostile,
      ),
    ],
    check(text) {
      const verdict = verdictOf(() => parseMemoryPath(text));
      if ('code' in verdict) {
        expect(verdict.code).toBe('invalid_path');
        return;
      }
      expect(parseMemoryPath(verdict.value)).toBe(verdict.value);
      expect(segmentsOf(verdict.value).every(isValidSegment)).toBe(true);
      expect(verdict.value.normalize('NFC')).toBe(verdict.value);
    },
  });

  fuzz('is judged quickly, however long it is', {
    runs: 20,
    inputs: [
      fc.array(fc.oneof(hostile, fc.constantFrom('%25', '\u0315\u0300', '\u1100\u1161', 'a/', '\ufb1d')), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.constantFrom(1_000, 30_000, 100_000),
    ],
    check(pieces, times) {
      verdictOf(() => parseMemoryPath(`/memories/${pieces.join('').repeat(times)}`));
    },
  });
});

describe('a place in the store', () => {
  fuzz('is made of a valid tenant and prefix only', {
    runs: 3_000,
    inputs: [
      mutatedTexts(['acme', 'a-b-1', 'a'.repeat(63)], hostile),
      mutatedTexts(['', 'team/memory', 'p'.repeat(60)], hostile),
    ],
    check(tenant, prefix) {
      const verdict = verdictOf(() => createLayout({ prefix, tenant: parseTenantId(tenant) }));
      if ('code' in verdict) {
        expect(verdict.code).toBe('misconfigured');
        return;
      }
      const { data, keyring } = verdict.value;
      const top = prefix === '' ? '' : `${prefix}/`;
      expect([data, keyring]).toEqual([`${top}tenants/${tenant}/data/`, `${top}keyrings/${tenant}`]);
      expect(Buffer.byteLength(prefix) + tenant.length).toBeLessThanOrEqual(66);
      expect(data).not.toMatch(/\/\/|(^|\/)\.\.?\/|[\\\0]/);
    },
  });
});
