import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { QuestionRefused } from '../data/post.ts';

/** Asks before something is done; where that is refused, stays open and says why. */
export function Dialog({
  title,
  act,
  isRisky = false,
  onAct,
  onClose,
  children,
}: {
  readonly title: string;
  /** The word on the button. */
  readonly act: string;
  readonly isRisky?: boolean;
  readonly onAct: () => Promise<void> | void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const run = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      await onAct();
      dialog.current?.close();
    } catch (error) {
      if (error instanceof QuestionRefused) setFailure(error.message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <h2 id={id}>{title}</h2>
        {children}
        {failure && (
          <p class="failure" role="alert">
            {failure}
          </p>
        )}
        <div class="acts">
          <button type="submit" class={isRisky ? 'risky' : 'primary'} disabled={isBusy}>
            {act}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
