import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isValidSegment,
  joinPath,
  MEMORY_ROOT,
  parseMemoryPath,
  segmentsOf,
} from '../../src/language/path.ts';

/** Pieces that path attacks are made of, and ordinary text between them. */
const piece = fc.constantFrom(
  ...[
    '.',
    '..',
    '/',
    '\\',
    '%',
    '%2e',
    '%2F',
    '%5c',
    '%25',
    '%32',
    '25',
    '2e',
    '\0',
    '\u202e',
    'é',
    'a',
    ' ',
  ],
);
const hostile = fc.array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 12 });

function parsed(text: string): string | undefined {
  try {
    return parseMemoryPath(text);
  } catch {
    return undefined;
  }
}

function decodeAscii(text: string): string {
  return text.replace(/%([0-7][0-9a-f])/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

describe('parseMemoryPath', () => {
  it('accepts only paths that stay inside however often they are decoded', () => {
    fc.assert(
      fc.property(hostile, (pieces) => {
        const path = parsed(`/memories/${pieces.join('')}`);
        if (path === undefined) return;
        expect(path === '/memories' || path.startsWith('/memories/')).toBe(true);
        for (let text: string = path, last = ''; text !== last; ) {
          expect(text.split(/[/\\\0]/)).toHaveLength(path.split('/').length);
          expect(text.split('/').some((segment) => segment === '.' || segment === '..')).toBe(false);
          last = text;
          text = decodeAscii(text);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is canonical: parsing its result changes nothing', () => {
    fc.assert(
      fc.property(hostile, (pieces) => {
        const path = parsed(`/memories/${pieces.join('')}`);
        if (path === undefined) return;
        expect(parsed(path)).toBe(path);
        expect(parsed(`${path.replaceAll('/', '//').slice(1)}//`)).toBe(path);
        expect(path.normalize('NFC')).toBe(path);
      }),
      { numRuns: 1_000 },
    );
  });

  it('accepts exactly the segments that isValidSegment accepts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), (text) => {
        const segment = text.normalize('NFC').replaceAll('/', '');
        if (segment === '') return;
        const path = parsed(`/memories/${segment}`);
        expect(path !== undefined).toBe(isValidSegment(segment));
        if (path !== undefined) expect(path).toBe(joinPath(MEMORY_ROOT, segment));
      }),
      { numRuns: 1_000 },
    );
  });

  it('gives segments back as they were joined', () => {
    const segment = fc.stringMatching(/^[a-z0-9_ -]{1,20}$/);
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 20 }), (segments) => {
        expect(segmentsOf(parseMemoryPath(joinPath(MEMORY_ROOT, ...segments)))).toEqual(segments);
      }),
    );
  });
});
