/** Where a text holds what is searched for, from a position on; -1 where it does not. */
export type Search = (text: string, from: number) => number;

/** Up to this length the engine's own search is linear; it takes a longer part's end alone into account. */
const LINEAR_LENGTH = 250;
/** A part with a longer repetition in itself makes the engine's search slow: it compares it again and again. */
const HARMLESS_REPETITION = 64;

/** `indexOf` for a part that is not empty, in a time that never grows with the product of both lengths. */
export function searchFor(part: string): Search {
  if (part.length > LINEAR_LENGTH) {
    const borders = bordersOf(part.length, (at) => part.charCodeAt(at));
    const fromBehind = bordersOf(part.length, (at) => part.charCodeAt(part.length - 1 - at));
    if (isRepetitive(borders) || isRepetitive(fromBehind)) {
      return (text, from) => searchWithBorders(text, from, { part, borders });
    }
  }
  return (text, from) => text.indexOf(part, from);
}

/** For each start of a text, ending at that index, how long the longest other start is with which it ends. */
function bordersOf(length: number, unitAt: (at: number) => number): Int32Array {
  const borders = new Int32Array(length);
  for (let at = 1, border = 0; at < length; at += 1) {
    while (border > 0 && unitAt(at) !== unitAt(border)) border = borders[border - 1] ?? 0;
    if (unitAt(at) === unitAt(border)) border += 1;
    borders[at] = border;
  }
  return borders;
}

function isRepetitive(borders: Int32Array): boolean {
  return borders.some((border) => border > HARMLESS_REPETITION);
}

/** After Knuth, Morris and Pratt: no character of the text is looked at twice for one that matched. */
function searchWithBorders(
  text: string,
  from: number,
  { part, borders }: { readonly part: string; readonly borders: Int32Array },
): number {
  for (let at = from, matched = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && unit !== part.charCodeAt(matched)) matched = borders[matched - 1] ?? 0;
    if (unit === part.charCodeAt(matched)) matched += 1;
    if (matched === part.length) return at - matched + 1;
  }
  return -1;
}
