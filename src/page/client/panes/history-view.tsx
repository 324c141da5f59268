import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { visibleName } from '../../../language/invisible.ts';
import type { LineOf, ResultOf, VersionEntry } from '../../protocol.ts';
import { ask } from '../data/ask.ts';
import { QuestionRefused } from '../data/post.ts';
import { beginClick } from '../data/spent.ts';
import { ROOT } from '../data/tree-rows.ts';
import { useNow } from '../data/use-now.ts';
import { NearRows } from '../parts/near-part.tsx';
import { agoWords, daysUntil, dayWords, momentIn, timeWords } from '../parts/words.ts';
import { Plan } from './plan.tsx';
import { EntryFacts } from './versions.tsx';

/** The request that a plan answers: an actor to undo, or a moment to restore. */
type PlanInput = { readonly undo: string } | { readonly at: string };

/** A plan with the request that it answers, in words. */
interface ShownPlan {
  readonly input: PlanInput;
  readonly wish: string;
  readonly reading: ResultOf<'plan'>;
}

/** The likely height of a row of the log in pixels. */
const ROW_HEIGHT = 33;

/** Shows the entries of all files, and takes back what one actor did, or all since a moment. */
export function HistoryView({
  canWrite,
  keepsHistory,
  onOpen,
}: {
  readonly canWrite: boolean;
  readonly keepsHistory: boolean;
  readonly onOpen: (path: string) => void;
}) {
  const [entries, setEntries] = useState<readonly VersionEntry[]>();
  const [plan, setPlan] = useState<ShownPlan>();
  const [failure, setFailure] = useState<string>();
  const [step, setStep] = useState<ReadingStep>();
  const running = useRef<AbortController>(undefined);
  const planned = useRef<HTMLElement>(null);
  /** Asks one question after the one before was cancelled, and shows how far it is or why it was refused. */
  const tell = async (
    doing: string,
    question: (asking: {
      readonly signal: AbortSignal;
      readonly onLine: (progress: LineOf<'versions'>) => void;
    }) => Promise<void>,
  ): Promise<void> => {
    running.current?.abort();
    const ending = new AbortController();
    running.current = ending;
    setFailure(undefined);
    setStep({ doing });
    try {
      await question({
        signal: ending.signal,
        onLine: (progress) => !ending.signal.aborted && setStep({ doing, ...progress }),
      });
    } catch (error) {
      if (error instanceof QuestionRefused) setFailure(error.message);
    } finally {
      if (running.current === ending) setStep(undefined);
    }
  };
  const read = (): Promise<void> =>
    tell('Reading the history', async (asking) => {
      const reading = await ask('versions', { path: ROOT }, asking);
      setEntries(reading.entries);
    });
  const preview = (input: PlanInput, wish: string): void => {
    beginClick();
    void tell('Reading the history', async (asking) => {
      const reading = await ask('plan', input, asking);
      setPlan({ input, wish, reading });
      planned.current?.scrollIntoView({ block: 'start' });
    });
  };
  const carryOut = (): void => {
    const digest = plan?.reading.digest;
    if (plan === undefined || digest === undefined) return;
    beginClick();
    void tell('Writing', async () => {
      const reading = await ask('carryOut', { ...plan.input, digest });
      setPlan({ ...plan, reading });
    }).then(read);
  };
  const cancel = (): void => running.current?.abort();
  useEffect(() => {
    void read();
    return cancel;
  }, []);
  return (
    <section class="health scroll" aria-label="History">
      <section class="card" aria-labelledby="undo-title" ref={planned}>
        <h2 id="undo-title">Take back</h2>
        <Choices entries={entries ?? []} onPreview={preview} />
        {failure && (
          <p class="failure" role="alert">
            {failure}
          </p>
        )}
        {step && <Running step={step} onCancel={cancel} />}
        {plan && (
          <Plan
            key={plan.reading.digest}
            {...{ ...plan, canWrite, onOpen }}
            isBusy={step !== undefined}
            onCarryOut={carryOut}
          />
        )}
      </section>
      <section class="card" aria-labelledby="log-title">
        <h2 id="log-title">What happened</h2>
        {entries === undefined && step === undefined && (
          <button type="button" onClick={() => void read()}>
            Read the history
          </button>
        )}
        {entries?.length === 0 && (
          <p>
            Nothing is known of any version.{' '}
            {!keepsHistory && (
              <>
                <code>sealed-memory tenant history on</code> keeps what is replaced from then on.
              </>
            )}
          </p>
        )}
        {entries && entries.length > 0 && (
          <div class="log" role="list" aria-labelledby="log-title">
            <NearRows rows={entries} height={ROW_HEIGHT}>
              {(entry, at) => (
                <LogRow
                  key={`${entry.kind} ${entry.version} ${entry.time} ${entry.path}`}
                  {...{ entry, onOpen, ...placeIn(entries, at) }}
                  onBack={() =>
                    preview({ at: new Date(entry.time).toISOString() }, `Back to before ${deedOf(entry)}`)
                  }
                />
              )}
            </NearRows>
          </div>
        )}
      </section>
    </section>
  );
}

/** A question that is being answered, and how far that is. */
interface ReadingStep extends Partial<LineOf<'versions'>> {
  readonly doing: string;
}

function Running({ step, onCancel }: { readonly step: ReadingStep; readonly onCancel: () => void }) {
  const { doing, done, total } = step;
  const isWriting = doing === 'Writing';
  return (
    <div class="running">
      <span>
        {doing} …
        {total !== undefined &&
          ` ${(done ?? 0).toLocaleString('en')} files and versions of ${total.toLocaleString('en')}`}
      </span>
      <progress aria-label={doing} value={total === undefined ? undefined : done} max={total} />
      {!isWriting && (
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      )}
    </div>
  );
}

/** The place of a row in the timeline: the groups that it begins, and whether it is one of several of a turn. */
interface TimelinePlace {
  readonly isDayStart: boolean;
  readonly isTurnStart: boolean;
  readonly isInTurn: boolean;
}

/**
 * Finds the place of a row in the timeline. A turn, whose actor the worker names `turn` and its id, is a group where it
 * wrote several rows of one day without another between them.
 */
function placeIn(entries: readonly VersionEntry[], at: number): TimelinePlace {
  const [before, entry, after] = [entries[at - 1], entries[at], entries[at + 1]];
  const isWithBefore = isOneTurn(before, entry);
  return {
    isDayStart: dayOf(before) !== dayOf(entry),
    isTurnStart: !isWithBefore && isOneTurn(entry, after),
    isInTurn: isWithBefore || isOneTurn(entry, after),
  };
}

function isOneTurn(entry: VersionEntry | undefined, next: VersionEntry | undefined): boolean {
  const isTurn = entry?.writer?.startsWith('turn ') === true;
  return isTurn && entry.writer === next?.writer && dayOf(entry) === dayOf(next);
}

/** Counts the days in UTC until an entry. */
function dayOf(entry: VersionEntry | undefined): number | undefined {
  return entry && daysUntil(entry.time);
}

function DayHead({ time }: { readonly time: number }) {
  const now = useNow();
  return <h3 class="day">{dayWords(time, now)}</h3>;
}

/** A deed of the log, with the button that goes back to the moment before it, and the heads of the groups it begins. */
function LogRow({
  entry,
  isDayStart,
  isTurnStart,
  isInTurn,
  onOpen,
  onBack,
}: TimelinePlace & {
  readonly entry: VersionEntry;
  readonly onOpen: (path: string) => void;
  readonly onBack: () => void;
}) {
  return (
    <div role="listitem">
      {isDayStart && <DayHead time={entry.time} />}
      {isTurnStart && <h4 class="turn">{visibleName(entry.writer ?? '')}</h4>}
      <div class="entry" data-turn={isInTurn}>
        <button type="button" class="version" onClick={() => onOpen(entry.path)}>
          <EntryFacts entry={entry} />
          <span title={visibleName(entry.path)}>{visibleName(entry.path)}</span>
        </button>
        <button
          type="button"
          class="act"
          title={`Preview all files as they were before ${deedOf(entry)}`}
          onClick={onBack}
        >
          Back to before this
        </button>
      </div>
    </div>
  );
}

const DEEDS: Readonly<Record<VersionEntry['kind'], string>> = {
  written: 'wrote',
  renamed: 'renamed',
  deleted: 'deleted',
};

/** Tells the deed of an entry, with its time to the millisecond. */
function deedOf({ kind, path, time, writer }: VersionEntry): string {
  const moment = new Date(time).toISOString().replace('T', ' ').replace('Z', ' UTC');
  return `${visibleName(writer ?? 'somebody')} ${DEEDS[kind]} ${visibleName(path)} at ${moment}`;
}

function Choices({
  entries,
  onPreview,
}: {
  readonly entries: readonly VersionEntry[];
  readonly onPreview: (input: PlanInput, wish: string) => void;
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
          onPreview({ undo: writer }, `Undo what ${visibleName(writer)} did`);
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
          if (moment !== undefined) {
            onPreview({ at: moment.toISOString() }, `Back to before ${timeWords(moment.getTime())}`);
          }
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
