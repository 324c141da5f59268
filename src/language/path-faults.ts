import type { ErrorDetails } from '../errors.ts';

/** Names the fault of a path, and how to mend it: the rest of a sentence that begins with the path. */
export function pathFault(details: ErrorDetails): string {
  switch (details['rule']) {
    case 'outside_root':
      return 'must start with /memories, as /memories/notes.md does';
    case 'parent_segment':
      return 'is not allowed: a segment named .. would escape /memories directory or hide where the path leads';
    case 'dot_segment':
      return 'is not allowed: leave out the segment named .';
    case 'percent_encoded':
      return 'would escape /memories directory or change its segments if it were decoded: percent-encoded dots, slashes, backslashes and NULs are not allowed';
    case 'backslash':
      return 'contains a backslash: separate its segments with /';
    case 'forbidden_character':
      return `contains the character ${details['character']}: control, format and line separator characters are not allowed`;
    case 'lone_surrogate':
      return 'must be valid Unicode text: it contains half of a surrogate pair';
    case 'segment_too_long':
      return `has a segment of ${amountOf(details, 'value')} bytes: at most ${amountOf(details, 'max')} bytes of UTF-8 are allowed between two slashes`;
    case 'too_many_segments':
      return `has ${amountOf(details, 'value')} segments: at most ${amountOf(details, 'max')} are allowed below ${topOf(details)}`;
    case 'key_too_long':
      return `is ${amountOf(details, 'tooMany')} bytes too long: shorten its names or use fewer directories`;
    case 'directory_suffix':
      return `has a directory whose name ends in ${details['suffix']}: choose another name for it`;
    default:
      return 'is not valid';
  }
}

/**
 * Makes the sentence about a path for an operator, who may log it: it never holds the path. `text` is the path as it
 * was given.
 */
export function pathFaultSentence(details: ErrorDetails, text = ''): string {
  const hint = details['rule'] === 'outside_root' ? hintOf(text) : '';
  return `The path ${pathFault(details)}${hint}.`;
}

/** Tells how the text misses the root by a little. */
function hintOf(text: string): string {
  if (/^\/{2,}memories(\/|$)/.test(text)) return ': begin it with one slash';
  if (/^memories(\/|$)/.test(text)) return ': begin it with a slash';
  if (text.startsWith('/memories')) return ': a slash must follow /memories';
  if (/^\/?memories(\/|$)/i.test(text)) return ', in small letters';
  return text.startsWith('/') ? '' : ': a relative path leads nowhere';
}

/** Names the directory from which segments count: the root, or that of a mounted memory. */
function topOf({ below }: ErrorDetails): string {
  return typeof below === 'string' ? below : '/memories';
}

/** Answers a number of an error's details in digits, or a question mark if it is unknown. */
export function amountOf(details: ErrorDetails, name: string): string {
  const value = details[name];
  return typeof value === 'number' ? String(value) : '?';
}
