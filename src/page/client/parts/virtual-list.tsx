import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

/** The rows above and below the visible ones. New ones are laid out once half of them were scrolled past. */
const SPARE_ROWS = 12;

/**
 * A list of rows of one height, of which only those near the visible part exist. Its place scrolls; `height` is that of
 * a row in pixels.
 */
export function VirtualList<T>({
  place,
  rows,
  height,
  onSeen,
  children,
}: {
  readonly place: RefObject<HTMLElement | null>;
  readonly rows: readonly T[];
  readonly height: number;
  /** Called with the rows that exist, whenever they change. */
  readonly onSeen?: (rows: readonly T[]) => void;
  readonly children: (row: T, index: number) => ComponentChildren;
}) {
  const [seen, setSeen] = useState({ first: 0, last: Math.ceil(innerHeight / height) + SPARE_ROWS });
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const look = (): void => {
      const top = Math.floor(element.scrollTop / height);
      const bottom = Math.ceil((element.scrollTop + element.clientHeight) / height);
      const isNear = (spare: number, rows: number): boolean => Math.abs(spare - rows) <= SPARE_ROWS / 2;
      setSeen((before) =>
        isNear(Math.min(top, SPARE_ROWS), top - before.first) && isNear(SPARE_ROWS, before.last - bottom)
          ? before
          : { first: Math.max(0, top - SPARE_ROWS), last: bottom + SPARE_ROWS },
      );
    };
    look();
    element.addEventListener('scroll', look, { passive: true });
    const resizes = new ResizeObserver(look);
    resizes.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      resizes.disconnect();
    };
  }, [place, height, rows]);
  useEffect(() => onSeen?.(rows.slice(seen.first, seen.last)), [onSeen, rows, seen]);
  const first = Math.min(seen.first, Math.max(0, rows.length - 1));
  return (
    <div style={{ height: `${rows.length * height}px` }} role="presentation">
      <div role="presentation" style={{ transform: `translateY(${first * height}px)` }}>
        {rows.slice(first, seen.last).map((row, index) => children(row, first + index))}
      </div>
    </div>
  );
}

/** Finds the row to which a key leads from the row `at`, of `count` rows; undefined for a key that leads nowhere. */
export function rowAfter(
  { key, ctrlKey, metaKey, altKey }: KeyboardEvent,
  { at, count, page }: { readonly at: number; readonly count: number; readonly page: number },
): number | undefined {
  if (ctrlKey || metaKey || altKey) return undefined;
  const rows: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: count - 1,
  };
  const row = rows[key];
  return row === undefined ? undefined : Math.max(0, Math.min(count - 1, row));
}

/** Tells how many rows of a height in pixels a key for a page goes over. */
export function pageOf(place: HTMLElement | null, height: number): number {
  return Math.max(1, Math.floor((place?.clientHeight ?? 0) / height) - 1);
}

/** Scrolls a list of rows of one height in pixels until a row can be seen. */
export function revealRow(place: HTMLElement, row: number, height: number): void {
  const top = row * height;
  if (top < place.scrollTop) place.scrollTop = top;
  const bottom = top + height - place.clientHeight;
  if (bottom > place.scrollTop) place.scrollTop = bottom;
}
