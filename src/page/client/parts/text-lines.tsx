import { useEffect, useMemo, useRef } from 'preact/hooks';
import { SeenText } from './seen-text.tsx';

/** Lines that are laid out together; those out of sight are not laid out at all. */
const LINES_PER_PART = 100;

/** A text line by line, as it is, with a box for what cannot be seen. Each line has its own direction. */
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
  const parts = useMemo(() => {
    const lines = text.split('\n');
    return Array.from({ length: Math.ceil(lines.length / LINES_PER_PART) }, (_, index) =>
      lines.slice(index * LINES_PER_PART, (index + 1) * LINES_PER_PART),
    );
  }, [text]);
  useEffect(() => {
    if (line !== undefined)
      place.current?.querySelector(`[data-line="${line}"]`)?.scrollIntoView({ block: 'center' });
  }, [line, text]);
  return (
    <div ref={place} class="lines" data-numbered={isNumbered}>
      {parts.map((lines, part) => (
        <div class="part" key={part} style={{ 'contain-intrinsic-size': `auto ${lines.length * 21}px` }}>
          {lines.map((each, index) => {
            const number = part * LINES_PER_PART + index + 1;
            return (
              <div class="line" key={number} data-line={number} data-found={number === line}>
                {isNumbered && <span class="number">{number}</span>}
                <bdi class="words">{each === '' ? '\n' : <SeenText text={each} />}</bdi>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}
