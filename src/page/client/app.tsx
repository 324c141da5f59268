import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { Facts, Requests, TreeChange } from '../protocol.ts';
import { addRequests, ask, follow, LOCKED, Refused } from './ask.ts';
import { BucketPane } from './bucket-pane.tsx';
import { FilePane } from './file-pane.tsx';
import { Health } from './health.tsx';
import { Shortcuts } from './shortcuts.tsx';
import { Footer, Header } from './surround.tsx';
import { TreePane } from './tree-pane.tsx';
import { applied, type Files, ROOT } from './tree-rows.ts';
import { Ended, Locked } from './verdict.tsx';
import type { Pane, Spent, View } from './view-state.ts';

interface Tree {
  readonly files: Files;
  readonly foreign: number;
  readonly everyMs: number;
  /** The paths that changed last. */
  readonly changed: ReadonlySet<string>;
  readonly isLoaded: boolean;
}

const NO_TREE: Tree = { files: new Map(), foreign: 0, everyMs: 0, changed: new Set(), isLoaded: false };

function withChange(tree: Tree, change: TreeChange): Tree {
  const files = applied(tree.files, change);
  if (tree.isLoaded && files === tree.files && change.foreign === tree.foreign) return tree;
  const changed = change.whole ? [] : [...change.changed.map(({ path }) => path), ...change.removed];
  const { foreign, everyMs } = change;
  return { files, foreign, everyMs, changed: new Set(changed), isLoaded: true };
}

export function App() {
  const [facts, setFacts] = useState<Facts>();
  const [refusal, setRefusal] = useState<Refused>();
  const [tree, change] = useReducer(withChange, NO_TREE);
  const [selected, select] = useState(ROOT);
  const [line, setLine] = useState<number>();
  const [view, setView] = useState<View>('memory');
  const [pane, setPane] = useState<Pane>('tree');
  const [isHelping, setHelping] = useState(false);
  const [spent, setSpent] = useState<Spent>({ last: {}, all: {}, watching: 0 });

  const fail = useCallback((error: unknown) => {
    if (error instanceof Refused) setRefusal(error);
  }, []);
  const spend = useCallback((requests: Requests) => {
    setSpent(({ last, all, watching }) => ({
      last: addRequests(last, requests),
      all: addRequests(all, requests),
      watching,
    }));
  }, []);

  useEffect(() => {
    ask<Facts>('facts', {}).then(setFacts, fail);
  }, [fail]);
  useWatch({
    isOn: facts !== undefined,
    onChange(next) {
      change(next);
      setSpent((before) => ({ ...before, watching: before.watching + (next.requests.list ?? 0) }));
    },
    onEnd: fail,
  });

  const beginClick = useCallback(() => setSpent((before) => ({ ...before, last: {} })), []);
  const open = useCallback(
    (path: string, at?: number) => {
      beginClick();
      select(path);
      setLine(at);
      setView('memory');
      setPane('file');
    },
    [beginClick],
  );
  const version = tree.files.get(selected)?.version;
  const isFile = version !== undefined;
  const gone = !isFile && tree.isLoaded && selected !== ROOT && !hasBelow(tree.files, selected);
  useShortcuts({ setView, setPane, setHelping });

  if (refusal?.code === LOCKED) return <Locked />;
  if (refusal !== undefined && (facts === undefined || refusal.code === 'gone')) {
    return <Ended message={refusal.message} />;
  }
  return (
    <div class="app" data-pane={pane} data-view={view}>
      <Header facts={facts} view={view} onView={setView} />
      <TreePane tree={tree} selected={selected} onOpen={open} onBegin={beginClick} onSpend={spend} />
      {view === 'health' ? (
        <Health files={tree.files.size} onBegin={beginClick} onSpend={spend} onOpen={open} />
      ) : (
        <main class="panes" aria-label="The memory">
          <FilePane
            path={selected}
            isFile={isFile}
            isGone={gone}
            line={line}
            stamp={isFile ? version : tree.files}
            isReady={tree.isLoaded}
            onSpend={spend}
            onPane={setPane}
          />
          <BucketPane
            path={selected}
            file={tree.files.get(selected)}
            files={tree.files}
            foreign={tree.foreign}
            keyPrefix={facts?.keyPrefix ?? ''}
            isReady={tree.isLoaded}
            onOpen={open}
            onSpend={spend}
            onPane={setPane}
          />
        </main>
      )}
      <Footer spent={spent} everyMs={tree.everyMs} onHelp={() => setHelping(true)} />
      {isHelping && <Shortcuts onClose={() => setHelping(false)} />}
    </div>
  );
}

function hasBelow(files: Files, path: string): boolean {
  for (const each of files.keys()) if (each.startsWith(`${path}/`)) return true;
  return false;
}

/** While the page can be seen; what comes within one frame is one change. */
function useWatch({
  isOn,
  onChange,
  onEnd,
}: {
  readonly isOn: boolean;
  readonly onChange: (change: TreeChange) => void;
  readonly onEnd: (error: unknown) => void;
}): void {
  const latest = useRef({ onChange, onEnd });
  latest.current = { onChange, onEnd };
  const [isSeen, setSeen] = useState(!document.hidden);
  useEffect(() => {
    const look = (): void => setSeen(!document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  useEffect(() => {
    if (!isOn || !isSeen) return undefined;
    const ending = new AbortController();
    follow('watch', (line) => latest.current.onChange(line as TreeChange), ending.signal).catch(
      (error: unknown) => {
        if (!ending.signal.aborted) latest.current.onEnd(error);
      },
    );
    return () => ending.abort();
  }, [isOn, isSeen]);
}

function useShortcuts(act: {
  readonly setView: (view: View) => void;
  readonly setPane: (pane: Pane) => void;
  readonly setHelping: (helping: boolean) => void;
}): void {
  const latest = useRef(act);
  latest.current = act;
  const keys = useMemo<Readonly<Record<string, () => void>>>(() => {
    const focus = (pane: Pane): void => {
      latest.current.setPane(pane);
      latest.current.setView('memory');
      requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-focus="${pane}"]`)?.focus());
    };
    return {
      '/': () => {
        latest.current.setPane('tree');
        requestAnimationFrame(() => document.querySelector<HTMLElement>('.filter input')?.focus());
      },
      '1': () => focus('tree'),
      '2': () => focus('file'),
      '3': () => focus('bucket'),
      h: () => latest.current.setView('health'),
      '?': () => latest.current.setHelping(true),
      Escape: () => {
        latest.current.setHelping(false);
        latest.current.setView('memory');
      },
    };
  }, []);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const isTyping =
        event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      const act = isTyping ? undefined : keys[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [keys]);
}
