import { useEffect, useRef } from 'preact/hooks';

const KEYS: readonly (readonly [key: string, what: string])[] = [
  ['Ctrl-K', 'Go to a file, a view or an act, by its name'],
  ['/', 'Find a name; Enter searches the texts'],
  ['↑ ↓', 'Through the tree'],
  ['← →', 'Close and open a directory'],
  ['Enter', 'Show what is chosen'],
  ['1 2 3', 'To the tree, the file, the store'],
  ['v', 'Versions of the file'],
  ['e', 'Edit the file, where the page may write'],
  ['l', 'Log of all files; taking back'],
  ['h', 'Health: findings and keys'],
  ['Esc', 'Back'],
];

export function Shortcuts({
  hasKeys,
  onKeys,
  onClose,
}: {
  /** The keys of one character do something. */
  readonly hasKeys: boolean;
  readonly onKeys: (hasKeys: boolean) => void;
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="shortcuts" aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split(' ').map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="switch">
        <input type="checkbox" checked={hasKeys} onChange={(event) => onKeys(event.currentTarget.checked)} />{' '}
        Keys of one character, until the page is loaded again
      </label>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
