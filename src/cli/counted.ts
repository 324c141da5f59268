/** `1 file`, `2 files`; words that take more than an s bring their plural. */
export function counted(count: number, what: string, several = `${what}s`): string {
  return `${count} ${count === 1 ? what : several}`;
}
