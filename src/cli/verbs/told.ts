/** What is found, and what to do about it. */
export interface Told {
  /** Whether it is wrong, or cannot be told. */
  readonly mark: 'FAIL' | 'told?';
  readonly found: string;
  readonly toDo?: string;
}

export const FAIL = { mark: 'FAIL' } as const;
export const ACCEPT = 'if it was on purpose, "checkpoint --accept" says so';

const MARK_CHARACTERS = 6;

export function toldLine({ mark, found, toDo }: Told): string {
  return `${mark.padEnd(MARK_CHARACTERS)}${found}${toDo === undefined ? '' : ` — ${toDo}`}`;
}
