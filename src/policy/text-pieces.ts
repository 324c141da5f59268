/** A place in a text, in UTF-16 units. */
export interface Match {
  readonly rule: string;
  readonly start: number;
  readonly end: number;
}

/** The part of a text from one place to another, in UTF-16 units. */
export interface Piece {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** The UTF-16 units of a piece: at most 48 KiB of UTF-8. */
const PIECE_UNITS = 16_384;

/** Yields the pieces of a text, in order; an empty text has none. */
export function* piecesOf(text: string): Generator<Piece, void> {
  for (let from = 0; from < text.length; from += PIECE_UNITS) {
    yield { text, from, to: Math.min(text.length, from + PIECE_UNITS) };
  }
}

/**
 * Finds the matches that begin in a piece. `find` gets the piece and its surroundings: `before` units in front, which
 * show a rule the text before a match, and `after` units after it, which is the longest that a match can be.
 */
export async function matchesIn(
  { text, from, to }: Piece,
  around: { readonly before: number; readonly after: number },
  find: (text: string) => readonly Match[] | Promise<readonly Match[]>,
): Promise<readonly Match[]> {
  const start = Math.max(0, from - around.before);
  const found = await find(text.slice(start, to + around.after));
  return found
    .map((match) => ({ ...match, start: match.start + start, end: match.end + start }))
    .filter((match) => match.start >= from && match.start < to);
}
