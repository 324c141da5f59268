import { visibleName } from '../../../language/invisible.ts';
import type { Facts } from '../../protocol.ts';
import { useSpent } from '../data/spent.ts';
import { VIEW_NAMES, VIEWS, type View } from '../data/view-state.ts';
import { requestWords } from '../parts/words.ts';

export function Header({
  facts,
  view,
  onView,
}: {
  readonly facts: Facts | undefined;
  readonly view: View;
  readonly onView: (view: View) => void;
}) {
  return (
    <header class="header">
      <img class="mark" src="/icon.svg" alt="" width="26" height="26" />
      <div class="titles">
        <h1 title={facts?.tenant}>{facts?.tenant ?? '\u00a0'}</h1>
        <p title={facts?.store}>{facts?.store ?? '\u00a0'}</p>
      </div>
      <span class="badge" data-writes={facts?.canWrite === true} title={badgeTitle(facts)}>
        {badgeOf(facts)}
      </span>
      <nav class="views" aria-label="Views">
        {(facts?.isExport ? VIEWS.slice(0, 1) : VIEWS).map((each) => (
          <button
            type="button"
            key={each}
            aria-current={view === each ? 'page' : undefined}
            onClick={() => onView(each)}
          >
            {VIEW_NAMES[each]}
          </button>
        ))}
      </nav>
    </header>
  );
}

function badgeOf(facts: Facts | undefined): string {
  if (facts?.isExport) return 'Export';
  return facts?.canWrite ? 'May write' : 'Read only';
}

function badgeTitle(facts: Facts | undefined): string {
  return facts?.canWrite
    ? 'What you change is written to the store, on behalf of the actor "page".'
    : 'The page writes nothing to the store.';
}

/** Shows the cost of the clicks and of the watch. */
export function Footer({
  facts,
  everyMs,
  restMs,
  paused,
  onHelp,
}: {
  readonly facts: Facts | undefined;
  /** Milliseconds from one look at what is open to the next, and until all else was looked at; 0 for none. */
  readonly everyMs: number;
  readonly restMs: number;
  /** The reason why the tree is not watched; undefined while it is. */
  readonly paused: string | undefined;
  readonly onHelp: () => void;
}) {
  const { last, all, watching } = useSpent();
  const state = facts?.isExport ? 'Offline' : paused === undefined ? 'Live' : `Not live: ${paused}`;
  return (
    <footer class="footer">
      <span class="live" role="status" title={state} data-on={everyMs > 0 && paused === undefined}>
        {state}
      </span>
      <span class="cost">
        <b>Last click</b> {requestWords(last)}
      </span>
      <span class="cost more">
        <b>All clicks</b> {requestWords(all)}
      </span>
      <span
        class="cost more"
        title="Each look costs one LIST and, in larger memories, up to four more for what is open. A page that is not seen does not look."
      >
        <b>Watching</b> {requestWords({ list: watching })}
        {everyMs > 0 && `, a look every ${secondsOf(everyMs)}`}
        {restMs > everyMs && `, at all within ${secondsOf(restMs)}`}
      </span>
      <button type="button" class="quiet" onClick={onHelp}>
        Keys <kbd>?</kbd>
      </button>
    </footer>
  );
}

function secondsOf(ms: number): string {
  return `${(ms / 1_000).toLocaleString('en')} s`;
}

/** Offers to give back what was thrown away. */
export function Thrown({ path, onUndo }: { readonly path: string; readonly onUndo: () => void }) {
  return (
    <p class="thrown" role="status">
      <span>What was not saved of {visibleName(path)} was thrown away.</span>
      <button type="button" onClick={onUndo}>
        Undo
      </button>
    </p>
  );
}
