import { useMemo, useState } from 'preact/hooks';
import { visibleName } from '../../../language/invisible.ts';
import type { ResultOf } from '../../protocol.ts';
import { NearRows } from '../parts/near-part.tsx';
import { counted } from '../parts/words.ts';

/** The reasons for which a file stays as it is, in words. */
const REASONS: Readonly<Record<string, string>> = {
  redacted: 'its text was taken out',
  expired: 'its text is not kept any more',
  unrecorded: 'nothing tells where it lay then',
  damaged: 'it cannot be read: see Health',
  too_early: 'the history does not tell what was there then',
  built_on: 'others have written on: compare its versions',
  occupied: 'another file or directory stands in the way',
  hidden_by_mount: 'another memory is mounted there and hides it',
  refused: 'the policy or a limit refuses it',
};

type ShownChange = ResultOf<'plan'>['changes'][number];

/** The kinds of changes, the one that takes most away first, with the words of their sums. */
const KINDS: readonly (readonly [what: ShownChange['what'], word: string])[] = [
  ['delete', 'deleted'],
  ['replace', 'replaced'],
  ['rename', 'renamed'],
  ['create', 'created'],
];
/** The most changes that a click makes; for more of them the person types their number first. */
const MOST_UNTYPED = 20;
/** The likely height of a row in pixels. */
const ROW_HEIGHT = 54;

/** Shows what a plan would make of the files, or has made of them. */
export function Plan({
  wish,
  reading,
  canWrite,
  isBusy,
  onCarryOut,
  onOpen,
}: {
  /** The request that the plan answers, in words. */
  readonly wish: string;
  readonly reading: ResultOf<'plan'>;
  readonly canWrite: boolean;
  readonly isBusy: boolean;
  readonly onCarryOut: () => void;
  readonly onOpen: (path: string) => void;
}) {
  const { changes, left, outcome } = reading;
  const isDone = outcome === 'written';
  const what = isDone ? 'Done' : changes.length === 0 ? 'There is nothing to do' : 'This would be done';
  const rows = useMemo(() => rowsOf(reading), [reading]);
  return (
    <div class="plan">
      <h3>{wish}</h3>
      <p class="summary" data-well="true" role="status">
        {what}: {counted(changes.length, 'change')}
        {left.length > 0 && `, ${counted(left.length, 'file')} left as it is`}
      </p>
      <ul class="sums" aria-label="Sums">
        {KINDS.map(
          ([kind, word]) => [word, kind, changes.filter((each) => each.what === kind).length] as const,
        )
          .filter(([, , count]) => count > 0)
          .map(([word, kind, count]) => (
            <li key={kind} data-level={kind}>
              <span class="level">
                {count.toLocaleString('en')} {word}
              </span>
            </li>
          ))}
      </ul>
      <div class="findings" role="list" aria-label="Changes">
        <NearRows rows={rows} height={ROW_HEIGHT}>
          {({ level, path, words }) => (
            <div key={`${level} ${path}`} class="finding" role="listitem" data-level={level}>
              <span class="level">{level}</span>
              <span>{words}</span>
              <button type="button" onClick={() => onOpen(path)}>
                Versions
              </button>
            </div>
          )}
        </NearRows>
      </div>
      {canWrite && !isDone && changes.length > 0 && (
        <ActBar count={changes.length} {...{ wish, isBusy, onCarryOut }} />
      )}
    </div>
  );
}

interface PlanRow {
  readonly level: ShownChange['what'] | 'left';
  readonly path: string;
  readonly words: string;
}

/** Makes the rows of a plan: the changes by their kinds, and then the files that are left. */
function rowsOf({ changes, left }: ResultOf<'plan'>): readonly PlanRow[] {
  const changed = KINDS.flatMap(([kind]) => changes.filter(({ what }) => what === kind)).map(
    ({ what, path, to, writer }): PlanRow => {
      const target = to === undefined ? '' : ` to ${visibleName(to)}`;
      const loser = writer === undefined ? '' : `, which ${visibleName(writer)} wrote`;
      return { level: what, path, words: `${visibleName(path)}${target}${loser}` };
    },
  );
  const kept = left.map(
    ({ path, reason }): PlanRow => ({
      level: 'left',
      path,
      words: `${visibleName(path)}: ${REASONS[reason] ?? reason}`,
    }),
  );
  return [...changed, ...kept];
}

/** Shows the button for the act at the bottom of the window, however long the plan is. */
function ActBar({
  count,
  wish,
  isBusy,
  onCarryOut,
}: {
  readonly count: number;
  readonly wish: string;
  readonly isBusy: boolean;
  readonly onCarryOut: () => void;
}) {
  const [typed, setTyped] = useState('');
  const isAsked = count > MOST_UNTYPED;
  const isReady = !isAsked || typed.replaceAll(',', '').trim() === String(count);
  return (
    <form
      class="act-bar"
      aria-label="Carry it out"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && !isBusy) onCarryOut();
      }}
    >
      <span class="plan-wish" title={wish}>
        {wish}
      </span>
      {isAsked && (
        <label>
          Type {count} to go on{' '}
          <input
            inputMode="numeric"
            autocomplete="off"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
      )}
      <button type="submit" class="risky" disabled={!isReady || isBusy}>
        Take it back
      </button>
    </form>
  );
}
