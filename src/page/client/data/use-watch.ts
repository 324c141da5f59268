import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TreeChange } from '../../protocol.ts';
import { changesOf, LOCKED } from './ask.ts';
import { type Attention, createAttention } from './attention.ts';
import { gathering, MOMENT_MS, painted, pause } from './pace.ts';
import { type BegunWatch, beginWatch, GONE, QuestionRefused } from './post.ts';
import { countLook } from './spent.ts';

/** The time from a failure of the store to the next look. */
const RETRY_MS = 2_000;

/** A watch, and what it tells from here on. */
export interface OngoingWatch extends Pick<BegunWatch, 'id' | 'ending'> {
  readonly changes: AsyncIterable<TreeChange>;
  /** The files that are shown already. */
  readonly shown: number;
}

/** Begins a watch. */
export function watch(ending = new AbortController()): OngoingWatch {
  const begun = beginWatch(ending);
  return { id: begun.id, ending, changes: changesOf(begun), shown: 0 };
}

/**
 * Waits a moment for what a watch tells first, and takes it out of the watch where it came: a page with files is then
 * drawn once.
 */
export async function firstChangeOf(
  begun: BegunWatch,
): Promise<{ readonly watch: OngoingWatch; readonly first: TreeChange | undefined }> {
  const { id, ending } = begun;
  const changes = changesOf(begun);
  const pending = changes.next().then(({ value }) => value);
  const first = await Promise.race([pending, pause(MOMENT_MS)]).catch(() => undefined);
  if (first === undefined)
    return { watch: { id, ending, changes: startedWith(pending, changes), shown: 0 }, first };
  countLook(first.requests);
  return { watch: { id, ending, changes, shown: first.changed.length }, first };
}

async function* startedWith<T>(first: Promise<T>, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield await first;
  yield* rest;
}

/**
 * Watches the tree while the page can be seen, and counts what the looks cost. The pages of a first look are passed on
 * when they are as many as those before them, so that a tree is made anew a few times, and not for each page.
 */
export function useWatch({
  begun: given,
  onChange,
  onFailure,
  onEnd,
}: {
  /** The first one, where the page began it. */
  readonly begun: OngoingWatch | undefined;
  readonly onChange: (change: TreeChange) => void;
  /** The store did not answer; it is asked again. */
  readonly onFailure: (message: string) => void;
  readonly onEnd: (error: unknown) => void;
}): Attention {
  const [attention] = useState(createAttention);
  const latest = useRef({ onChange, onFailure, onEnd });
  latest.current = { onChange, onFailure, onEnd };
  const [isSeen, setSeen] = useState(!document.hidden);
  useEffect(() => {
    const look = (): void => setSeen(!document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  const first = useRef(given);
  useLayoutEffect(() => {
    const begun = first.current;
    first.current = undefined;
    if (!isSeen) {
      // The page was hidden while it was loaded.
      begun?.ending.abort();
      return undefined;
    }
    let ongoing = begun ?? watch();
    const { ending } = ongoing;
    const gathered = gathering((change) => latest.current.onChange(change), ongoing.shown);
    const go = async (): Promise<void> => {
      for (;;) {
        try {
          for await (const change of ongoing.changes) {
            await painted();
            if (ending.signal.aborted) return;
            attention.turn({ id: ongoing.id });
            countLook(change.requests);
            gathered(change);
          }
        } catch (error) {
          if (ending.signal.aborted) return;
          if (!(error instanceof QuestionRefused) || error.code === GONE || error.code === LOCKED) {
            latest.current.onEnd(error);
            return;
          }
          latest.current.onFailure(error.message);
          await pause(RETRY_MS);
          if (ending.signal.aborted) return;
          ongoing = watch(ending);
        }
      }
    };
    void go();
    return () => ending.abort();
  }, [isSeen, attention]);
  return attention;
}
