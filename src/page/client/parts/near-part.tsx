import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The pixels above and below the visible area within which a part is laid out. */
const MARGIN = 800;
/** The rows that are laid out together. */
const ROWS_PER_PART = 100;

/**
 * Shows a part of a scrolled view. Its children exist only while it is near the visible area; otherwise an empty
 * element of the same height stands in for them.
 */
export function NearPart({
  tag: Tag = 'div',
  start,
  height,
  isShown = false,
  children,
}: {
  readonly tag?: 'div' | 'span' | 'tbody' | 'ul' | 'ol';
  /** The number of the first item of an ordered list. */
  readonly start?: number | undefined;
  /** The likely height in pixels, which counts until the children have been laid out once. */
  readonly height: number;
  /** True where the children exist wherever the part is. */
  readonly isShown?: boolean;
  readonly children: () => ComponentChildren;
}) {
  const place = useRef<HTMLElement | null>(null);
  const known = useRef(height);
  const [isNear, setNear] = useState(false);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const scroller = scrollerOf(element);
    setNear(isNearTo(element, scroller));
    return observe(element, scroller, (near) => {
      if (!near) known.current = element.offsetHeight;
      setNear(near);
    });
  }, []);
  const isLaidOut = isNear || isShown;
  const keep = (element: HTMLElement | null): void => {
    place.current = element;
  };
  const style = { height: `${known.current}px` };
  return (
    <Tag
      ref={keep}
      class="part"
      role={Tag === 'div' ? 'presentation' : undefined}
      start={start}
      style={isLaidOut || Tag === 'tbody' ? undefined : style}
    >
      {isLaidOut ? children() : Tag === 'tbody' && <tr style={style} />}
    </Tag>
  );
}

/** Rows in parts that are laid out as they are scrolled to. */
export function NearRows<T>({
  rows,
  height,
  shown,
  children,
}: {
  readonly rows: readonly T[];
  /** The likely height of a row in pixels. */
  readonly height: number;
  /** The place of a row that exists in any case, from 0. */
  readonly shown?: number | undefined;
  readonly children: (row: T, index: number) => ComponentChildren;
}) {
  return (
    <>
      {partsOf(rows).map((part, at) => {
        const first = at * ROWS_PER_PART;
        return (
          <NearPart
            key={first}
            height={part.length * height}
            isShown={shown !== undefined && shown >= first && shown < first + part.length}
          >
            {() => part.map((row, index) => children(row, first + index))}
          </NearPart>
        );
      })}
    </>
  );
}

/** Divides rows into the parts that are laid out together. */
export function partsOf<T>(rows: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(rows.length / ROWS_PER_PART) }, (_, at) =>
    rows.slice(at * ROWS_PER_PART, (at + 1) * ROWS_PER_PART),
  );
}

/** Finds the element that scrolls what is in it; null for the window. */
function scrollerOf(element: HTMLElement): HTMLElement | null {
  for (let at = element.parentElement; at !== null; at = at.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  }
  return null;
}

function isNearTo(element: HTMLElement, scroller: HTMLElement | null): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const seen = scroller?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
  return bottom > seen.top - MARGIN && top < seen.bottom + MARGIN;
}

interface Observing {
  readonly observer: IntersectionObserver;
  readonly hearers: Map<Element, (isNear: boolean) => void>;
}

/** One observer for everything that scrolls together. */
const observing = new WeakMap<Node, Observing>();

/** Tells whenever an element comes near the visible area, or leaves it; returns the function that ends this. */
function observe(
  element: HTMLElement,
  scroller: HTMLElement | null,
  hear: (isNear: boolean) => void,
): () => void {
  const root = scroller ?? document;
  const { observer, hearers } = observing.get(root) ?? begin(root);
  hearers.set(element, hear);
  observer.observe(element);
  return () => {
    observer.unobserve(element);
    hearers.delete(element);
  };
}

function begin(root: Element | Document): Observing {
  const hearers: Observing['hearers'] = new Map();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) hearers.get(target)?.(isIntersecting);
    },
    { root, rootMargin: `${MARGIN}px` },
  );
  const begun = { observer, hearers };
  observing.set(root, begun);
  return begun;
}
