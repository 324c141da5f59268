/** A finding in words for people, and what to do about it. */
export interface Told {
  /** `FAIL` for what is wrong, `untold` for what cannot be told. */
  readonly mark: 'FAIL' | 'untold';
  readonly found: string;
  readonly toDo?: string;
}

export const FAIL = { mark: 'FAIL' } as const;
/**
 * The advice that follows a remedy: a restored file is a new version, which still differs from the line of the
 * checkpoint.
 */
export const ON_PURPOSE =
  'if it is still named then, or after a restore on purpose, restart what holds the memory open, run "tenant history anew" where history is kept, then "checkpoint", and throw older lines away';

const MARK_CHARACTERS = 5;

export function toldLine({ mark, found, toDo }: Told): string {
  return `${mark.padEnd(MARK_CHARACTERS)} ${found}${toDo === undefined ? '' : ` — ${toDo}`}`;
}
