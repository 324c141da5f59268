import { useEffect, useState } from 'preact/hooks';
import { ask, Refused } from './ask.ts';

export interface Answer<T> {
  /** The last one that came; while another is on its way, the one before. */
  readonly value: T | undefined;
  readonly failure: Refused | undefined;
}

/** Asks a question about a path, and again whenever `stamp` changes. */
export function useAnswer<T extends { readonly path: string }>(
  name: string,
  {
    path,
    stamp,
    isOn,
  }: {
    readonly path: string;
    readonly stamp: unknown;
    readonly isOn: boolean;
  },
): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ value: undefined, failure: undefined });
  // The stamp makes it ask again.
  useEffect(() => {
    if (!isOn) return undefined;
    const ending = new AbortController();
    ask<T>(name, { path }, { signal: ending.signal }).then(
      (value) => {
        if (ending.signal.aborted) return;
        setAnswer({ value, failure: undefined });
      },
      (failure: unknown) => {
        if (ending.signal.aborted || !(failure instanceof Refused)) return;
        setAnswer({ value: undefined, failure });
      },
    );
    return () => ending.abort();
  }, [name, path, stamp, isOn]);
  const isOfPath = isOn && (answer.value === undefined || answer.value.path === path);
  return isOfPath ? answer : { value: undefined, failure: undefined };
}
