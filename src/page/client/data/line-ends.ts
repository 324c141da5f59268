import { diffLines } from '../../../language/line-diff.ts';
import { toEnd } from './diff-lines.ts';

const END = /\r\n|\r|\n/g;
const LAST_END = /(?:\r\n|\r|\n)$/;

/**
 * Makes the text that is saved of a draft. The browser turns each line end into a line feed. Here a line of the base
 * gets its own line end back, and any other line gets the one that most lines of the base have.
 */
export function savedText({ text, base }: { readonly text: string; readonly base: string }): string {
  if (text === base || !base.includes('\r')) return text;
  const lines = base.split(/(?<=\r\n|\r(?!\n)|\n)/);
  const typed = text.replaceAll(END, '\n');
  const { after, runs } = toEnd(diffLines(base.replaceAll(END, '\n'), typed));
  const end = usualEnd(base);
  const saved = runs.flatMap(({ kind, before, after: at, count }) => {
    if (kind === 'removed') return [];
    if (kind === 'same') return lines.slice(before, before + count);
    return after.slice(at, at + count).map((line) => line.replace(LAST_END, end));
  });
  // A carriage return alone would become one line end with the line feed that follows.
  return saved
    .map((line, index) => (line.endsWith('\r') && saved[index + 1]?.startsWith('\n') ? `${line}\n` : line))
    .join('');
}

function usualEnd(text: string): string {
  const counts = new Map<string, number>();
  for (const [end] of text.matchAll(END)) counts.set(end, (counts.get(end) ?? 0) + 1);
  const [[most = '\n'] = []] = [...counts].sort(([, a], [, b]) => b - a);
  return most;
}
