import { useEffect, useRef, useState } from 'preact/hooks';
import { visible, visibleName } from '../../../language/invisible.ts';
import type { FoundLine, LineOf, ResultOf } from '../../protocol.ts';
import { ask } from '../data/ask.ts';
import { QuestionRefused } from '../data/post.ts';
import { ROOT } from '../data/tree-rows.ts';
import type { UnseenReading } from '../data/use-unseen.ts';
import { SeenText } from '../parts/seen-text.tsx';
import { counted } from '../parts/words.ts';

interface SearchState {
  readonly text: string;
  readonly found: readonly FoundLine[];
  readonly step: Exclude<LineOf<'search'>, FoundLine | UnseenReading> | undefined;
  readonly end: ResultOf<'search'> | undefined;
  readonly failure: string | undefined;
}

/** A search in the texts of all files; one at a time. */
export function useSearch(onUnseen: (readings: readonly UnseenReading[]) => void): {
  readonly state: SearchState | undefined;
  start(text: string): void;
  clear(): void;
} {
  const [state, setState] = useState<SearchState>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const clear = (): void => {
    running.current?.abort();
    setState(undefined);
  };
  return {
    state,
    clear,
    start(text) {
      clear();
      if (text.trim() === '') return;
      const ending = new AbortController();
      running.current = ending;
      setState({ text, found: [], step: undefined, end: undefined, failure: undefined });
      const update = (change: (before: SearchState) => Partial<SearchState>): void => {
        if (!ending.signal.aborted) setState((before) => before && { ...before, ...change(before) });
      };
      ask(
        'search',
        { text },
        {
          signal: ending.signal,
          onLine(line) {
            if ('unseen' in line) onUnseen([line]);
            else if ('path' in line) update(({ found }) => ({ found: [...found, line] }));
            else update(() => ({ step: line }));
          },
        },
      ).then(
        (end) => update(() => ({ end })),
        (error: unknown) => {
          if (error instanceof QuestionRefused) update(() => ({ failure: error.message }));
        },
      );
    },
  };
}

export function SearchResults({
  state,
  onOpen,
}: {
  readonly state: SearchState;
  readonly onOpen: (path: string, line: number) => void;
}) {
  const { text, step, end, failure } = state;
  const found = state.found.toSorted((a, b) =>
    a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1,
  );
  return (
    <div class="scroll results" role="region" aria-label="Lines that were found" tabIndex={0}>
      <p class="status" role="status">
        {failure ?? statusOf(found.length, step, end)}
      </p>
      {end && (
        <p class="note">
          Read, searched and forgotten: no index was made.
          {end.unread > 0 && ` ${counted(end.unread, 'file')} could not be read.`}
        </p>
      )}
      <ul>
        {found.map(({ path, line, text: words }) => (
          <li key={`${path}:${line}`}>
            <button type="button" onClick={() => onOpen(path, line)}>
              <span class="where" title={`${visibleName(path.slice(ROOT.length + 1))}:${line}`}>
                {visibleName(path.slice(ROOT.length + 1))}
                <span class="dim">:{line}</span>
              </span>
              <bdi class="found" title={visible(words)}>
                <Marked words={words} text={text} />
              </bdi>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function statusOf(lines: number, step: SearchState['step'], end: SearchState['end']): string {
  if (end === undefined) return step ? `Read ${step.done} of ${counted(step.total, 'file')} …` : 'Reading …';
  const found = lines === 0 ? 'Nothing' : counted(lines, 'line');
  return `${end.isCut ? 'The first ' : ''}${found} in ${counted(end.files, 'file')}`;
}

function Marked({ words, text }: { readonly words: string; readonly text: string }) {
  const at = words.toLowerCase().indexOf(text.toLowerCase());
  if (at === -1) return <SeenText text={words} />;
  const end = at + text.length;
  return (
    <>
      <SeenText text={words} to={at} />
      <mark>
        <SeenText text={words} from={at} to={end} />
      </mark>
      <SeenText text={words} from={end} />
    </>
  );
}
