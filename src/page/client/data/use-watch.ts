import { useEffect, useRef, useState } from 'preact/hooks';
import type { TreeChange } from '../../protocol.ts';
import { ask, follow, GONE, LOCKED, QuestionRefused } from './ask.ts';
import { countLook } from './spent.ts';

/** The time from a failure of the store to the next look. */
const RETRY_MS = 2_000;

/** Ends a path in a list of them; none holds it. */
const END = '\0';
/** The time for which rows that are scrolled past are not told to the watch. */
const PAUSE_MS = 150;

/**
 * Watches the tree while the page can be seen, and counts what the looks cost. The pages of a first look are passed on
 * when they are as many as those before them, so that a tree is made anew a few times, and not for each page.
 */
export function useWatch({
  isOn,
  open,
  onChange,
  onFailure,
  onEnd,
}: {
  readonly isOn: boolean;
  /** The files and directories that are looked at first; undefined for all alike. */
  readonly open: readonly string[] | undefined;
  readonly onChange: (change: TreeChange) => void;
  /** The store did not answer; it is asked again. */
  readonly onFailure: (message: string) => void;
  readonly onEnd: (error: unknown) => void;
}): void {
  const latest = useRef({ onChange, onFailure, onEnd });
  latest.current = { onChange, onFailure, onEnd };
  const [isSeen, setSeen] = useState(!document.hidden);
  useEffect(() => {
    const look = (): void => setSeen(!document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  const [watch, setWatch] = useState<string>();
  const told = open?.join(END);
  useEffect(() => {
    if (watch === undefined || told === undefined) return undefined;
    const tell = (): void => {
      // A watch that has ended meanwhile begins anew, with another name.
      ask('attend', { id: watch, paths: told.split(END) }).catch(() => {});
    };
    const timer = setTimeout(tell, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [watch, told]);
  useEffect(() => {
    if (!isOn || !isSeen) return undefined;
    const ending = new AbortController();
    const gathered = gathering((change) => latest.current.onChange(change));
    const watch = async (): Promise<void> => {
      for (;;) {
        try {
          const id = crypto.randomUUID();
          const take = (change: TreeChange): void => {
            setWatch(id);
            countLook(change.requests);
            gathered(change);
          };
          await follow('watch', { id }, take, ending.signal);
        } catch (error) {
          if (ending.signal.aborted) return;
          if (!(error instanceof QuestionRefused) || error.code === GONE || error.code === LOCKED) {
            latest.current.onEnd(error);
            return;
          }
          latest.current.onFailure(error.message);
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
          if (ending.signal.aborted) return;
        }
      }
    };
    void watch();
    return () => ending.abort();
  }, [isOn, isSeen]);
}

/** Joins the pages of a first look until they hold as many files as were passed on. */
function gathering(pass: (change: TreeChange) => void): (change: TreeChange) => void {
  let passed = 0;
  let waiting: TreeChange[] = [];
  return (change) => {
    if (change.whole) [passed, waiting] = [0, []];
    waiting.push(change);
    const changed = waiting.flatMap((each) => each.changed);
    if (change.isPartial && changed.length < passed) return;
    passed += changed.length;
    const whole = waiting.some((each) => each.whole);
    waiting = [];
    pass({ ...change, whole, changed });
  };
}
