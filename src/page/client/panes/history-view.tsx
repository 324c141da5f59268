import { useEffect, useMemo, useState } from 'preact/hooks';
import { visibleName } from '../../../language/invisible.ts';
import type { ResultOf, VersionEntry } from '../../protocol.ts';
import { ask, QuestionRefused } from '../data/ask.ts';
import { beginClick } from '../data/spent.ts';
import { ROOT } from '../data/tree-rows.ts';
import { useNow } from '../data/use-now.ts';
import { agoWords, momentIn, timeWords } from '../parts/words.ts';
import { Plan } from './plan.tsx';
import { EntryFacts } from './versions.tsx';

/** The entries that are shown. */
const MOST_ENTRIES = 500;

/** The wish behind a plan: an actor whose deeds are taken back, or a moment that comes back. */
type PlanInput = { readonly undo: string } | { readonly at: string };

/** Shows the entries of all files, and takes back what one actor did, or all since a moment. */
export function HistoryView({
  canWrite,
  onOpen,
}: {
  readonly canWrite: boolean;
  readonly onOpen: (path: string) => void;
}) {
  const [entries, setEntries] = useState<readonly VersionEntry[]>();
  const [plan, setPlan] = useState<{ readonly input: PlanInput; readonly reading: ResultOf<'plan'> }>();
  const [failure, setFailure] = useState<string>();
  /** Asks, and shows why it was refused. */
  const tell = async (question: () => Promise<void>): Promise<void> => {
    setFailure(undefined);
    try {
      await question();
    } catch (error) {
      if (error instanceof QuestionRefused) setFailure(error.message);
    }
  };
  const read = async (): Promise<void> => {
    const reading = await ask('versions', { path: ROOT });
    setEntries(reading.entries);
  };
  const preview = (input: PlanInput): void => {
    beginClick();
    void tell(async () => {
      const reading = await ask('plan', input);
      setPlan({ input, reading });
    });
  };
  const carryOut = (): void => {
    const digest = plan?.reading.digest;
    if (plan === undefined || digest === undefined) return;
    beginClick();
    void tell(async () => {
      const { input } = plan;
      const done = await ask('carryOut', { ...input, digest });
      setPlan({ input, reading: done });
      await read();
    });
  };
  useEffect(() => void tell(read), []);
  return (
    <main class="health scroll" aria-label="History">
      <section class="card" aria-labelledby="undo-title">
        <h2 id="undo-title">Take back</h2>
        <Choices entries={entries ?? []} onPreview={preview} />
        {failure && (
          <p class="failure" role="alert">
            {failure}
          </p>
        )}
        {plan && <Plan reading={plan.reading} canWrite={canWrite} onCarryOut={carryOut} onOpen={onOpen} />}
      </section>
      <section class="card" aria-labelledby="log-title">
        <h2 id="log-title">What happened</h2>
        {entries === undefined && failure === undefined && <p>Reading the history …</p>}
        {entries?.length === 0 && <p>Nothing is known of any version.</p>}
        <ol class="log">
          {entries?.slice(0, MOST_ENTRIES).map((entry) => (
            <li key={`${entry.kind} ${entry.version} ${entry.time} ${entry.path}`}>
              <button type="button" class="version" onClick={() => onOpen(entry.path)}>
                <EntryFacts entry={entry} />
                <span>{visibleName(entry.path)}</span>
              </button>
            </li>
          ))}
        </ol>
        {(entries?.length ?? 0) > MOST_ENTRIES && <p>The newest {MOST_ENTRIES} are shown.</p>}
      </section>
    </main>
  );
}

function Choices({
  entries,
  onPreview,
}: {
  readonly entries: readonly VersionEntry[];
  readonly onPreview: (input: PlanInput) => void;
}) {
  const writers = useMemo(
    () => [...new Set(entries.flatMap(({ writer }) => writer ?? []))].sort(),
    [entries],
  );
  const [writer, setWriter] = useState('');
  const [time, setTime] = useState('');
  const moment = momentIn(time);
  const now = useNow();
  return (
    <div class="choices">
      <form
        class="acts"
        onSubmit={(event) => {
          event.preventDefault();
          onPreview({ undo: writer });
        }}
      >
        <label>
          What one actor did{' '}
          <select value={writer} onChange={(event) => setWriter(event.currentTarget.value)}>
            <option value="">Choose</option>
            {writers.map((each) => (
              <option key={each} value={each}>
                {visibleName(each)}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" disabled={writer === ''}>
          Preview undo
        </button>
      </form>
      <form
        class="acts"
        onSubmit={(event) => {
          event.preventDefault();
          if (moment !== undefined) onPreview({ at: moment.toISOString() });
        }}
      >
        <label>
          All since (UTC){' '}
          <input
            type="datetime-local"
            step="0.001"
            value={time}
            onInput={(event) => setTime(event.currentTarget.value)}
          />
        </label>
        {moment && (
          <output class="dim">
            {timeWords(moment.getTime())}, {agoWords(moment.getTime(), now)}
          </output>
        )}
        <button type="submit" disabled={moment === undefined}>
          Preview that moment
        </button>
      </form>
    </div>
  );
}
