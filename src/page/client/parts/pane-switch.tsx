import type { ComponentChildren } from 'preact';
import type { Pane } from '../data/view-state.ts';

export const PANE_NAMES: Readonly<Record<Pane, string>> = {
  tree: 'Files',
  file: 'What the model reads',
  store: 'What the store holds',
};
const PANES: readonly Pane[] = ['tree', 'file', 'store'];

/** Names a pane at its top, beside what can be done with it; not where the switch names it. */
export function PaneName({ pane, children }: { readonly pane: Pane; readonly children?: ComponentChildren }) {
  return (
    <div class="pane-name" data-pane={pane}>
      <span>{PANE_NAMES[pane]}</span>
      {children}
    </div>
  );
}

/** Leads to each pane, at the bottom of a screen on which only one fits. */
export function PaneSwitch({
  hasStore,
  current,
  onPane,
}: {
  readonly hasStore: boolean;
  /** The pane that is shown; undefined while none is. */
  readonly current: Pane | undefined;
  readonly onPane: (pane: Pane) => void;
}) {
  return (
    <nav class="pane-switch" aria-label="Panes">
      {PANES.filter((pane) => hasStore || pane !== 'store').map((pane) => (
        <button
          type="button"
          key={pane}
          aria-current={pane === current ? 'true' : undefined}
          onClick={() => onPane(pane)}
        >
          {PANE_NAMES[pane]}
        </button>
      ))}
    </nav>
  );
}
