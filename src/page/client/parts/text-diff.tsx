import { useMemo } from 'preact/hooks';
import { compareTexts, type DiffLine } from '../data/diff-lines.ts';
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
  if (lines.length === 0) return <p class="empty">The texts are the same.</p>;
  return (
    <div class="diff" role="region" aria-label={label}>
      {isCoarse && (
        <p class="empty">
          The texts differ so much that lines which both have are shown as removed and added.
        </p>
      )}
      {lines.map((line, index) => (
        <Line key={index} line={line} />
      ))}
      {more > 0 && <p class="empty">And {counted(more, 'more line')}.</p>}
    </div>
  );
}

function Line({ line }: { readonly line: DiffLine }) {
  if (line.kind === 'gap') return <div class="diff-gap">⋯</div>;
  const { kind, before, after, parts } = line;
  const words = parts.map(({ text, isChanged }, index) =>
    isChanged ? (
      <mark key={index} class="changed">
        {text}
      </mark>
    ) : (
      text
    ),
  );
  return (
    <div class="diff-line" data-kind={kind}>
      <span class="number">{before ?? ''}</span>
      <span class="number">{after ?? ''}</span>
      <span class="sign">{SIGNS[kind]}</span>
      {kind === 'same' && <span class="words">{words}</span>}
      {kind === 'removed' && <del class="words">{words}</del>}
      {kind === 'added' && <ins class="words">{words}</ins>}
    </div>
  );
}
