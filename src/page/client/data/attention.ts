import { ask } from './ask.ts';

/** The time for which rows that are scrolled past are not told to the watch. */
const PAUSE_MS = 150;

interface Attended {
  /** The name of the watch; one that ended meanwhile begins anew, with another name. */
  readonly id: string;
  /** The path that is open; undefined where the watch looks at everything alike. */
  readonly selected: string | undefined;
  /** The directories whose files can be seen in the tree. */
  readonly seen: readonly string[];
}

/** The paths that the watch looks at first. */
export interface Attention {
  /** Turns to something else, and tells the server a moment later. */
  turn(to: Partial<Attended>): void;
}

export function createAttention(): Attention {
  let attended: Partial<Attended> = {};
  let told = '';
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = (): void => {
    const { id, selected, seen = [] } = attended;
    if (id === undefined || selected === undefined) return;
    const wish = { id, paths: [selected, ...seen] };
    const telling = JSON.stringify(wish);
    if (telling === told) return;
    told = telling;
    // A server that is gone is told by the watch.
    ask('attend', wish).catch(() => {});
  };
  return {
    turn(to) {
      attended = { ...attended, ...to };
      clearTimeout(timer);
      timer = setTimeout(tell, PAUSE_MS);
    },
  };
}
