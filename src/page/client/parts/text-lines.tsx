import { useEffect, useMemo, useRef } from 'preact/hooks';
import { NearRows } from './near-part.tsx';
import { SeenText } from './seen-text.tsx';

/**
 * A text line by line, as it is, with a box for what cannot be seen. The lines are laid out as they are scrolled to, and
 * each has its own direction.
 */
export function TextLines({
  text,
  isNumbered,
  line,
}: {
  readonly text: string;
  readonly isNumbered: boolean;
  readonly line?: number | undefined;
}) {
  const place = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => text.split('\n'), [text]);
  useEffect(() => {
    if (line !== undefined)
      place.current?.querySelector(`[data-line="${line}"]`)?.scrollIntoView({ block: 'center' });
  }, [line, text]);
  return (
    <div ref={place} class="lines" data-numbered={isNumbered}>
      <NearRows rows={lines} height={21} shown={line === undefined ? undefined : line - 1}>
        {(each, index) => (
          <div class="line" key={index} data-line={index + 1} data-found={index + 1 === line}>
            {isNumbered && <span class="number">{index + 1}</span>}
            <bdi class="words">{each === '' ? '\n' : <SeenText text={each} />}</bdi>
          </div>
        )}
      </NearRows>
    </div>
  );
}
