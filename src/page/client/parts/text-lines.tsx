import { useEffect, useMemo, useRef } from 'preact/hooks';
import { visibleName } from '../../../language/invisible.ts';
import type { ResultOf } from '../../protocol.ts';
import { useNow } from '../data/use-now.ts';
import { type LineOrigin, originsOfLines } from './line-origins.ts';
import { NearRows } from './near-part.tsx';
import { SeenText } from './seen-text.tsx';
import { momentWords, timeWords } from './words.ts';

/**
 * A text line by line, as it is, with a box for what cannot be seen. The lines are laid out as they are scrolled to, and
 * each has its own direction.
 */
export function TextLines({
  text,
  isNumbered,
  line,
  writers,
}: {
  readonly text: string;
  readonly isNumbered: boolean;
  readonly line?: number | undefined;
  /** The writers of the lines, for a gutter beside them; null while they are not known yet, absent for no gutter. */
  readonly writers?: ResultOf<'lines'> | null | undefined;
}) {
  const place = useRef<HTMLDivElement>(null);
  const origins = useMemo(() => (writers ? originsOfLines(writers) : []), [writers]);
  const lines = useMemo(() => text.split('\n'), [text]);
  useEffect(() => {
    if (line !== undefined)
      place.current?.querySelector(`[data-line="${line}"]`)?.scrollIntoView({ block: 'center' });
  }, [line, text]);
  return (
    <div ref={place} class="lines" data-numbered={isNumbered}>
      <NearRows rows={lines} height={21} shown={line === undefined ? undefined : line - 1}>
        {(each, index) => (
          <div
            class="line"
            key={index}
            data-line={index + 1}
            data-found={index + 1 === line}
            data-other={origins[index]?.isOther}
          >
            {writers !== undefined && <Origin of={origins[index]} />}
            {isNumbered && <span class="number">{index + 1}</span>}
            <bdi class="words">{each === '' ? '\n' : <SeenText text={each} />}</bdi>
          </div>
        )}
      </NearRows>
    </div>
  );
}

/** Names the actor beside the first of its lines; all of them say in the title who wrote them and when. */
function Origin({ of }: { readonly of: LineOrigin | undefined }) {
  const now = useNow();
  if (of === undefined) return <span class="origin" />;
  const { writer, time, isCertain, isFirst } = of;
  const actor = writer === undefined ? 'no actor' : visibleName(writer);
  const moment = `${momentWords(time, now)}, ${timeWords(time)}`;
  const title = isCertain
    ? `Written by ${actor} ${moment}`
    : `Older than the versions that were read: in the one by ${actor} ${moment}`;
  return (
    <span class="origin" title={title}>
      {isFirst && (isCertain ? actor : 'earlier')}
    </span>
  );
}
