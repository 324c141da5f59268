/** A finding in words for people, and what to do about it. */
export interface Told {
  /** `FAIL` for what is wrong, `untold` for what cannot be told. */
  readonly mark: 'FAIL' | 'untold';
  readonly found: string;
  readonly toDo?: string;
}

export const FAIL = { mark: 'FAIL' } as const;
/**
 * The advice after a remedy: a file that was restored is a new version, from which the line of the checkpoint still
 * differs.
 */
export const ON_PURPOSE =
  'if it is still named then, or after a restore on purpose, restart what holds the memory open, run "tenant history anew" where history is kept, then "checkpoint", and throw older lines away';

const MARK_CHARACTERS = 5;

export function toldLine({ mark, found, toDo }: Told): string {
  return `${mark.padEnd(MARK_CHARACTERS)} ${found}${toDo === undefined ? '' : ` — ${toDo}`}`;
}
