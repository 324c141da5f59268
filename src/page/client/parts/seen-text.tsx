import type { ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import { countInvisible, seenParts } from '../../../language/invisible.ts';
import { counted } from './words.ts';

/** The boxes that one text has at most; what follows stands between brackets. */
const MOST_BOXES = 500;

/** Shows a text, or the part of it from `from` to `to`, with a box for what cannot be seen. */
export function SeenText({
  text,
  from,
  to,
}: {
  readonly text: string;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}) {
  return <>{useMemo(() => boxed(text, from, to), [text, from, to])}</>;
}

function boxed(text: string, from?: number, to?: number): readonly ComponentChild[] {
  const shown: ComponentChild[] = [];
  let boxes = 0;
  let rest = '';
  for (const part of seenParts(text, from, to)) {
    if (boxes === MOST_BOXES) rest += typeof part === 'string' ? part : `⟨${part.label}⟩`;
    else if (typeof part === 'string') shown.push(part);
    else {
      boxes += 1;
      shown.push(
        <span class="unseen" key={boxes} title={part.name}>
          {part.label}
        </span>,
      );
    }
  }
  return [...shown, rest];
}

/** Says how many characters of a text cannot be seen; nothing where all can. */
export function UnseenBanner({ text }: { readonly text: string }) {
  const count = useMemo(() => countInvisible(text), [text]);
  if (count === 0) return null;
  return (
    <p class="unseen-banner" role="status">
      <strong>{unseenWords(count)}</strong> Claude reads {count === 1 ? 'it' : 'them'} all the same.
    </p>
  );
}

/** `1 character here cannot be seen.` */
export function unseenWords(count: number): string {
  return `${counted(count, 'character')} here cannot be seen.`;
}
