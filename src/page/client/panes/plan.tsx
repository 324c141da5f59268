import { visibleName } from '../../../language/invisible.ts';
import type { ResultOf } from '../../protocol.ts';
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

/** Shows what a plan would make of the files, or has made of them. */
export function Plan({
  reading,
  canWrite,
  onCarryOut,
  onOpen,
}: {
  readonly reading: ResultOf<'plan'>;
  readonly canWrite: boolean;
  readonly onCarryOut: () => void;
  readonly onOpen: (path: string) => void;
}) {
  const { changes, left, outcome } = reading;
  const isDone = outcome === 'written';
  const what = isDone ? 'Done' : changes.length === 0 ? 'There is nothing to do' : 'This would be done';
  return (
    <div>
      <p class="summary" data-well="true" role="status">
        {what}: {counted(changes.length, 'change')}
        {left.length > 0 && `, ${counted(left.length, 'file')} left as it is`}
      </p>
      <ul class="findings" aria-label="Changes">
        {changes.map(({ path, what: act, to }) => (
          <li key={`${act} ${path}`}>
            <span class="level">{act}</span>
            <span>
              {visibleName(path)}
              {to !== undefined && ` to ${visibleName(to)}`}
            </span>
            <button type="button" onClick={() => onOpen(path)}>
              Versions
            </button>
          </li>
        ))}
        {left.map(({ path, reason }) => (
          <li key={`left ${path}`} data-level="FAIL">
            <span class="level">left</span>
            <span>
              {visibleName(path)}: {REASONS[reason] ?? reason}
            </span>
            <button type="button" onClick={() => onOpen(path)}>
              Versions
            </button>
          </li>
        ))}
      </ul>
      {canWrite && !isDone && changes.length > 0 && (
        <button type="button" class="primary" onClick={onCarryOut}>
          Take it back
        </button>
      )}
    </div>
  );
}
