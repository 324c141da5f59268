import { useEffect, useMemo, useState } from 'preact/hooks';
import { visibleName } from '../../../language/invisible.ts';
import type { VersionEntry } from '../../protocol.ts';
import { ask } from '../data/ask.ts';
import { useAnswer } from '../data/use-answer.ts';
import { Dialog } from '../parts/dialog.tsx';
import { TextDiff } from '../parts/text-diff.tsx';
import { counted, sizeWords, timeWords } from '../parts/words.ts';
import { Moment } from './moment.tsx';
import { useVersion } from './use-version.ts';

interface VersionsProps {
  readonly path: string;
  /** Differs from the one before where what is stored has changed. */
  readonly stamp: unknown;
  readonly canWrite: boolean;
}

/** Shows the versions of a file and their writers, and takes one back. */
export function Versions(props: VersionsProps) {
  const { path, stamp } = props;
  const { value, failure } = useAnswer('versions', { path }, { stamp, isOn: true });
  const [chosen, choose] = useState<string>();
  useEffect(() => choose(undefined), [path]);
  if (failure !== undefined) {
    return (
      <p class="failure" role="alert">
        {failure.message}
      </p>
    );
  }
  if (value === undefined) return <p class="empty">Reading the history …</p>;
  const written = value.entries.filter(({ kind }) => kind === 'written');
  const shown = written.find(({ version }) => version === chosen) ?? written[0];
  return (
    <div class="versions">
      <ol class="version-list" aria-label="Versions, the newest first">
        {value.entries.map((entry) => (
          <li key={`${entry.kind} ${entry.version} ${entry.time} ${entry.path}`}>
            {entry.kind === 'written' ? (
              <button
                type="button"
                class="version"
                aria-pressed={entry === shown}
                onClick={() => choose(entry.version)}
              >
                <EntryFacts entry={entry} />
              </button>
            ) : (
              <p class="version">
                <EntryFacts entry={entry} />
              </p>
            )}
          </li>
        ))}
      </ol>
      {written.length < 2 && (
        <p class="note">
          No earlier version is kept. <code>sealed-memory tenant history on</code> keeps what is replaced from
          then on.
        </p>
      )}
      {shown && <Comparison {...props} key={shown.version} shown={shown} written={written} />}
    </div>
  );
}

/** Shows the time of an entry, its fate, its size and the actor. */
export function EntryFacts({ entry }: { readonly entry: VersionEntry }) {
  const { kind, time, writer, size, end, text, to } = entry;
  const whose = to === undefined ? visibleName(writer ?? '') : `to ${visibleName(to)}`;
  return (
    <>
      <span class="when">
        <Moment at={time} />
      </span>
      <span class="end" data-end={end ?? kind}>
        {text === 'redacted' ? 'redacted' : (end ?? kind)}
      </span>
      <span class="size">{size === undefined ? '' : sizeWords(size)}</span>
      <span class="writer" title={whose}>
        {whose}
      </span>
    </>
  );
}

/** One version beside another: the one before it, unless another is chosen. */
function Comparison({
  path,
  canWrite,
  shown,
  written,
}: VersionsProps & { readonly shown: VersionEntry; readonly written: readonly VersionEntry[] }) {
  const before = written.find(({ version }) => version === shown.previous)?.version;
  const [base, setBase] = useState(before ?? '');
  const [isAsked, setAsked] = useState(false);
  const after = useVersion({ path, version: shown.version });
  const other = useVersion({ path, version: base === '' ? undefined : base });
  const others = useMemo(() => written.filter(({ version }) => version !== shown.version), [written, shown]);
  const isRestorable = canWrite && shown.end !== 'current' && shown.text === 'kept';
  return (
    <section class="comparison" aria-label="The chosen version">
      <div class="acts">
        <label>
          Compared with{' '}
          <select value={base} onChange={(event) => setBase(event.currentTarget.value)}>
            <option value="">nothing: all of it</option>
            {others.map((entry) => (
              <option key={entry.version} value={entry.version}>
                {entry.version === before ? 'the one before' : entry.end}, {timeWords(entry.time)}
              </option>
            ))}
          </select>
        </label>
        {canWrite && shown.end === 'current' && before !== undefined && (
          <span class="dim">To take it back, choose an earlier one.</span>
        )}
        {isRestorable && (
          <button type="button" class="primary" onClick={() => setAsked(true)}>
            Restore this version …
          </button>
        )}
      </div>
      {(after.failure ?? other.failure) ? (
        <p class="failure" role="alert">
          {after.failure ?? other.failure}
        </p>
      ) : (
        after.text !== undefined &&
        (base === '' || other.text !== undefined) && (
          <TextDiff before={base === '' ? '' : (other.text ?? '')} after={after.text} label="What changed" />
        )
      )}
      {isAsked && (
        <TakeBack
          {...{ path, shown }}
          now={written.find(({ end }) => end === 'current')?.version}
          onClose={() => setAsked(false)}
        />
      )}
    </section>
  );
}

/** Shows what a restore would make of the file, and restores it. */
function TakeBack({
  path,
  shown,
  now,
  onClose,
}: Pick<VersionsProps, 'path'> & {
  readonly shown: VersionEntry;
  /** The version of the history that the file has. */
  readonly now: string | undefined;
  readonly onClose: () => void;
}) {
  // The version that the preview shows is the one that may be replaced.
  const [base] = useState(now);
  const before = useVersion({ path, version: base });
  const after = useVersion({ path, version: shown.version });
  const restore = async (): Promise<void> => {
    await ask('restore', { path, version: shown.version, base: base ?? null });
  };
  const isReady = after.text !== undefined && (base === undefined || before.text !== undefined);
  return (
    <Dialog title="Restore this version?" act="Restore" onAct={restore} onClose={onClose}>
      <p>
        Written {timeWords(shown.time)}
        {shown.writer === undefined ? '' : ` by ${visibleName(shown.writer)}`},{' '}
        {counted(shown.size ?? 0, 'byte')}.{' '}
        {base === undefined
          ? 'The file is created again.'
          : 'What the file has now becomes an earlier version.'}
      </p>
      {isReady && (
        <div class="preview" role="group" aria-label="Preview" tabIndex={0}>
          <TextDiff before={before.text ?? ''} after={after.text ?? ''} label="What would change" />
        </div>
      )}
    </Dialog>
  );
}
