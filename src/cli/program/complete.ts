import type { Command } from 'commander';
import { slotAt } from './completion-slot.ts';
import { type Candidate, candidatesFor } from './completion-values.ts';

/** Directives as the scripts of shells read them: no space after the word; no files of the current folder instead. */
const NO_SPACE = 2;
const NO_FILES = 4;

/** The time, in milliseconds, after which a shell is answered with what is known by then. */
const LIMIT_MS = 1_500;

/**
 * Answers a shell that asks for words: each in a line of its own, with its explanation after a tab, and a directive in
 * the last line. bash hands the words over as they were typed, with their quotes, and gets them back so; other shells
 * get only the words that need no quotes. Nothing is written or asked, no failure is told, and after a moment the
 * answer is what is known by then.
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

/** Matches a word that needs no quotes in any shell, and is no option. */
const SAFE =
  /^[\p{L}\p{N}_./][\p{L}\p{M}\p{N}_\-.,/:=@%+]*$|^--?[a-zA-Z][a-zA-Z0-9-]*(=[\p{L}\p{M}\p{N}_\-.,/:@%+]*)?$/u;
const SPECIAL = /[^\p{L}\p{M}\p{N}_\-.,/:=@%+]/gu;
const CONTROL = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

/** Tells whether a word may stand in the line of any shell as it is. */
function isSafe(word: string): boolean {
  return SAFE.test(word);
}

/** Answers the word that bash makes of what was typed so far; nothing is expanded. */
function unquotedFromBash(typed: string): string {
  return typed.replaceAll(
    /\\(.)|'([^']*)(?:'|$)|"((?:[^"\\]|\\.)*)(?:"|$)/gs,
    (_, escaped?: string, single?: string, double?: string) =>
      escaped ?? single ?? (double ?? '').replaceAll(/\\(["\\$`])/g, '$1'),
  );
}

/**
 * Quotes a word so that it completes what was typed: bash puts it after a quote that is open, and escapes nothing
 * itself. Undefined where the word cannot stand there, as a file of the memory may have any name.
 */
function quotedForBash(word: string, typed: string): string | undefined {
  if (CONTROL.test(word)) return undefined;
  const [quote] = typed;
  if (quote === '"') return /["$`\\!]/.test(word) ? undefined : word;
  if (quote === "'") return /['!]/.test(word) ? undefined : word;
  return /["']/.test(typed.replaceAll(/\\./g, '')) ? undefined : word.replaceAll(SPECIAL, '\\$&');
}
