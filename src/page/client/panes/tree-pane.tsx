import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { StoredFile } from '../../protocol.ts';
import type { DraftsByPath } from '../data/drafts.ts';
import { beginClick } from '../data/spent.ts';
import {
  type FilesByPath,
  filtered,
  grown,
  ROOT,
  rowsOf,
  showsPath,
  type TreeBranch,
  type TreeRow,
} from '../data/tree-rows.ts';
import { useNow } from '../data/use-now.ts';
import type { useUnseen } from '../data/use-unseen.ts';
import { useWriters } from '../data/use-writers.ts';
import { idOf, Row, useRowHeight } from '../parts/tree-row.tsx';
import { pageOf, revealRow, rowAfter, VirtualList } from '../parts/virtual-list.tsx';
import { SearchResults, useSearch } from './search.tsx';

export function TreePane({
  hasWriters,
  tree,
  drafts,
  unseen,
  selected,
  onOpen,
  onSeen,
}: {
  /** True where the page can tell who wrote a file. */
  readonly hasWriters: boolean;
  readonly tree: {
    readonly files: FilesByPath;
    readonly root: TreeBranch;
    readonly changed: ReadonlySet<string>;
    readonly isLoaded: boolean;
  };
  readonly unseen: ReturnType<typeof useUnseen>;
  readonly drafts: DraftsByPath;
  readonly selected: string;
  readonly onOpen: (path: string, line?: number) => void;
  /** Hears of the directories of the files that can be seen, those with most of them first. */
  readonly onSeen: (directories: readonly string[]) => void;
}) {
  const [text, setText] = useState('');
  const [isNaming, setNaming] = useState(false);
  const writers = useWriters(isNaming, unseen.noteUnseen);
  const search = useSearch(unseen.noteUnseen);
  const isFiltered = text.trim() !== '';
  const root = useMemo(
    () => (isFiltered ? grown(filtered(tree.files, text)) : tree.root),
    [tree, text, isFiltered],
  );
  return (
    <nav class="pane tree-pane" aria-label="Files">
      <form
        class="filter"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          beginClick();
          search.start(text);
        }}
      >
        <input
          type="search"
          value={text}
          placeholder="Find a name"
          aria-label="Find a name; Enter searches the texts"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            setText(event.currentTarget.value);
            search.clear();
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return;
            setText('');
            search.clear();
            event.currentTarget.blur();
          }}
        />
        <button
          type="submit"
          disabled={text === ''}
          title={`Reads every file: ${tree.files.size.toLocaleString('en')} GET`}
        >
          Search
        </button>
        {hasWriters && (
          <button
            type="button"
            aria-pressed={isNaming}
            title="Who wrote each file last: a GET for each that can be seen"
            onClick={() => {
              beginClick();
              setNaming(!isNaming);
            }}
          >
            Writers
          </button>
        )}
      </form>
      {search.state === undefined ? (
        <Tree
          {...{ tree, drafts, root, unseen, selected, onOpen, writers, isFiltered }}
          onDirectories={onSeen}
        />
      ) : (
        <SearchResults state={search.state} onOpen={onOpen} />
      )}
    </nav>
  );
}

function Tree({
  tree,
  drafts,
  root,
  unseen,
  selected,
  onOpen,
  isFiltered,
  writers,
  onDirectories,
}: {
  readonly tree: { readonly changed: ReadonlySet<string>; readonly isLoaded: boolean };
  readonly drafts: DraftsByPath;
  readonly root: TreeBranch;
  readonly unseen: ReturnType<typeof useUnseen>;
  readonly selected: string;
  readonly onOpen: (path: string) => void;
  readonly isFiltered: boolean;
  readonly writers: ReturnType<typeof useWriters>;
  readonly onDirectories: (directories: readonly string[]) => void;
}) {
  const { see, writerOf } = writers;
  const [laidOut, setLaidOut] = useState<readonly TreeRow[]>([]);
  const onSeen = useCallback(
    (seen: readonly TreeRow[]) => {
      const shown = seen.flatMap(({ file }) => file ?? []);
      setLaidOut(seen);
      see(shown);
      onDirectories(directoriesOf(shown));
    },
    [see, onDirectories],
  );
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState(ROOT);
  const place = useRef<HTMLDivElement>(null);
  const now = useNow();
  const rowHeight = useRowHeight();
  const rows = useMemo(() => rowsOf(root, isFiltered ? new Set() : closed), [root, closed, isFiltered]);
  const found = rows.findIndex((each) => showsPath(each, active));
  const at = Math.max(0, found);
  const chosen = rows[at];
  const unsaved = useMemo(() => rowsWith(drafts, rows), [drafts, rows]);
  const revealed = useRef(ROOT);
  useEffect(() => {
    setActive(selected);
    setClosed((before) => {
      const rest = [...before].filter((path) => !selected.startsWith(`${path}/`));
      return rest.length === before.size ? before : new Set(rest);
    });
  }, [selected]);
  useEffect(() => {
    const row = rows.findIndex((each) => showsPath(each, selected));
    // Scrolls once for each path: after that the reader decides where the tree is.
    if (revealed.current === selected || row === -1 || place.current === null) return;
    revealed.current = selected;
    revealRow(place.current, row, rowHeight);
  }, [selected, rows, rowHeight]);

  const toggle = ({ path, around }: TreeRow, isOpen: boolean): void => {
    const next = new Set(closed);
    if (isOpen) for (const each of [...around, path]) next.delete(each);
    else next.add(path);
    setClosed(next);
  };
  const goTo = (index: number): void => {
    const row = rows[index];
    if (row === undefined || place.current === null) return;
    setActive(row.path);
    revealRow(place.current, index, rowHeight);
  };
  const press = (event: KeyboardEvent): void => {
    const row = rows[at];
    const next = rowAfter(event, { at, count: rows.length, page: pageOf(place.current, rowHeight) });
    const moves: Readonly<Record<string, () => void>> = {
      ArrowRight: () => (row?.isOpen || row?.file ? goTo(at + 1) : row && toggle(row, true)),
      ArrowLeft: () => (row?.isOpen ? toggle(row, false) : goTo(parentOf(rows, at))),
      Enter: () => row && onOpen(row.path),
      ' ': () => row && onOpen(row.path),
    };
    const move = next === undefined ? moves[event.key] : () => goTo(next);
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  };

  return (
    <div
      ref={place}
      class="scroll tree"
      role="tree"
      tabIndex={0}
      data-focus="tree"
      aria-label="Files and directories"
      // A row that was scrolled away is no element that could be named.
      aria-activedescendant={chosen && laidOut.includes(chosen) ? idOf(chosen.path) : undefined}
      onKeyDown={press}
    >
      <VirtualList place={place} rows={rows} height={rowHeight} onSeen={onSeen}>
        {(row, index) => (
          <Row
            key={row.path + (row.file ? '' : '/')}
            row={row}
            height={rowHeight}
            writer={row.file && writerOf(row.file)}
            unseen={row.file ? unseen.unseenIn(row.file) : 0}
            now={now}
            isActive={index === at}
            isSelected={showsPath(row, selected)}
            isChanged={row.file !== undefined && tree.changed.has(row.path)}
            isUnsaved={unsaved.has(row.path)}
            onOpen={() => {
              setActive(row.path);
              onOpen(row.path);
            }}
            onToggle={() => toggle(row, !row.isOpen)}
          />
        )}
      </VirtualList>
      {tree.isLoaded && root.files === 0 && (
        <p class="empty">
          {isFiltered
            ? 'No name holds that. Enter searches the texts.'
            : 'Nothing is remembered yet. What an agent writes is shown here at once.'}
        </p>
      )}
    </div>
  );
}

/** Finds the rows that show the paths of drafts: the path itself, or the nearest directory above it that has a row. */
function rowsWith(drafts: DraftsByPath, rows: readonly TreeRow[]): ReadonlySet<string> {
  if (drafts.size === 0) return new Set();
  const all = new Map(rows.flatMap(({ path, around }) => [path, ...around].map((each) => [each, path])));
  const shown = [...drafts.keys()].map((path) => {
    let at = path;
    while (at !== '' && !all.has(at)) at = at.slice(0, at.lastIndexOf('/'));
    return all.get(at) ?? at;
  });
  return new Set(shown);
}

/** The most directories that are told. */
const MOST_DIRECTORIES = 8;

function directoriesOf(files: readonly StoredFile[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const directory = path.slice(0, path.lastIndexOf('/'));
    counts.set(directory, (counts.get(directory) ?? 0) + 1);
  }
  const all = [...counts].sort(([, a], [, b]) => b - a);
  return all.slice(0, MOST_DIRECTORIES).map(([directory]) => directory);
}

/** Finds the row of the directory that a row lies in. */
function parentOf(rows: readonly TreeRow[], at: number): number {
  const level = rows[at]?.level ?? 1;
  for (let index = at - 1; index >= 0; index -= 1) {
    if ((rows[index]?.level ?? 0) < level) return index;
  }
  return at;
}
