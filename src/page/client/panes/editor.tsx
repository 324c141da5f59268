import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { mergeLines } from '../../../language/line-diff.ts';
import { ask } from '../data/ask.ts';
import { toEnd } from '../data/diff-lines.ts';
import type { FileDraft } from '../data/drafts.ts';
import { savedText } from '../data/line-ends.ts';
import { QuestionRefused } from '../data/post.ts';
import { TextDiff } from '../parts/text-diff.tsx';

/** The text that another writer has given the file; null where the file is gone. */
type Theirs = { readonly text: string; readonly version: string } | null;

/** Edits a text. What another writer wrote meanwhile is shown beside it, and is never replaced unseen. */
export function Editor({
  path,
  draft,
  current,
  keepsHistory,
  onDraft,
  onThrow,
}: {
  readonly path: string;
  readonly draft: FileDraft;
  /** The version that is there by now; undefined: none. */
  readonly current: string | undefined;
  /** The text that is replaced becomes an earlier version. */
  readonly keepsHistory: boolean;
  readonly onDraft: (draft: FileDraft | undefined) => void;
  readonly onThrow: () => void;
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
      else setFailure('Nothing was written: the file is no text any more.');
    } catch (error) {
      if (!(error instanceof QuestionRefused)) return;
      if (error.code === 'not_found') setTheirs(null);
      else setFailure(error.message);
    }
  };
  const mine = useMemo(() => savedText(draft), [draft]);
  /** Saves by a question that answers whether it wrote; where it did not, shows both texts. */
  const saveBy = async (question: () => Promise<boolean>): Promise<void> => {
    setFailure(undefined);
    setSaving(true);
    try {
      if (await question()) onDraft(undefined);
      else await look();
    } catch (error) {
      if (!(error instanceof QuestionRefused)) return;
      if (error.code === 'version_conflict' || error.code === 'already_exists') await look();
      else setFailure(error.message);
    } finally {
      setSaving(false);
    }
  };
  const save = (version: string | null): Promise<void> =>
    saveBy(async () => {
      await ask('write', { path, text: mine, version });
      return true;
    });
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
        <button type="button" onClick={onThrow}>
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
          mine={mine}
          base={draft.base}
          isSaving={isSaving}
          onBoth={() =>
            void saveBy(async () => {
              const { isMerged } = await ask('merge', { path, text: mine, base: draft.base });
              return isMerged;
            })
          }
          onNewest={
            keepsHistory && theirs !== null
              ? () =>
                  void saveBy(async () => {
                    await ask('writeNewest', { path, text: mine });
                    return true;
                  })
              : undefined
          }
          onMine={() => {
            const version = theirs?.version ?? null;
            setTheirs(undefined);
            onDraft({ ...draft, version });
            void save(version);
          }}
          onTheirs={onThrow}
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
  base,
  isSaving,
  onBoth,
  onMine,
  onNewest,
  onTheirs,
  onBack,
}: {
  readonly theirs: Theirs;
  readonly mine: string;
  /** The text that both were made of. */
  readonly base: string;
  readonly isSaving: boolean;
  readonly onBoth: () => void;
  readonly onMine: () => void;
  /** Writes over whatever others have written by then; undefined where their text would be lost. */
  readonly onNewest: (() => void) | undefined;
  readonly onTheirs: () => void;
  readonly onBack: () => void;
}) {
  const merged = useMemo(
    () => (theirs === null ? undefined : toEnd(mergeLines(base, mine, theirs.text))),
    [base, mine, theirs],
  );
  return (
    <section class="conflict" role="alert" aria-label="Changed meanwhile">
      <p>
        {theirs === null
          ? 'Nothing was written: the file was deleted or renamed meanwhile.'
          : merged === undefined
            ? 'Nothing was written: another writer changed the same lines meanwhile. − is theirs, + is yours:'
            : 'Nothing was written: another writer changed other lines meanwhile. Both together, + is yours:'}
      </p>
      {theirs !== null && <TextDiff before={theirs.text} after={merged ?? mine} label="Theirs and yours" />}
      <div class="acts">
        {merged !== undefined && (
          <button type="button" class="primary" disabled={isSaving} onClick={onBoth}>
            Save both together
          </button>
        )}
        <button type="button" disabled={isSaving} onClick={onMine}>
          {theirs === null ? 'Write it as a new file' : 'Write mine over theirs'}
        </button>
        {onNewest && (
          <button
            type="button"
            disabled={isSaving}
            title="Whatever others write until then becomes an earlier version"
            onClick={onNewest}
          >
            Write mine as the newest version
          </button>
        )}
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
