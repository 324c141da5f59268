import { useCallback, useEffect, useState } from 'preact/hooks';
import type { ListedFile } from '../../protocol.ts';
import { ask, Refused } from './ask.ts';

/** What a question may name. */
const MOST_PATHS = 100;
/** Rows that are scrolled past are not asked for. */
const PAUSE_MS = 150;

/** Who wrote the files that can be seen, by the versions that they have; while it is wanted. */
export function useWriters(isOn: boolean): {
  /** Undefined: not known yet. Empty: no actor is named. */
  writerOf(file: ListedFile): string | undefined;
  /** These are on the screen. */
  see(files: readonly ListedFile[]): void;
} {
  const [known, setKnown] = useState<ReadonlyMap<string, string>>(new Map());
  const [seen, setSeen] = useState<readonly ListedFile[]>([]);
  useEffect(() => {
    const missing = isOn ? seen.filter((file) => !known.has(idOf(file))).slice(0, MOST_PATHS) : [];
    if (missing.length === 0) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    const look = async (): Promise<void> => {
      const { writers } = await ask('writers', { paths: missing.map(({ path }) => path) }, { signal });
      // What was changed meanwhile, or cannot be opened, is as good as told for the version that was listed.
      const found = missing.map((file) => [idOf(file), ''] as const);
      const told = writers.map((each) => [idOf(each), each.writer ?? ''] as const);
      setKnown((before) => new Map([...before, ...found, ...told]));
    };
    const timer = setTimeout(() => {
      look().catch((error: unknown) => {
        if (!(error instanceof Refused) && !signal.aborted) throw error;
      });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [isOn, seen, known]);
  const writerOf = useCallback(
    (file: ListedFile) => (isOn ? known.get(idOf(file)) : undefined),
    [isOn, known],
  );
  return { writerOf, see: setSeen };
}

function idOf({ path, version }: { readonly path: string; readonly version: string }): string {
  return `${version} ${path}`;
}
