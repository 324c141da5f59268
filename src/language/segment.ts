import { encodeText } from './text.ts';

/** Some servers keep objects as files and cannot replace one whose name is longer than this makes it (docs/format.md). */
export const MAX_SEGMENT_BYTES = 143;

/**
 * The rule a refused path breaks, as `details.rule` of `invalid_path`. `key_too_long` comes with `tooMany` (bytes)
 * and `directory_suffix` with `suffix`: both are found where object keys are made. `segment_too_long` and `too_many_segments` come with `value` and `max`,
 * `forbidden_character` with `character` (such as `U+0000`).
 */
export type PathRule =
  | 'outside_root'
  | 'parent_segment'
  | 'dot_segment'
  | 'backslash'
  | 'forbidden_character'
  | 'lone_surrogate'
  | 'percent_encoded'
  | 'segment_too_long'
  | 'too_many_segments'
  | 'key_too_long'
  | 'directory_suffix';

export interface SegmentProblem {
  readonly rule: PathRule;
  readonly details: Readonly<Record<string, string | number>>;
}

/** Lone surrogates: with the `u` flag a whole pair is one character of another category. */
const SURROGATE = /\p{Cs}/u;
/** Controls, format characters and the two line separators; the joiners U+200C and U+200D spell words and emoji. */
const FORBIDDEN = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\u2028\u2029]/u;
const ENCODED_SEPARATOR = /%(?:2e|2f|5c|00)/i;
const ENCODED_ASCII = /%([0-7][0-9a-f])/gi;

/** The first rule that a non-empty segment breaks, or undefined for one that may stand in a path. */
export function segmentProblem(segment: string): SegmentProblem | undefined {
  const parts = segment.split('\\');
  if (parts.includes('..')) return { rule: 'parent_segment', details: {} };
  if (segment === '.') return { rule: 'dot_segment', details: {} };
  if (parts.length > 1) return { rule: 'backslash', details: {} };
  if (segment.includes('/')) return { rule: 'forbidden_character', details: { character: codePoint('/') } };
  if (SURROGATE.test(segment)) return { rule: 'lone_surrogate', details: {} };
  const forbidden = FORBIDDEN.exec(segment);
  if (forbidden !== null) {
    return { rule: 'forbidden_character', details: { character: codePoint(forbidden[0]) } };
  }
  const value = encodeText(segment).length;
  if (value > MAX_SEGMENT_BYTES) {
    return { rule: 'segment_too_long', details: { value, max: MAX_SEGMENT_BYTES } };
  }
  return hidesSeparator(segment) ? { rule: 'percent_encoded', details: {} } : undefined;
}

/**
 * Whether a dot, slash, backslash or NUL appears when the segment is percent-decoded, however many times over.
 * Every pass shortens the text, so the passes are bounded by the length of a segment.
 */
function hidesSeparator(segment: string): boolean {
  let text = segment;
  for (;;) {
    if (ENCODED_SEPARATOR.test(text)) return true;
    const decoded = text.replace(ENCODED_ASCII, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
    if (decoded === text) return false;
    text = decoded;
  }
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
