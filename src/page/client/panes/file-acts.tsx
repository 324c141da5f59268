import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { visibleName } from '../../../language/invisible.ts';
import type { DirectoryRemoved, StoredFile } from '../../protocol.ts';
import { ask } from '../data/ask.ts';
import { QuestionRefused } from '../data/post.ts';
import { ROOT } from '../data/tree-rows.ts';
import { useScreen } from '../data/view-state.ts';
import { Dialog } from '../parts/dialog.tsx';
import { counted } from '../parts/words.ts';

interface FileActsProps {
  readonly path: string;
  /** The version of the file that is shown; null for a directory. */
  readonly version: string | null;
  /** The files below a directory, as they are listed; none for a file. */
  readonly files: readonly StoredFile[];
  /** Begins to edit; undefined where the file is no text. */
  readonly onEdit: (() => void) | undefined;
  readonly onNew: (path: string) => void;
  readonly onOpen: (path: string) => void;
}

/** The screens on which the head of a file has no room for all acts beside its path. */
const SHORT_OF_ROOM = '(max-width: 1499px)';

interface SeldomAct {
  readonly name: string;
  readonly run: () => void;
}

/** Shows the buttons that change the file; where there is little room, those for rare acts stand in a menu. */
export function FileActs(props: FileActsProps) {
  const { path, version, onEdit } = props;
  const [asked, setAsked] = useState<'new' | 'rename' | 'delete'>();
  const isShort = useScreen(SHORT_OF_ROOM);
  const close = (): void => setAsked(undefined);
  const seldom: readonly SeldomAct[] =
    path === ROOT
      ? []
      : [
          { name: 'Rename', run: () => setAsked('rename') },
          { name: 'Delete', run: () => setAsked('delete') },
        ];
  return (
    <div class="file-acts" role="group" aria-label="What can be done">
      {version !== null && (
        <button type="button" class="act" disabled={onEdit === undefined} onClick={onEdit} data-act="edit">
          Edit
        </button>
      )}
      {version === null && (
        <button type="button" class="act" onClick={() => setAsked('new')}>
          New file
        </button>
      )}
      {isShort && seldom.length > 0 && <ActMenu acts={seldom} />}
      {!isShort &&
        seldom.map(({ name, run }) => (
          <button type="button" class="act" key={name} onClick={run}>
            {name}
          </button>
        ))}
      {asked === 'new' && <NewFile {...props} onClose={close} />}
      {asked === 'rename' && <Rename {...props} onClose={close} />}
      {asked === 'delete' && <Delete {...props} onClose={close} />}
    </div>
  );
}

/** Shows a button that opens a menu of acts; arrows move through the menu, and Escape closes it. */
function ActMenu({ acts }: { readonly acts: readonly SeldomAct[] }) {
  /** The place of the act that has the focus; undefined while the menu is closed. */
  const [at, setAt] = useState<number>();
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (at !== undefined) menu.current?.querySelectorAll('button')[at]?.focus();
  }, [at]);
  const last = acts.length - 1;
  const close = (): void => {
    button.current?.focus();
    setAt(undefined);
  };
  const press = (event: KeyboardEvent): void => {
    const places: Readonly<Record<string, number>> = {
      ArrowDown: at === undefined || at === last ? 0 : at + 1,
      ArrowUp: at === undefined || at === 0 ? last : at - 1,
      ...(at !== undefined && { Home: 0, End: last }),
    };
    const place = places[event.key];
    if (place !== undefined) setAt(place);
    else if (at !== undefined && event.key === 'Escape') close();
    else return;
    event.preventDefault();
  };
  const leave = (event: FocusEvent & { readonly currentTarget: HTMLElement }): void => {
    const { relatedTarget, currentTarget } = event;
    if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setAt(undefined);
  };
  return (
    <div class="act-menu" onKeyDown={press} onFocusOut={leave}>
      <button
        ref={button}
        type="button"
        class="act"
        aria-label="More acts"
        title="More acts"
        aria-haspopup="menu"
        aria-expanded={at !== undefined}
        aria-controls={at === undefined ? undefined : id}
        onClick={() => (at === undefined ? setAt(0) : close())}
      >
        ⋯
      </button>
      {at !== undefined && (
        <div id={id} ref={menu} class="act-list" role="menu" aria-label="More acts">
          {acts.map(({ name, run }) => (
            <button
              type="button"
              role="menuitem"
              tabIndex={-1}
              key={name}
              onClick={() => {
                close();
                run();
              }}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

type ActDialogProps = FileActsProps & { readonly onClose: () => void };

function NewFile({ path, onNew, onClose }: ActDialogProps) {
  const [name, setName] = useState(`${path}/`);
  return (
    <Dialog title="New file" act="Write it" onAct={() => onNew(name.trim())} onClose={onClose}>
      <PathField label="Path" value={name} onInput={setName} />
    </Dialog>
  );
}

function Rename({ path, onOpen, onClose }: ActDialogProps) {
  const [to, setTo] = useState(path);
  const rename = async (): Promise<void> => {
    const changed = await ask('rename', { path, to: to.trim() });
    onOpen(changed.path);
  };
  return (
    <Dialog title={`Rename ${visibleName(path)}`} act="Rename" onAct={rename} onClose={onClose}>
      <PathField label="New path" value={to} onInput={setTo} />
    </Dialog>
  );
}

function Delete({ path, version, files, onClose }: ActDialogProps) {
  // The files that were shown when the page asked are those that it deletes.
  const [shown] = useState({ version, files });
  const remove = async (): Promise<void> => {
    if (shown.version !== null) {
      await ask('remove', { path, version: shown.version });
      return;
    }
    const listed = shown.files.map((file) => [file.path, file.version] as const);
    const removed = await ask('remove', { path, version: null, files: listed });
    if ('differing' in removed && removed.differing.length > 0) throw othersWrote(removed);
  };
  return (
    <Dialog title={`Delete ${visibleName(path)}?`} act="Delete" isRisky onAct={remove} onClose={onClose}>
      {shown.version === null && (
        <>
          <p>{counted(shown.files.length, 'file')} below it:</p>
          <ul class="listed" tabIndex={0} aria-label="Files that are deleted">
            {shown.files.slice(0, MOST_LISTED).map((file) => (
              <li key={file.path}>{visibleName(file.path)}</li>
            ))}
          </ul>
          {shown.files.length > MOST_LISTED && <p>The first {MOST_LISTED} are listed.</p>}
        </>
      )}
      <p>Where the tenant keeps history, each can be taken back; elsewhere it is gone.</p>
    </Dialog>
  );
}

const MOST_LISTED = 100;
const MOST_NAMED = 5;

function othersWrote({ deleted, differing }: DirectoryRemoved): QuestionRefused {
  const named = differing.slice(0, MOST_NAMED).map(({ path, what }) => `${visibleName(path)} (${what})`);
  const more = differing.length - named.length;
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
  const done = deleted === 0 ? 'Nothing was deleted' : `${counted(deleted, 'file')} deleted`;
  const message = `${done}: others were at work since this was shown. Not as shown: ${list}. Close this and look again.`;
  return new QuestionRefused({ code: 'version_conflict', message });
}

function PathField({
  label,
  value,
  onInput,
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}) {
  return (
    <label class="field">
      {label}
      <input
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}
