/** How many line feeds the text holds; it shows as one more line than that. */
export function countLineBreaks(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** Where the 1-based `line` begins; there are at least `line - 1` line feeds in the text. */
export function startOfLine(text: string, line: number): number {
  let at = 0;
  for (let passed = 1; passed < line; passed += 1) at = text.indexOf('\n', at) + 1;
  return at;
}

/** Where the line that begins at `from` ends, its line feed excluded. */
export function endOfLine(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  return at === -1 ? text.length : at;
}
