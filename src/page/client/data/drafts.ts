import { useCallback, useEffect, useReducer } from 'preact/hooks';

/** A text that is being written at a path, and not saved yet. */
export interface FileDraft {
  readonly text: string;
  /** The version that saving replaces; null: a new file. */
  readonly version: string | null;
}

/** The drafts by their paths. */
type DraftsByPath = ReadonlyMap<string, FileDraft>;

const NO_DRAFTS: DraftsByPath = new Map();

/** Keeps what is written and not saved, and has the browser ask before it leaves it. */
export function useDrafts(): {
  readonly drafts: DraftsByPath;
  /** Keeps another draft at a path; none there where it is undefined. */
  setDraft(path: string, draft: FileDraft | undefined): void;
} {
  const [drafts, change] = useReducer(withDraft, NO_DRAFTS);
  const isWarning = drafts.size > 0;
  useEffect(() => {
    if (!isWarning) return undefined;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isWarning]);
  const setDraft = useCallback(
    (path: string, draft: FileDraft | undefined): void => change({ path, draft }),
    [],
  );
  return { drafts, setDraft };
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
