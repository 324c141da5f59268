import { toBase64url } from '../format/encoding.ts';
import { OFFSET } from '../format/header.ts';

/** A deed of a call at a file; a version is named as the history names it. */
export type Touch =
  /** An edit reads the version that it edits. */
  | { readonly kind: 'read' | 'written'; readonly path: string; readonly version: string }
  /** A file, or a directory with everything below it. */
  | { readonly kind: 'deleted'; readonly path: string }
  | { readonly kind: 'renamed'; readonly path: string; readonly to: string };

/** The touches of files, in their order. */
export interface Touches {
  /** The listed touches; a version that is read again is listed once. */
  readonly list: readonly Touch[];
  /** The number of touches beyond the listed ones. */
  readonly unlisted: number;
}

export const NO_TOUCHES: Touches = { list: [], unlisted: 0 };

/** The most touches that are listed. */
export const MOST_TOUCHES = 2_000;

/** Collects touches after those of `from`. */
export function collectTouches(from: Touches = NO_TOUCHES): {
  readonly add: (touch: Touch) => void;
  readonly touches: () => Touches;
} {
  const list = [...from.list];
  const read = new Set<string>();
  const isNew = (touch: Touch): boolean => {
    if (touch.kind !== 'read') return true;
    const name = `${touch.version} ${touch.path}`;
    if (read.has(name)) return false;
    if (read.size < MOST_TOUCHES) read.add(name);
    return true;
  };
  let { unlisted } = from;
  list.forEach(isNew);
  return {
    add(touch) {
      if (!isNew(touch)) return;
      if (list.length < MOST_TOUCHES) list.push(touch);
      else unlisted += 1;
    },
    touches: () => ({ list: [...list], unlisted }),
  };
}

/** Writes the id of a version that was opened, or of the object as it is stored, in base64url. */
export function versionName(of: { readonly id: Uint8Array } | { readonly body: Uint8Array }): string {
  return toBase64url('body' in of ? of.body.subarray(OFFSET.id, OFFSET.commitment) : of.id);
}
