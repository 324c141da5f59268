import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { pause } from '../../../time.ts';
import type { TreeChange } from '../../protocol.ts';
import { changesOf, LOCKED } from './ask.ts';
import { type Attention, createAttention } from './attention.ts';
import { gathering } from './gathering.ts';
import { type BegunWatch, beginWatch, GONE, QuestionRefused } from './post.ts';
import { countLook } from './spent.ts';

/** The time from a failure of the store to the next look. */
const RETRY_MS = 2_000;
/** The longest wait for something that is likely to be there at once. */
const MOMENT_MS = 100;

/** A watch, and what it tells from here on. */
export interface OngoingWatch extends Pick<BegunWatch, 'id' | 'ending'> {
  readonly changes: AsyncIterable<TreeChange>;
  /** The first change, where it was taken out of `changes`. */
  readonly first: TreeChange | undefined;
}

function watchAnew(ending = new AbortController()): OngoingWatch {
  const begun = beginWatch(ending);
  return { id: begun.id, ending, changes: changesOf(begun), first: undefined };
}

/**
 * Waits at most `MOMENT_MS` for the first change of a watch. One that came is told apart, so that a page with files is
 * drawn once.
 */
export async function withFirstChange(begun: BegunWatch): Promise<OngoingWatch> {
  const { id, ending } = begun;
  const changes = changesOf(begun);
  const pending = changes.next().then(({ value }) => value);
  const first = await Promise.race([pending, pause(MOMENT_MS).then(() => undefined)]).catch(() => undefined);
  if (first === undefined) return { id, ending, changes: startedWith(pending, changes), first };
  countLook(first.requests);
  return { id, ending, changes, first };
}

async function* startedWith<T>(first: Promise<T>, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield await first;
  yield* rest;
}

/** Watches the tree while the page can be seen, and counts what the looks cost. */
export function useWatch({
  given,
  onChange,
  onFailure,
  onEnd,
}: {
  /** The first watch, where the page began it. */
  readonly given: OngoingWatch | undefined;
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
    // It may have changed since it was rendered.
    look();
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  const first = useRef(given);
  const [gathered] = useState(() => gathering((change) => latest.current.onChange(change), given?.first));
  useLayoutEffect(() => {
    const begun = first.current;
    first.current = undefined;
    if (!isSeen) {
      // The page was hidden while it was loaded.
      begun?.ending.abort();
      return undefined;
    }
    let ongoing = begun ?? watchAnew();
    const { ending } = ongoing;
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
          ongoing = watchAnew(ending);
        }
      }
    };
    void go();
    return () => ending.abort();
  }, [isSeen, attention, gathered]);
  return attention;
}

/** Waits until the browser has painted what is there, at most `MOMENT_MS`: a page that cannot be seen is not painted. */
function painted(): Promise<unknown> {
  const frame = new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return Promise.race([frame, pause(MOMENT_MS)]);
}
