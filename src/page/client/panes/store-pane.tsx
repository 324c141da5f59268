import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { StoredFile } from '../../protocol.ts';
import { type FilesByPath, ROOT } from '../data/tree-rows.ts';
import { useAnswer } from '../data/use-answer.ts';
import { Bytes } from '../parts/bytes.tsx';
import { PANE_NAMES, PaneName } from '../parts/pane-switch.tsx';
import { pageOf, revealRow, rowAfter, VirtualList } from '../parts/virtual-list.tsx';
import { bytesOf, counted, sizeWords } from '../parts/words.ts';
import { Moment } from './moment.tsx';

interface StorePaneProps {
  readonly path: string;
  readonly file: StoredFile | undefined;
  readonly files: FilesByPath;
  readonly foreign: number;
  readonly keyPrefix: string;
  readonly isReady: boolean;
  readonly onOpen: (path: string) => void;
  /** True where only a strip of the pane is shown, for which nothing is asked. */
  readonly isFolded: boolean;
  readonly onFold: (isFolded: boolean) => void;
}

/** Shows what everybody sees who can read the store and holds no key. */
export function StorePane(props: StorePaneProps) {
  const { path, file, isFolded, onFold } = props;
  const toggle = useRef<HTMLButtonElement>(null);
  const before = useRef(isFolded);
  useEffect(() => {
    // The button that had the focus is gone.
    if (before.current !== isFolded && document.activeElement === document.body) toggle.current?.focus();
    before.current = isFolded;
  }, [isFolded]);
  if (isFolded) {
    return (
      <section class="pane store-pane" aria-label={PANE_NAMES.store}>
        <button
          ref={toggle}
          type="button"
          class="strip"
          aria-expanded={false}
          title="Unfold"
          onClick={() => onFold(false)}
        >
          {PANE_NAMES.store}
        </button>
      </section>
    );
  }
  return (
    <section class="pane store-pane" aria-label={PANE_NAMES.store}>
      <PaneName pane="store">
        <button
          ref={toggle}
          type="button"
          aria-expanded={true}
          title="Fold to a strip; its object is not read then"
          onClick={() => onFold(true)}
        >
          Fold
        </button>
      </PaneName>
      {file === undefined ? <Keys {...props} /> : <StoredObject {...props} key={path} file={file} />}
    </section>
  );
}

function StoredObject({ path, file, keyPrefix, isReady }: StorePaneProps & { readonly file: StoredFile }) {
  const { value, failure } = useAnswer('object', { path }, { stamp: file.version, isOn: isReady });
  const bytes = useMemo(() => (value === undefined ? undefined : bytesOf(value.base64)), [value]);
  return (
    <>
      <div class="pane-head">
        <h2 class="key" title={keyPrefix + file.key}>
          <Key prefix={keyPrefix} name={file.key} />
        </h2>
        <p class="facts">
          <span>{counted(file.stored, 'byte')}</span>
          <span>
            <Moment at={file.modified} />
          </span>
        </p>
      </div>
      {failure ? (
        <p class="failure" role="alert">
          {failure.message}
        </p>
      ) : (
        <Bytes bytes={bytes} size={file.stored} />
      )}
    </>
  );
}

function Key({ prefix, name }: { readonly prefix: string; readonly name: string }) {
  return (
    <>
      <span class="dim">{prefix}</span>
      {name}
    </>
  );
}

const KEY_HEIGHT = 30;

function idOfKey({ key }: StoredFile): string {
  return `key-${key}`;
}

/** Shows the objects of a directory by their keys, which are all that a listing tells. */
function Keys({ path, files, foreign, keyPrefix, onOpen }: StorePaneProps) {
  const place = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => {
    const below = [...files.values()].filter((file) => path === ROOT || file.path.startsWith(`${path}/`));
    return below.sort((a, b) => (a.key < b.key ? -1 : 1));
  }, [files, path]);
  const [active, setActive] = useState<string>();
  const [laidOut, setLaidOut] = useState<readonly StoredFile[]>([]);
  const at = Math.max(
    0,
    rows.findIndex(({ key }) => key === active),
  );
  const chosen = rows[at];
  const press = (event: KeyboardEvent): void => {
    const next = rowAfter(event, { at, count: rows.length, page: pageOf(place.current, KEY_HEIGHT) });
    const isOpening = event.key === 'Enter' || event.key === ' ';
    if (chosen === undefined || (next === undefined && !isOpening)) return;
    event.preventDefault();
    if (next === undefined) {
      onOpen(chosen.path);
      return;
    }
    setActive(rows[next]?.key);
    if (place.current !== null) revealRow(place.current, next, KEY_HEIGHT);
  };
  return (
    <>
      <div class="pane-head">
        <h2 class="key" title={keyPrefix}>
          <span class="dim">{keyPrefix || '\u00a0'}</span>
        </h2>
        <p class="facts">
          <span>{counted(rows.length, 'object')}</span>
          {foreign > 0 && path === ROOT && (
            <span class="warn">{foreign} made by no writer of this tenant</span>
          )}
        </p>
      </div>
      {rows.length === 0 ? (
        <p class="empty" data-focus="store" tabIndex={-1}>
          No object. What is written lies here, sealed.
        </p>
      ) : (
        <div
          ref={place}
          class="scroll keys"
          tabIndex={0}
          data-focus="store"
          role="listbox"
          aria-label="Object keys"
          // A row that was scrolled away is no element that could be named.
          aria-activedescendant={chosen && laidOut.includes(chosen) ? idOfKey(chosen) : undefined}
          onKeyDown={press}
        >
          <VirtualList place={place} rows={rows} height={KEY_HEIGHT} onSeen={setLaidOut}>
            {(file, index) => (
              <div
                key={file.key}
                id={idOfKey(file)}
                class="key-row"
                role="option"
                aria-selected={index === at}
                aria-posinset={index + 1}
                aria-setsize={rows.length}
                data-active={index === at}
                style={{ height: `${KEY_HEIGHT}px` }}
                onClick={() => onOpen(file.path)}
                title={file.key}
              >
                <span class="name">{file.key}</span>
                <span class="size">{sizeWords(file.stored)}</span>
              </div>
            )}
          </VirtualList>
        </div>
      )}
    </>
  );
}
