import { nextBound } from '../../../src/format/wrap.ts';
import type { PlanDraft } from '../../../src/history/change/plan.ts';
import type { ToldLeave } from '../../../src/history/past/leaves.ts';
import { type FileSighting, itemByItem, modelOf } from '../../../src/history/past/model.ts';
import type { Leave, Past } from '../../../src/history/past/past.ts';
import { type MemoryPath, parseMemoryPath } from '../../../src/language/path.ts';

/** Invented sightings and leaves, ready for the model. */
interface Story {
  readonly sightings: readonly FileSighting[];
  readonly leaves: readonly ToldLeave[];
}

/**
 * Reads the facts of a past from sentences, which semicolons part. Each names a version by a letter, says where it was
 * seen and under which bound, in milliseconds (`3+1` is the bound behind that of 3), and gives details:
 *
 * - `v lies a 3`: the file `a` is the version v; `brought` where a rename of a directory brought it there.
 * - `v kept a 3`, `v redacted a 3`: a record has it or had it, which was written at `saved 4`, `for delete`.
 * - `v seen a 3`: another source tells of it.
 * - `v deleted a 3`, `v moved a 3 to b`: it left `a` at `at 4`, by the event `of e`; `planned` by the rename of a directory.
 *
 * Details of a version: `after u`, `by ann`, `text x` (its letter unless told; `-` for none that was read), `mtime 1`
 * (that of the bound unless told), `size 1`.
 */
export function storyOf(sentences: string): Story {
  const sightings: FileSighting[] = [];
  const leaves: ToldLeave[] = [];
  for (const sentence of sentences.split(';').map((each) => each.trim())) {
    if (sentence === '') continue;
    const [id = '', verb = '', place = '', moment = '', ...rest] = sentence.split(' ');
    const [ms = '', step = '0'] = moment.split('+');
    const path = pathOf(place);
    const bound = nextBound(Number(ms)) + BigInt(step);
    const detail = (name: string): string | undefined => {
      const index = rest.indexOf(name);
      return index < 0 ? undefined : rest[index + 1];
    };
    const timeOf = (name: string): number => Number(detail(name) ?? ms);
    if (verb === 'deleted' || verb === 'moved') {
      const to = detail('to');
      leaves.push({
        ...{ id, from: path, bound, at: timeOf('at'), lastAt: timeOf('at'), by: detail('by') },
        to: to === undefined ? undefined : pathOf(to),
        event: detail('of') ?? `${verb} ${place} ${moment}`,
        isPlanned: rest.includes('planned'),
      });
      continue;
    }
    const record = `record of ${id} at ${place} ${moment}`;
    const text = detail('text') ?? id;
    const isSaved = verb === 'kept' || verb === 'redacted';
    const reason = detail('for') === 'delete' ? ('delete' as const) : undefined;
    sightings.push({
      ...{ id, path, bound, mtime: timeOf('mtime'), size: Number(detail('size') ?? 1) },
      previous: detail('after'),
      writer: detail('by'),
      textHash: verb === 'redacted' || verb === 'seen' || text === '-' ? undefined : text,
      saved: isSaved ? { record, at: verb === 'kept' ? timeOf('saved') : undefined, for: reason } : undefined,
      ...(verb === 'redacted' && { redacted: { at: timeOf('saved'), by: undefined } }),
      ...(verb === 'lies' && { file: { isRenamed: rest.includes('brought') } }),
    });
  }
  return { sightings, leaves };
}

/** Makes the past of a story. */
export function pastOf(sentences: string, damaged: Partial<Past['damaged']> = {}): Promise<Past> {
  const { files = [], records = [] } = damaged;
  return itemByItem(modelOf({ ...storyOf(sentences), damaged: { files, records } }));
}

/** Names a path by what stands below the root. */
export function short(path: string): string {
  return path.slice('/memories/'.length);
}

/** Says where a version went. */
export function wordsOfLeave({ id, from, to, state }: Leave): string {
  const way = to === undefined ? `deleted ${short(from)}` : `moved ${short(from)} to ${short(to)}`;
  return state === 'done' ? `${id} ${way}` : `${id} ${way} ${state}`;
}

function pathOf(place: string): MemoryPath {
  return parseMemoryPath(`/memories/${place}`);
}

/** Says what a plan does, with the versions that it names, and what it leaves. */
export function wordsOfDraft({ renames, writes, deletes, left }: PlanDraft): readonly string[] {
  const changes = [renames, writes, deletes].flatMap((some) => [...some.values()]);
  return [
    ...changes.map(({ what, path, to, fromVersion, toVersion }) => {
      const way = to === undefined ? short(path) : `${short(path)} to ${short(to)}`;
      return `${what} ${way}: ${[fromVersion, toVersion].filter((each) => each !== undefined).join(' to ')}`;
    }),
    ...[...left.values()].map(({ reason, path, version, later }) =>
      [
        `${reason} ${short(path)}`,
        ...(version === undefined ? [] : [`: ${version}`]),
        ...(later === undefined ? [] : [[', later', ...later].join(' ')]),
      ].join(''),
    ),
  ];
}
