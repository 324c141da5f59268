import type { Command } from 'commander';
import { slotAt } from './completion-slot.ts';
import { type Candidate, candidatesFor } from './completion-values.ts';
import { isSafe, quotedForBash, unquotedFromBash } from './completion-words.ts';

/** As the scripts of shells read it: after the word no space; no files of the current folder instead. */
const NO_SPACE = 2;
const NO_FILES = 4;

/** Nobody waits longer for a word. */
const LIMIT_MS = 1_500;

/**
 * Answers a shell that asks for words: one in a line, with what explains it behind a tab, and a directive in the last line. Of
 * bash the words come as they were typed, with their quotes, and go back so; the others get those alone that need no quotes. Nothing
 * is written or asked, no failure is told, and after a moment the answer is what is known by then.
 */
export async function runComplete(program: Command, args: readonly string[]): Promise<number> {
  const start = args.indexOf('--');
  const isBash = args[0] === 'bash';
  const typed = args.slice(start + 1);
  const raw = typed.at(-1) ?? '';
  const words = isBash ? typed.map(unquotedFromBash) : typed;
  const slot = start < 0 ? undefined : slotAt(program, words);
  const controller = new AbortController();
  const late = new Promise<readonly Candidate[]>((resolve) => {
    setTimeout(() => {
      controller.abort();
      resolve([]);
    }, LIMIT_MS).unref();
  });
  const found =
    slot === undefined ? [] : await Promise.race([candidatesFor(slot, controller).catch(() => []), late]);
  const fitting = found.filter(({ value }) => value.startsWith(slot?.current ?? ''));
  const lines = fitting.flatMap(({ value, told }) => {
    const word = `${slot?.before ?? ''}${value}`;
    if (isBash) return quotedForBash(word, raw) ?? [];
    return isSafe(word) ? `${word}\t${told.replace(/\s+/g, ' ')}` : [];
  });
  const [only] = fitting;
  const hasMore = fitting.length === 1 && only?.value.endsWith('/') === true;
  const isFile = slot?.kind === 'file' || (slot?.orFile === true && lines.length === 0);
  const directive = isFile ? 0 : NO_FILES + (hasMore ? NO_SPACE : 0);
  await new Promise((resolve) =>
    process.stdout.write([...new Set(lines), `:${directive}`].map((line) => `${line}\n`).join(''), resolve),
  );
  // A store that does not answer would hold the shell up.
  process.exit(0);
}
