import { useCallback, useEffect, useReducer, useRef, useState } from 'preact/hooks';

/** A text that is being written at a path, and not saved yet. */
export interface FileDraft {
  readonly text: string;
  /** The version that saving replaces; null: a new file. */
  readonly version: string | null;
  /** The text of that version; empty for a new file. */
  readonly base: string;
}

/** The drafts by their paths. */
export type DraftsByPath = ReadonlyMap<string, FileDraft>;

const NO_DRAFTS: DraftsByPath = new Map();

/** The time within which a draft that was thrown away can be brought back. */
const UNDO_MS = 10_000;

/** Keeps what is written and not saved, and makes the browser ask before it leaves the page. */
export function useDrafts(): {
  readonly drafts: DraftsByPath;
  /** The path of the draft that was thrown away last, while it can be brought back. */
  readonly thrown: string | undefined;
  /** Keeps a draft at a path in place of the former one, or none where it is undefined. */
  setDraft(path: string, draft: FileDraft | undefined): void;
  /** Throws the draft at a path away; `bringBack` brings it back within ten seconds. */
  throwAway(path: string): void;
  bringBack(): void;
} {
  const [drafts, change] = useReducer(withDraft, NO_DRAFTS);
  const [thrown, setThrown] = useState<{ readonly path: string; readonly draft: FileDraft }>();
  const latest = useRef(drafts);
  latest.current = drafts;
  const isWarning = drafts.size > 0;
  useEffect(() => {
    if (!isWarning) return undefined;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isWarning]);
  useEffect(() => {
    if (thrown === undefined) return undefined;
    const timer = setTimeout(() => setThrown(undefined), UNDO_MS);
    return () => clearTimeout(timer);
  }, [thrown]);
  const setDraft = useCallback((path: string, draft: FileDraft | undefined): void => {
    // Text that is written at that path from now on stays, whatever was thrown away before.
    if (draft !== undefined) setThrown((before) => (before?.path === path ? undefined : before));
    change({ path, draft });
  }, []);
  const throwAway = useCallback((path: string): void => {
    const draft = latest.current.get(path);
    if (draft !== undefined && draft.text !== draft.base) setThrown({ path, draft });
    change({ path, draft: undefined });
  }, []);
  const bringBack = useCallback((): void => {
    if (thrown !== undefined) change(thrown);
    setThrown(undefined);
  }, [thrown]);
  return { drafts, thrown: thrown?.path, setDraft, throwAway, bringBack };
}

function withDraft(
  drafts: DraftsByPath,
  { path, draft }: { readonly path: string; readonly draft: FileDraft | undefined },
): DraftsByPath {
  const next = new Map(drafts);
  if (draft === undefined) next.delete(path);
  else next.set(path, draft);
  return next;
}
