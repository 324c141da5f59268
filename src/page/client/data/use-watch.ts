import { useEffect, useRef, useState } from 'preact/hooks';
import type { TreeChange } from '../../protocol.ts';
import { follow, GONE, LOCKED, QuestionRefused } from './ask.ts';
import { countLook } from './spent.ts';

/** The time from a failure of the store to the next look. */
const RETRY_MS = 2_000;

/** Watches the tree while the page can be seen, and counts what the looks cost. */
export function useWatch({
  isOn,
  onChange,
  onFailure,
  onEnd,
}: {
  readonly isOn: boolean;
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
  useEffect(() => {
    if (!isOn || !isSeen) return undefined;
    const ending = new AbortController();
    const take = (change: TreeChange): void => {
      countLook(change.requests);
      latest.current.onChange(change);
    };
    const watch = async (): Promise<void> => {
      for (;;) {
        try {
          await follow('watch', take, ending.signal);
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
