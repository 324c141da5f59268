import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, QuestionRefused } from '../data/ask.ts';
import type { FileDraft } from '../data/drafts.ts';
import { TextDiff } from '../parts/text-diff.tsx';

/** The text that another writer has given the file; null where the file is gone. */
type Theirs = { readonly text: string; readonly version: string } | null;

/** Edits a text. What another writer wrote meanwhile is shown beside it, and is never replaced unseen. */
export function Editor({
  path,
  draft,
  current,
  onDraft,
}: {
  readonly path: string;
  readonly draft: FileDraft;
  /** The version that is there by now; undefined: none. */
  readonly current: string | undefined;
  readonly onDraft: (draft: FileDraft | undefined) => void;
}) {
  const [theirs, setTheirs] = useState<Theirs>();
  const [failure, setFailure] = useState<string>();
  const [isSaving, setSaving] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);

  const look = async (): Promise<void> => {
    try {
      const { content, version } = await ask('file', { path });
      if (content.kind === 'text') setTheirs({ text: content.text, version });
      else setFailure('The file is no text any more: nothing was written.');
    } catch (error) {
      if (!(error instanceof QuestionRefused)) return;
      if (error.code === 'not_found') setTheirs(null);
      else setFailure(error.message);
    }
  };
  const save = async (version: string | null): Promise<void> => {
    setFailure(undefined);
    setSaving(true);
    try {
      await ask('write', { path, text: draft.text, version });
      onDraft(undefined);
    } catch (error) {
      if (!(error instanceof QuestionRefused)) return;
      if (error.code === 'version_conflict' || error.code === 'already_exists') await look();
      else setFailure(error.message);
    } finally {
      setSaving(false);
    }
  };
  const isBehind = (current ?? null) !== draft.version;
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void save(draft.version);
      }}
    >
      <div class="acts">
        <button type="submit" class="primary" disabled={isSaving || theirs !== undefined}>
          Save
        </button>
        <button type="button" onClick={() => onDraft(undefined)}>
          Throw away
        </button>
        <span class="dim">{isBehind && theirs === undefined ? BEHIND : 'Ctrl+S saves'}</span>
      </div>
      {failure && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      {theirs !== undefined && (
        <Conflict
          theirs={theirs}
          mine={draft.text}
          onMine={() => {
            const version = theirs?.version ?? null;
            setTheirs(undefined);
            onDraft({ ...draft, version });
            void save(version);
          }}
          onTheirs={() => onDraft(undefined)}
          onBack={() => {
            setTheirs(undefined);
            area.current?.focus();
          }}
        />
      )}
      <textarea
        ref={area}
        aria-label={`Text of ${path}`}
        value={draft.text}
        spellcheck={false}
        onInput={(event) => onDraft({ ...draft, text: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          if (theirs === undefined) void save(draft.version);
        }}
      />
    </form>
  );
}

const BEHIND = 'The file was changed meanwhile: saving shows both texts first.';

function Conflict({
  theirs,
  mine,
  onMine,
  onTheirs,
  onBack,
}: {
  readonly theirs: Theirs;
  readonly mine: string;
  readonly onMine: () => void;
  readonly onTheirs: () => void;
  readonly onBack: () => void;
}) {
  return (
    <section class="conflict" role="alert" aria-label="Changed meanwhile">
      <p>
        {theirs === null
          ? 'The file was deleted or renamed meanwhile. Nothing was written.'
          : 'Another writer changed the file meanwhile. Nothing was written. − is theirs, + is yours:'}
      </p>
      {theirs !== null && <TextDiff before={theirs.text} after={mine} label="Theirs and yours" />}
      <div class="acts">
        <button type="button" onClick={onMine}>
          {theirs === null ? 'Write it as a new file' : 'Write mine over theirs'}
        </button>
        <button type="button" onClick={onTheirs}>
          {theirs === null ? 'Throw mine away' : 'Take theirs'}
        </button>
        <button type="button" onClick={onBack}>
          Go on editing
        </button>
      </div>
    </section>
  );
}
