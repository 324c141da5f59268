import { useEffect, useState } from 'preact/hooks';
import type { InputOf, ResultOf } from '../../protocol.ts';
import { ask } from './ask.ts';
import { QuestionRefused } from './post.ts';

/** The questions about a path alone. */
type PathQuestion = 'file' | 'directory' | 'object' | 'versions' | 'lines';

interface LatestAnswer<T> {
  /** The last answer that came; while another one is on its way, the one before. */
  readonly value: T | undefined;
  readonly failure: QuestionRefused | undefined;
}

/** Asks a question about a path, and again whenever `stamp` changes. */
export function useAnswer<N extends PathQuestion>(
  name: N,
  input: InputOf<N> & { readonly path: string },
  { stamp, isOn }: { readonly stamp: unknown; readonly isOn: boolean },
): LatestAnswer<ResultOf<N>> {
  const { path } = input;
  const [answer, setAnswer] = useState<LatestAnswer<ResultOf<N>> & { readonly path?: string }>({
    value: undefined,
    failure: undefined,
  });
  // The stamp makes it ask again.
  useEffect(() => {
    if (!isOn) return undefined;
    const ending = new AbortController();
    ask(name, input, { signal: ending.signal }).then(
      (value) => {
        if (ending.signal.aborted) return;
        setAnswer({ path, value, failure: undefined });
      },
      (failure: unknown) => {
        if (ending.signal.aborted || !(failure instanceof QuestionRefused)) return;
        setAnswer({ path, value: undefined, failure });
      },
    );
    return () => ending.abort();
  }, [name, path, stamp, isOn]);
  const isOfPath = isOn && (answer.value === undefined || answer.path === path);
  return isOfPath ? answer : { value: undefined, failure: undefined };
}
