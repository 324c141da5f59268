import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { Facts, Requests, TreeChange } from '../protocol.ts';
import { addRequests, ask, follow, GONE, LOCKED, Refused } from './ask.ts';
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
  const [paused, setPaused] = useState<string>();
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
      setPaused(undefined);
      change(next);
      setSpent((before) => ({ ...before, watching: before.watching + (next.requests.list ?? 0) }));
    },
    onFailure: setPaused,
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
  if (refusal !== undefined && (facts === undefined || refusal.code === GONE)) {
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
      <Footer spent={spent} everyMs={tree.everyMs} paused={paused} onHelp={() => setHelping(true)} />
      {isHelping && <Shortcuts onClose={() => setHelping(false)} />}
    </div>
  );
}

function hasBelow(files: Files, path: string): boolean {
  for (const each of files.keys()) if (each.startsWith(`${path}/`)) return true;
  return false;
}

/** From a failure of the store to the next look. */
const RETRY_MS = 2_000;

/** While the page can be seen; what comes within one frame is one change. */
function useWatch({
  isOn,
  onChange,
  onFailure,
  onEnd,
}: {
  readonly isOn: boolean;
  readonly onChange: (change: TreeChange) => void;
  /** The store did not answer; it is asked again. */
  readonly onFailure: (message: string) => void;
  readonly onEnd: (error: unknown) => void;
}): void {
  const latest = useRef({ onChange, onFailure, onEnd });
  latest.current = { onChange, onFailure, onEnd };
  const [isSeen, setSeen] = useState(!document.hidden);
  useEffect(() => {
    const look = (): void => setSeen(!document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  useEffect(() => {
    if (!isOn || !isSeen) return undefined;
    const ending = new AbortController();
    const watch = async (): Promise<void> => {
      for (;;) {
        try {
          await follow('watch', (line) => latest.current.onChange(line as TreeChange), ending.signal);
        } catch (error) {
          if (ending.signal.aborted) return;
          if (!(error instanceof Refused) || error.code === GONE || error.code === LOCKED) {
            latest.current.onEnd(error);
            return;
          }
          latest.current.onFailure(error.message);
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
          if (ending.signal.aborted) return;
        }
      }
    };
    void watch();
    return () => ending.abort();
  }, [isOn, isSeen]);
}

/** At once where it can be seen already, so that what is typed next goes there. */
function focusOn(selector: string): void {
  const focus = (): void => document.querySelector<HTMLElement>(selector)?.focus();
  focus();
  if (document.querySelector(`${selector}:focus`) === null) requestAnimationFrame(focus);
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
      focusOn(`[data-focus="${pane}"]`);
    };
    return {
      '/': () => {
        latest.current.setPane('tree');
        focusOn('.filter input');
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
