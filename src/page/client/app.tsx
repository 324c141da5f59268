import { render } from 'preact';
import { useCallback, useEffect, useMemo, useReducer, useState } from 'preact/hooks';
import type { Facts, StoredFile, TreeChange } from '../protocol.ts';
import { type PageAddress, placeAt, START, useAddress } from './data/address.ts';
import { ask, LOCKED } from './data/ask.ts';
import { useDrafts } from './data/drafts.ts';
import { type BegunWatch, GONE, QuestionRefused } from './data/post.ts';
import { beginClick } from './data/spent.ts';
import { applied, BARE, type FilesByPath, ROOT, regrown, type TreeBranch } from './data/tree-rows.ts';
import { useUnseen } from './data/use-unseen.ts';
import { type OngoingWatch, useWatch, withFirstChange } from './data/use-watch.ts';
import { type FileLook, LOOK_WORDS, type Pane, VIEW_NAMES, VIEWS } from './data/view-state.ts';
import { FilePane } from './panes/file-pane.tsx';
import { Health } from './panes/health.tsx';
import { HistoryView } from './panes/history-view.tsx';
import { Palette, type PaletteAct } from './panes/palette.tsx';
import { StorePane } from './panes/store-pane.tsx';
import { Footer, Header, Thrown } from './panes/surround.tsx';
import { TreePane } from './panes/tree-pane.tsx';
import { PaneSwitch } from './parts/pane-switch.tsx';
import { Shortcuts } from './parts/shortcuts.tsx';
import { useShortcuts } from './parts/use-shortcuts.ts';
import { Ended, Locked } from './parts/verdict.tsx';

interface ShownTree {
  readonly files: FilesByPath;
  readonly root: TreeBranch;
  readonly foreign: number;
  readonly everyMs: number;
  readonly restMs: number;
  /** The paths that changed last. */
  readonly changed: ReadonlySet<string>;
  readonly isLoaded: boolean;
}

const NO_TREE: ShownTree = {
  files: new Map(),
  root: BARE,
  foreign: 0,
  everyMs: 0,
  restMs: 0,
  changed: new Set(),
  isLoaded: false,
};

function withChange(tree: ShownTree, change: TreeChange): ShownTree {
  const files = applied(tree.files, change);
  if (tree.isLoaded && files === tree.files && change.foreign === tree.foreign) return tree;
  const isFirst = change.whole || !tree.isLoaded;
  const changed = isFirst ? [] : [...change.changed.map(({ path }) => path), ...change.removed];
  const { foreign, everyMs, restMs } = change;
  const root = files === tree.files ? tree.root : regrown(tree.root, change);
  return { files, root, foreign, everyMs, restMs, changed: new Set(changed), isLoaded: !change.isPartial };
}

/** The place to be shown, and the answers that were asked for before the app was loaded. */
interface Started {
  readonly place: PageAddress;
  readonly facts: Promise<Facts>;
  readonly watch: OngoingWatch | undefined;
}

/** Shows the page in an element, at the place that its address leads to. */
export async function show(element: HTMLElement, begun: BegunWatch | undefined): Promise<void> {
  const facts = ask('facts', {});
  // The app handles a failure, once it is loaded.
  facts.catch(() => {});
  const place = await placeAt(location.hash);
  if (place === undefined) history.replaceState(null, '', '/');
  const watch = begun && (await withFirstChange(begun));
  render(<App {...{ facts, watch }} place={{ ...START, ...place }} />, element);
}

function App(started: Started) {
  const [facts, setFacts] = useState<Facts>();
  const [refusal, setRefusal] = useState<QuestionRefused>();
  const first = started.watch?.first;
  const [tree, change] = useReducer(withChange, NO_TREE, (none) => (first ? withChange(none, first) : none));
  const [selected, select] = useState(started.place.path);
  const [line, setLine] = useState<number>();
  const [look, setLook] = useState(started.place.look);
  const { drafts, thrown, setDraft, throwAway, bringBack } = useDrafts();
  const unseen = useUnseen();
  const [view, setView] = useState(started.place.view);
  const [pane, setPane] = useState<Pane>(started.place.path === ROOT ? 'tree' : 'file');
  const [paused, setPaused] = useState<string>();
  const [isHelping, setHelping] = useState(false);
  const [isFolded, setFolded] = useState(false);
  const [isGoing, setGoing] = useState(false);
  const [hasKeys, setHasKeys] = useState(true);

  const fail = useCallback((error: unknown) => {
    if (error instanceof QuestionRefused) setRefusal(error);
  }, []);

  useEffect(() => void started.facts.then(setFacts, fail), [started.facts, fail]);
  const attention = useWatch({
    given: started.watch,
    onChange(next) {
      setPaused(undefined);
      change(next);
    },
    onFailure: setPaused,
    onEnd: fail,
  });
  const attended = facts === undefined || facts.isExport ? undefined : selected;
  useEffect(() => attention.turn({ selected: attended }), [attention, attended]);
  const see = useCallback((seen: readonly string[]) => attention.turn({ seen }), [attention]);

  const open = useCallback((path: string, at?: number, how?: FileLook) => {
    beginClick();
    select(path);
    setLine(at);
    setLook(how ?? (at === undefined ? undefined : 'text'));
    setView('memory');
    setPane('file');
  }, []);
  // An export has no store beside it: neither objects nor findings.
  const isExport = facts?.isExport === true;
  const version = tree.files.get(selected)?.version;
  const isFile = version !== undefined;
  const filesBelow = useMemo(
    () => (isFile ? [] : listBelow(tree.files, selected)),
    [isFile, tree.files, selected],
  );
  const gone = !isFile && tree.isLoaded && selected !== ROOT && filesBelow.length === 0;
  const choose = (next: Pane): void => {
    setPane(isExport && next === 'store' ? 'file' : next);
    if (next === 'store') setFolded(false);
  };
  useAddress({ view, path: selected, look, kind: isFile ? 'File' : 'Directory' }, (place) => {
    beginClick();
    if (!isExport) setView(place.view ?? 'memory');
    if (place.path === undefined) return;
    select(place.path);
    setLook(place.look);
    setLine(undefined);
    setPane(place.path === ROOT ? 'tree' : 'file');
  });
  useShortcuts({
    hasKeys,
    setView: (next) => setView(isExport ? 'memory' : next),
    setPane: choose,
    setHelping,
    openPalette: () => setGoing(true),
    setLook: (next) => !isExport && setLook(next),
  });

  const acts = useMemo((): readonly PaletteAct[] => {
    const views = isExport
      ? []
      : VIEWS.map((each) => ({ name: VIEW_NAMES[each], kind: 'view' as const, run: () => setView(each) }));
    const looks = looksToGoTo(isFile, isExport).map((each) => ({
      name: `This file: ${LOOK_WORDS[each]}`,
      kind: 'view' as const,
      run: () => open(selected, undefined, each),
    }));
    const edit = (): void => document.querySelector<HTMLElement>('[data-act="edit"]')?.click();
    return [
      ...views,
      ...looks,
      ...(isFile && facts?.canWrite ? [{ name: 'Edit this file', kind: 'act' as const, run: edit }] : []),
      ...(isExport
        ? []
        : [
            {
              name: isFolded ? 'Unfold what the store holds' : 'Fold what the store holds',
              kind: 'act' as const,
              run: () => setFolded(!isFolded),
            },
          ]),
      { name: 'List the keys', kind: 'act', run: () => setHelping(true) },
    ];
  }, [isExport, isFile, isFolded, facts, selected, open]);

  if (refusal?.code === LOCKED) return <Locked />;
  if (refusal !== undefined && (facts === undefined || refusal.code === GONE)) {
    return <Ended message={refusal.message} />;
  }
  return (
    <div class="app" data-pane={pane} data-view={view} data-export={isExport}>
      <Header facts={facts} view={view} onView={setView} />
      <main class="body">
        <TreePane hasWriters={!isExport} {...{ tree, drafts, unseen, selected }} onOpen={open} onSeen={see} />
        {view === 'history' && (
          <HistoryView
            canWrite={facts?.canWrite === true}
            keepsHistory={facts?.keepsHistory === true}
            onOpen={(path) => open(path, undefined, 'versions')}
          />
        )}
        {view === 'health' && <Health files={tree.files.size} onOpen={open} />}
        {view === 'memory' && (
          <div class="panes" data-folded={isFolded}>
            <FilePane
              facts={facts}
              path={selected}
              version={version}
              filesBelow={filesBelow}
              isGone={gone}
              line={line}
              look={look}
              onLook={(next) => {
                beginClick();
                setLook(next);
              }}
              draft={drafts.get(selected)}
              onDraft={setDraft}
              onThrow={throwAway}
              onOpen={open}
              onUnseen={unseen.noteUnseen}
              stamp={isFile ? version : tree.files}
              isReady={tree.isLoaded}
            />
            {!isExport && (
              <StorePane
                path={selected}
                file={tree.files.get(selected)}
                files={tree.files}
                foreign={tree.foreign}
                keyPrefix={facts?.keyPrefix ?? ''}
                isReady={tree.isLoaded}
                onOpen={open}
                isFolded={isFolded}
                onFold={setFolded}
              />
            )}
          </div>
        )}
      </main>
      <PaneSwitch
        hasStore={!isExport}
        current={view === 'memory' ? pane : undefined}
        onPane={(next) => {
          setView('memory');
          choose(next);
        }}
      />
      {thrown !== undefined && (
        <Thrown
          path={thrown}
          onUndo={() => {
            bringBack();
            open(thrown);
          }}
        />
      )}
      <Footer
        facts={facts}
        everyMs={tree.everyMs}
        restMs={tree.restMs}
        paused={paused}
        onHelp={() => setHelping(true)}
      />
      {isGoing && <Palette files={tree.files} acts={acts} onOpen={open} onClose={() => setGoing(false)} />}
      {isHelping && <Shortcuts {...{ hasKeys }} onKeys={setHasKeys} onClose={() => setHelping(false)} />}
    </div>
  );
}

function listBelow(files: FilesByPath, path: string): readonly StoredFile[] {
  return [...files.values()].filter((file) => file.path.startsWith(`${path}/`));
}

function looksToGoTo(isFile: boolean, isExport: boolean): readonly FileLook[] {
  if (!isFile) return [];
  return isExport ? ['text', 'reply'] : ['text', 'reply', 'versions'];
}
