import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { visibleName } from '../../../language/invisible.ts';
import { type FilesByPath, ROOT } from '../data/tree-rows.ts';

/** Something that the palette leads to, beside files. */
export interface PaletteAct {
  readonly name: string;
  readonly kind: 'view' | 'act';
  readonly run: () => void;
}

interface PaletteRow extends Omit<PaletteAct, 'kind'> {
  readonly kind: PaletteAct['kind'] | 'file';
}

/** All that the field can lead to. */
interface PaletteGoals {
  readonly files: FilesByPath;
  readonly acts: readonly PaletteAct[];
  readonly onOpen: (path: string) => void;
}

/** The most rows that are shown: a person who wants others goes on typing. */
const MOST_ROWS = 50;

/** One field that leads to files, views and acts by words of their names. */
export function Palette({
  files,
  acts,
  onOpen,
  onClose,
}: PaletteGoals & {
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: 'nearest' }), [at]);
  const rows = useMemo(() => rowsFor(text, { files, acts, onOpen }), [text, files, acts, onOpen]);
  const chosen = rows[Math.min(at, rows.length - 1)];
  const run = (row: PaletteRow): void => {
    dialog.current?.close();
    row.run();
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt(Math.max(0, Math.min(rows.length - 1, at + step)));
    else if (event.key === 'Enter' && !event.isComposing) chosen && run(chosen);
    else return;
    event.preventDefault();
  };
  const idOf = (row: PaletteRow): string => `${id}-${rows.indexOf(row)}`;
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to" onClose={onClose}>
      <input
        role="combobox"
        value={text}
        placeholder="A file, a view or an act"
        aria-label="A file, a view or an act"
        aria-expanded={rows.length > 0}
        aria-controls={rows.length > 0 ? id : undefined}
        aria-activedescendant={chosen && idOf(chosen)}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      {rows.length === 0 ? (
        <p class="empty">Nothing has that name.</p>
      ) : (
        <div ref={list} id={id} role="listbox" aria-label="Found">
          {rows.map((row) => (
            <div
              key={`${row.kind} ${row.name}`}
              id={idOf(row)}
              role="option"
              aria-selected={row === chosen}
              onClick={() => run(row)}
            >
              <bdi>{visibleName(row.name)}</bdi>
              <span class="kind">{row.kind}</span>
            </div>
          ))}
        </div>
      )}
    </dialog>
  );
}

/**
 * Finds everything whose name has all words of the text: views and acts, then files. Files whose own name has the first
 * word come before those whose directories have it.
 */
function rowsFor(text: string, { files, acts, onOpen }: PaletteGoals): readonly PaletteRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (name: string): boolean => words.every((word) => name.toLowerCase().includes(word));
  const [first = ''] = words;
  const paths = [...files.keys()].filter((path) => fits(path.slice(ROOT.length + 1)));
  const isNamed = (path: string): boolean =>
    path
      .slice(path.lastIndexOf('/') + 1)
      .toLowerCase()
      .includes(first);
  const sorted = [...paths.filter(isNamed), ...paths.filter((path) => !isNamed(path))];
  const found = sorted.slice(0, MOST_ROWS).map((path) => ({
    name: path.slice(ROOT.length + 1),
    kind: 'file' as const,
    run: () => onOpen(path),
  }));
  return [...acts.filter(({ name }) => fits(name)), ...found];
}
