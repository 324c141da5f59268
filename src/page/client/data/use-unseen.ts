import { useCallback, useState } from 'preact/hooks';

/** The number of characters that cannot be seen in a version of a file, told by the part of the page that read it. */
export interface UnseenReading {
  readonly path: string;
  readonly version: string;
  readonly unseen: number;
}

/**
 * Keeps how many characters cannot be seen in each file that was read. A listing tells nothing of texts: it counts none
 * for a file that was neither opened nor searched, and whose writer was not asked for.
 */
export function useUnseen(): {
  unseenIn(file: { readonly path: string; readonly version: string }): number;
  noteUnseen(readings: readonly UnseenReading[]): void;
} {
  const [known, setKnown] = useState<ReadonlyMap<string, UnseenReading>>(new Map());
  const noteUnseen = useCallback((readings: readonly UnseenReading[]) => {
    setKnown((before) => {
      const news = readings.filter(({ path, version, unseen }) => {
        const told = before.get(path);
        return told?.version === version ? told.unseen !== unseen : unseen > 0 || told !== undefined;
      });
      return news.length === 0
        ? before
        : new Map([...before, ...news.map((each) => [each.path, each] as const)]);
    });
  }, []);
  const unseenIn = useCallback(
    ({ path, version }: { readonly path: string; readonly version: string }) => {
      const told = known.get(path);
      return told?.version === version ? told.unseen : 0;
    },
    [known],
  );
  return { unseenIn, noteUnseen };
}
