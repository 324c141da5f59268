import { stripVTControlCharacters } from 'node:util';

/** Pieces of one line keep this distance. */
const GAP = '  ';

/**
 * Rows of pieces for a screen: what does not fit beside the rest of its row begins the next one. A piece that is longer
 * than a row is not cut.
 *
 * @param pieces perhaps in colours, which take no room.
 * @param room characters of a row.
 */
export function rowsOf(
  pieces: readonly string[],
  { room, gap = GAP }: { readonly room: number; readonly gap?: string },
): readonly string[] {
  const rows: string[][] = [[]];
  let used = 0;
  for (const piece of pieces) {
    const width = [...stripVTControlCharacters(piece)].length;
    const row = rows.at(-1) ?? [];
    if (row.length > 0 && used + gap.length + width > room) {
      rows.push([piece]);
      used = width;
    } else {
      used += (row.length > 0 ? gap.length : 0) + width;
      row.push(piece);
    }
  }
  return rows.map((row) => row.join(gap));
}

/** A line in rows, of which the later ones are indented: of pieces that keep their distance, or of words. */
export function wrapped(
  line: string,
  { room, gap = GAP }: { readonly room: number; readonly gap?: string },
): readonly string[] {
  const rows = rowsOf(line.split(gap), { room: room - GAP.length, gap });
  return rows.map((row, index) => (index === 0 ? row.trimEnd() : `${GAP}${row.trim()}`));
}
