import type { Pane } from '../data/view-state.ts';

const PANES: readonly (readonly [pane: Pane, name: string])[] = [
  ['tree', 'Files'],
  ['file', 'What the model reads'],
  ['store', 'What the store holds'],
];

/** Names the pane; where only one fits on the screen, it leads to the others. */
export function PaneSwitch({
  current,
  onPane,
}: {
  readonly current: Pane;
  readonly onPane: (pane: Pane) => void;
}) {
  return (
    <div class="pane-switch">
      {PANES.map(([pane, name]) => (
        <button
          type="button"
          key={pane}
          data-pane={pane}
          aria-current={pane === current ? 'true' : undefined}
          onClick={() => onPane(pane)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
