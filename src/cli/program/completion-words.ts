/** Needs no quotes in any shell, and is no option. */
const SAFE =
  /^[\p{L}\p{N}_./][\p{L}\p{M}\p{N}_\-.,/:=@%+]*$|^--?[a-zA-Z][a-zA-Z0-9-]*(=[\p{L}\p{M}\p{N}_\-.,/:@%+]*)?$/u;
const SPECIAL = /[^\p{L}\p{M}\p{N}_\-.,/:=@%+]/gu;
const CONTROL = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

/** Whether a word may stand in the line of any shell as it is. */
export function isSafe(word: string): boolean {
  return SAFE.test(word);
}

/** The word that bash makes of what was typed, as far as it was; nothing is expanded. */
export function unquotedFromBash(typed: string): string {
  return typed.replaceAll(
    /\\(.)|'([^']*)(?:'|$)|"((?:[^"\\]|\\.)*)(?:"|$)/gs,
    (_, escaped?: string, single?: string, double?: string) =>
      escaped ?? single ?? (double ?? '').replaceAll(/\\(["\\$`])/g, '$1'),
  );
}

/**
 * The word as it completes what was typed: bash puts it behind a quote that is open, and escapes nothing itself. Undefined where it
 * cannot stand there. A file of the memory may have any name.
 */
export function quotedForBash(word: string, typed: string): string | undefined {
  if (CONTROL.test(word)) return undefined;
  const [quote] = typed;
  if (quote === '"') return /["$`\\!]/.test(word) ? undefined : word;
  if (quote === "'") return /['!]/.test(word) ? undefined : word;
  return /["']/.test(typed.replaceAll(/\\./g, '')) ? undefined : word.replaceAll(SPECIAL, '\\$&');
}
