import { useMemo } from 'preact/hooks';
import { compareTexts, type DiffLine } from '../data/diff-lines.ts';
import { NearRows } from './near-part.tsx';
import { SeenText, UnseenBanner } from './seen-text.tsx';
import { counted } from './words.ts';

/** The lines that are shown; those that follow are counted. */
const MOST_LINES = 2_000;
const SIGNS = { same: ' ', removed: '−', added: '+' } as const;

/** Shows how two texts differ, one line below the other. */
export function TextDiff({
  before,
  after,
  label,
}: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}) {
  const { lines, more, isCoarse } = useMemo(() => compareTexts(before, after, MOST_LINES), [before, after]);
  const shown = useMemo(() => lines.map(textOf).join('\n'), [lines]);
  if (lines.length === 0) return <p class="empty">The texts are the same.</p>;
  return (
    <div class="diff" role="region" aria-label={label}>
      <UnseenBanner text={shown} />
      {isCoarse && (
        <p class="empty">
          The texts differ so much that lines which both have are shown as removed and added.
        </p>
      )}
      <NearRows rows={lines} height={21}>
        {(line, index) => <Line key={index} line={line} />}
      </NearRows>
      {more > 0 && <p class="empty">And {counted(more, 'more line')}.</p>}
    </div>
  );
}

function Line({ line }: { readonly line: DiffLine }) {
  if (line.kind === 'gap') return <div class="diff-gap">⋯</div>;
  const { kind, before, after, parts } = line;
  const whole = textOf(line);
  let to = 0;
  const words = parts.map(({ text, isChanged }, index) => {
    const from = to;
    to += text.length;
    // The line as a whole tells what is needed where it stands.
    const seen = <SeenText key={index} {...{ text: whole, from, to }} />;
    return isChanged ? (
      <mark key={index} class="changed">
        {seen}
      </mark>
    ) : (
      seen
    );
  });
  return (
    <div class="diff-line" data-kind={kind}>
      <span class="number">{before ?? ''}</span>
      <span class="number">{after ?? ''}</span>
      <span class="sign">{SIGNS[kind]}</span>
      <bdi class="words">
        {kind === 'same' && words}
        {kind === 'removed' && <del>{words}</del>}
        {kind === 'added' && <ins>{words}</ins>}
      </bdi>
    </div>
  );
}

function textOf(line: DiffLine): string {
  return line.kind === 'gap' ? '' : line.parts.map(({ text }) => text).join('');
}
