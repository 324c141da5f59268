import type { StoredSummary } from './page.ts';
import type { SessionKey } from './session-key.ts';

/** A function that summarises a session step by step, as lines come. */
export interface SessionFold {
  /** The name of the summaries' form, such as that of a library; summaries under another name are left alone. */
  readonly by: string;
  /**
   * Makes the summary, in JSON, of the lines that `previous` summarises (none where it is undefined) and the lines
   * after them. Where it fails, or answers with what is no JSON, there is no summary, and the lines are kept.
   */
  fold(previous: unknown, key: SessionKey, lines: readonly string[]): unknown;
}

/** Asks a fold for the summary of the lines after `previous`; undefined where it gives none that a page can hold. */
export function foldLines(
  fold: SessionFold,
  given: {
    readonly previous?: unknown;
    readonly key: SessionKey;
    readonly lines: readonly { readonly text: string }[];
  },
): StoredSummary | undefined {
  try {
    const { by } = fold;
    const texts = given.lines.map(({ text }) => text);
    const answer: unknown = fold.fold(given.previous, { ...given.key }, texts);
    if (typeof by !== 'string' || isPromised(answer)) return undefined;
    const json = JSON.stringify(answer);
    return json === undefined ? undefined : { by, data: JSON.parse(json) };
  } catch {
    return undefined;
  }
}

/** Tells an answer that comes later, which is too late; its failure then ends nothing. */
function isPromised(answer: unknown): boolean {
  if (!(answer instanceof Promise)) return false;
  answer.catch(() => {});
  return true;
}
