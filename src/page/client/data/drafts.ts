import { useEffect } from 'preact/hooks';

/** What is being written at a path, and not saved yet. */
export interface Draft {
  readonly text: string;
  /** The version that saving replaces; null: a new file. */
  readonly version: string | null;
}

/** By their paths. */
export type Drafts = ReadonlyMap<string, Draft>;

/** The drafts with another one at the path; without one there where it is undefined. */
export function withDraft(drafts: Drafts, path: string, draft: Draft | undefined): Drafts {
  const next = new Map(drafts);
  if (draft === undefined) next.delete(path);
  else next.set(path, draft);
  return next;
}

/** The browser asks before it leaves what was written and not saved. */
export function useWarning(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return undefined;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isOn]);
}
