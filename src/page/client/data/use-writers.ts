import { useCallback, useEffect, useState } from 'preact/hooks';
import type { StoredFile } from '../../protocol.ts';
import { ask } from './ask.ts';
import { QuestionRefused } from './post.ts';
import type { UnseenReading } from './use-unseen.ts';

/** The most paths of one question. */
const MOST_PATHS = 100;
/** Rows that are scrolled past are not asked for. */
const PAUSE_MS = 150;

/** Asks who wrote the files that can be seen, once for each of their versions, while that is wanted. */
export function useWriters(
  isOn: boolean,
  onUnseen: (readings: readonly UnseenReading[]) => void,
): {
  /** The actor; undefined while it is not known, empty where none is named. */
  writerOf(file: StoredFile): string | undefined;
  /** Hears which files are on the screen. */
  see(files: readonly StoredFile[]): void;
} {
  const [known, setKnown] = useState<ReadonlyMap<string, string>>(new Map());
  const [seen, setSeen] = useState<readonly StoredFile[]>([]);
  useEffect(() => {
    const missing = isOn ? seen.filter((file) => !known.has(idOf(file))).slice(0, MOST_PATHS) : [];
    if (missing.length === 0) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    const look = async (): Promise<void> => {
      const { writers } = await ask('writers', { paths: missing.map(({ path }) => path) }, { signal });
      onUnseen(writers);
      // A file that was changed meanwhile, or cannot be opened, counts as told for the version that was listed.
      const found = missing.map((file) => [idOf(file), ''] as const);
      const told = writers.map((each) => [idOf(each), each.writer ?? ''] as const);
      setKnown((before) => new Map([...before, ...found, ...told]));
    };
    const timer = setTimeout(() => {
      look().catch((error: unknown) => {
        if (!(error instanceof QuestionRefused) && !signal.aborted) throw error;
      });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [isOn, seen, known, onUnseen]);
  const writerOf = useCallback(
    (file: StoredFile) => (isOn ? known.get(idOf(file)) : undefined),
    [isOn, known],
  );
  return { writerOf, see: setSeen };
}

function idOf({ path, version }: { readonly path: string; readonly version: string }): string {
  return `${version} ${path}`;
}
