import { describe, expect, it } from 'vitest';
import type { CheckpointEntry } from '../../../../src/admin/checkpoints/checkpoint-record.ts';
import { judgeSince } from '../../../../src/admin/verify/judge-since.ts';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { nextBound } from '../../../../src/format/wrap.ts';
import type { ToldLeave } from '../../../../src/history/past/leaves.ts';
import { type FileSighting, modelOf } from '../../../../src/history/past/model.ts';
import type { MemoryPath } from '../../../../src/language/path.ts';
import { at } from '../../../stage/test-tree.ts';

const HOUR = 60;
const MINUTE_MS = 60_000;
/** A millisecond, and the most by which clocks may differ; in minutes. */
const [MS, CLOCK] = [1 / MINUTE_MS, 15];
/** The checkpoint is taken at this minute; every time below is in minutes after it. */
const BEGAN = 1_790_000_000_000;
const NONE = toBase64url(new Uint8Array(16));

/** A version, by a letter: the same letter has the same id. */
function idOf(letter: string): string {
  return toBase64url(new Uint8Array(16).fill(letter.charCodeAt(0)));
}

function letterOf(id: string): string {
  return String.fromCharCode(Buffer.from(id, 'base64url')[0] ?? 0);
}

interface Bound {
  readonly path?: string;
  readonly id: string;
  /** When it was bound. */
  readonly bound: number;
  /** When it was written; as bound unless given. */
  readonly written?: number;
  readonly previous?: string;
}

interface Lying extends Bound {
  readonly savedAt?: number;
  readonly for?: 'delete';
}

interface Left {
  readonly path?: string;
  readonly id: string;
  readonly bound: number;
  readonly to?: string;
  readonly at: number;
  readonly isPlanned?: boolean;
}

/** The things that a case tells of; a path is `a` unless given. */
interface Told {
  readonly entries?: readonly (Bound & { readonly note?: 'young' })[];
  readonly files?: readonly Bound[];
  readonly saved?: readonly Lying[];
  readonly left?: readonly Left[];
  /** Since when the history is kept; since long before unless given. `off`: it is not. */
  readonly kept?: number | 'off';
  readonly renaming?: string;
  readonly damaged?: readonly string[];
  readonly takesMinutes?: number;
}

function timeOf(minute: number): number {
  return BEGAN + Math.round(minute * MINUTE_MS);
}

function pathOf(name = 'a'): MemoryPath {
  return at(`/memories/${name}`);
}

function factsOf({ path, id, bound, written = bound, previous }: Bound) {
  return {
    path: pathOf(path),
    id: idOf(id),
    bound: nextBound(timeOf(bound)),
    mtime: timeOf(written),
    size: 1,
    ...{
      previous: previous === undefined ? undefined : idOf(previous),
      writer: undefined,
      textHash: undefined,
    },
  };
}

/**
 * Answers what the judge says: the state, the letter of what is there at which path, and after an arrow what must be
 * there.
 */
function judged(told: Told): readonly string[] {
  const { entries = [], files = [], saved = [], left = [], kept = -1_000 * HOUR, takesMinutes = 0 } = told;
  const sightings: readonly FileSighting[] = [
    ...files.map((file) => ({ ...factsOf(file), saved: undefined, file: { isRenamed: false } })),
    ...saved.map((each, index) => ({
      ...factsOf(each),
      saved: { record: `r${index}`, at: timeOf(each.savedAt ?? each.bound), for: each.for },
    })),
    ...entries.map((entry) => ({ ...factsOf(entry), saved: undefined })),
  ];
  const leaves: readonly ToldLeave[] = left.map(({ path, id, bound, to, at: time, isPlanned }, index) => ({
    ...{
      id: idOf(id),
      from: pathOf(path),
      bound: nextBound(timeOf(bound)),
      at: timeOf(time),
      lastAt: timeOf(time),
      by: undefined,
    },
    to: to === undefined ? undefined : pathOf(to),
    event: `e${index}`,
    isPlanned: isPlanned === true,
  }));
  const past = finished(
    modelOf({ sightings, leaves, damaged: { records: [], files: (told.damaged ?? []).map(pathOf) } }),
  );
  const since = kept === 'off' ? Number.POSITIVE_INFINITY : timeOf(kept);
  const findings = finished(
    judgeSince({
      past,
      entries: entries.map((entry): CheckpointEntry => {
        const { textHash: _, ...facts } = factsOf(entry);
        const previous = facts.previous ?? NONE;
        return { ...facts, previous, writer: NONE, etag: '', textHash: NONE, note: entry.note ?? '' };
      }),
      facts: { began: BEGAN, ended: timeOf(takesMinutes) },
      kept: { since, from: since, otherwise: 'history_off' },
      renaming: told.renaming === undefined ? undefined : pathOf(told.renaming),
    }),
  );
  return findings.map(({ state, why, path, found, expected }) => {
    const words = [state, ...(why === undefined ? [] : [why]), path.slice(10)];
    const is = found === undefined ? [] : [letterOf(found.version)];
    return [...words, ...is, ...(expected === undefined ? [] : ['→', letterOf(expected.version)])].join(' ');
  });
}

function finished<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

type Case = readonly [says: string, told: Told, found?: string | readonly string[]];

function holds(cases: readonly Case[]): void {
  it.each(cases.map(([says, ...rest]) => ({ says, rest })))('$says', ({ rest: [told, found = []] }) => {
    expect(judged(told)).toEqual(typeof found === 'string' ? [found] : found);
  });
}

/** An entry two hours old, which came of `o`, that came of nothing. */
const E = { id: 'e', bound: -2 * HOUR, previous: 'o' };
const O = { id: 'o', bound: -9 * HOUR };

describe('a file is well where it leads back', () => {
  holds([
    ['to its own entry, as it was bound', { entries: [E], files: [E] }],
    ['to its own entry, bound again since by a migration', { entries: [E], files: [{ ...E, bound: HOUR }] }],
    [
      'to its own entry elsewhere, by a rename of which nothing tells',
      { entries: [E], files: [{ ...E, path: 'b', bound: HOUR }] },
    ],
    [
      'to an entry that it replaced',
      {
        entries: [E],
        files: [{ id: 'f', bound: HOUR, previous: 'e' }],
        saved: [{ ...E, savedAt: HOUR }],
      },
    ],
    [
      'to an entry by several versions of the history',
      {
        entries: [E],
        files: [{ id: 'g', bound: 3 * HOUR, previous: 'f' }],
        saved: [
          { ...E, savedAt: HOUR },
          { id: 'f', bound: HOUR, previous: 'e', savedAt: 3 * HOUR },
        ],
      },
    ],
    ['to nothing, and was born since', { files: [{ id: 'n', bound: HOUR }] }],
    [
      'to a version that was born since',
      {
        files: [{ id: 'f', bound: 2 * HOUR, previous: 'n' }],
        saved: [{ id: 'n', bound: HOUR, savedAt: 2 * HOUR }],
      },
    ],
    [
      'to one of two entries of its version, which a rename that was cut off had left',
      {
        entries: [E, { ...E, path: 'b', bound: -HOUR }],
        files: [E, { ...E, path: 'c', bound: HOUR }],
        left: [{ ...E, path: 'b', bound: -HOUR, to: 'c', at: HOUR }],
      },
    ],
  ]);
});

describe('a file is older', () => {
  holds([
    [
      'where its version is an entry that was bound later',
      { entries: [E], files: [{ ...E, bound: -3 * HOUR }] },
      'older a e → e',
    ],
    [
      'where an entry came of it, whether the history is kept or not',
      { entries: [E], files: [O], kept: 'off' },
      'older a o → e',
    ],
    [
      'where it comes of such a one, past the entry',
      { entries: [E], files: [{ id: 'x', bound: HOUR, previous: 'o' }], kept: 'off' },
      'older a x → e',
    ],
    [
      'where it comes of such a one by the history, past the entry',
      {
        entries: [E],
        files: [{ id: 'y', bound: 2 * HOUR, previous: 'x' }],
        saved: [{ id: 'x', bound: HOUR, previous: 'o' }],
      },
      'older a y → e',
    ],
    [
      'where an entry came of it a minute before the checkpoint',
      {
        entries: [{ ...E, bound: -1 }],
        files: [{ ...O, bound: -2 }],
        kept: 'off',
      },
      'older a o → e',
    ],
    ['where it was bound before the checkpoint, which has it not', { files: [O] }, 'older a o'],
    [
      'where it was put back and then written',
      { files: [{ id: 'f', bound: HOUR, previous: 'o' }], saved: [{ ...O, savedAt: HOUR }] },
      'older a f',
    ],
    [
      'where it was put back and then renamed',
      {
        files: [{ ...O, path: 'b', bound: HOUR, written: -9 * HOUR }],
        left: [{ ...O, to: 'b', at: HOUR }],
      },
      'older b o',
    ],
    [
      'where a record says that it was deleted',
      { entries: [E], files: [E], left: [{ ...E, at: HOUR }] },
      'older a e',
    ],
    [
      'where a record says that it was deleted once more, after a restore on purpose',
      {
        entries: [E],
        files: [E],
        left: [
          { ...E, at: -3 * HOUR },
          { ...E, at: HOUR },
        ],
        kept: -HOUR / 2,
      },
      'older a e',
    ],
    [
      'where a record says that it was renamed',
      {
        entries: [E],
        files: [E, { ...E, path: 'b', bound: HOUR }],
        left: [{ ...E, to: 'b', at: HOUR }],
      },
      'older a e',
    ],
    [
      'where it was renamed there and back since, and lies there as before',
      {
        entries: [E],
        files: [E],
        left: [
          { ...E, to: 'b', at: HOUR },
          { ...E, path: 'b', bound: HOUR, to: 'a', at: 2 * HOUR },
        ],
      },
      'older a e',
    ],
    [
      'where a version of the history was written over it',
      {
        entries: [E],
        files: [E],
        saved: [
          { ...E, savedAt: HOUR },
          { id: 'f', bound: HOUR, previous: 'e', savedAt: 2 * HOUR },
        ],
      },
      'older a e → f',
    ],
    [
      'where the version that was written over it has been renamed since',
      {
        entries: [E],
        files: [E, { id: 'f', path: 'b', bound: 2 * HOUR, written: HOUR, previous: 'e' }],
        saved: [{ ...E, savedAt: HOUR }],
        left: [{ id: 'f', bound: HOUR, to: 'b', at: 2 * HOUR }],
      },
      'older a e',
    ],
    [
      'where it had been deleted, was put back, and has been bound again since by a migration',
      {
        entries: [E],
        files: [{ ...E, bound: 3 * HOUR }],
        left: [{ ...E, at: HOUR }],
      },
      'older a e',
    ],
    [
      'where it had been written over, was put back, and has been bound again since by a migration',
      {
        entries: [E],
        files: [{ ...E, bound: 3 * HOUR }],
        saved: [
          { ...E, savedAt: HOUR },
          { id: 'f', bound: HOUR, previous: 'e', savedAt: 2 * HOUR },
        ],
      },
      'older a e → f',
    ],
    [
      'where it was written over a binding that the checkpoint has not: it lay there before it was renamed',
      {
        entries: [{ ...E, path: 'b' }],
        files: [
          { ...E, path: 'b' },
          { id: 'x', bound: HOUR, previous: 'e' },
        ],
        saved: [{ ...E, bound: -3 * HOUR, savedAt: HOUR }],
      },
      'older a x',
    ],
    [
      'where it was written over a binding that had been deleted',
      {
        entries: [E],
        files: [{ id: 'x', bound: 3 * HOUR, previous: 'e' }],
        saved: [{ ...E, savedAt: 3 * HOUR, for: 'delete' }],
        left: [{ ...E, at: 2 * HOUR }],
      },
      'older a x',
    ],
    [
      'where it was written over a binding that another version had been written over',
      {
        entries: [E],
        files: [{ id: 'x', bound: 3 * HOUR, previous: 'e' }],
        saved: [
          { ...E, savedAt: 3 * HOUR },
          { id: 'f', bound: HOUR, previous: 'e', savedAt: 2 * HOUR },
        ],
      },
      'older a x → f',
    ],
    [
      'where a directory was renamed, and it is known at its new place',
      {
        entries: [{ ...E, path: 'd/a' }],
        files: [
          { ...E, path: 'd/a' },
          { ...E, path: 'x/a', bound: HOUR },
        ],
        left: [{ ...E, path: 'd/a', to: 'x/a', at: HOUR, isPlanned: true }],
      },
      'older d/a e',
    ],
  ]);
});

describe('a file is not older', () => {
  holds([
    [
      'where it was renamed there and back since, and bound again',
      {
        entries: [E],
        files: [{ ...E, bound: 2 * HOUR }],
        left: [
          { ...E, to: 'b', at: HOUR },
          { ...E, path: 'b', bound: HOUR, to: 'a', at: 2 * HOUR },
        ],
      },
    ],
    [
      'where it came back after the one that was written over it left',
      {
        entries: [E, { ...E, path: 'b', bound: -HOUR }],
        files: [{ ...E, bound: 3 * HOUR }],
        saved: [
          { ...E, savedAt: HOUR },
          { id: 'f', bound: HOUR, previous: 'e', savedAt: 2 * HOUR, for: 'delete' },
        ],
        left: [
          { id: 'f', bound: HOUR, at: 2 * HOUR },
          { ...E, path: 'b', bound: -HOUR, to: 'a', at: 3 * HOUR },
        ],
      },
    ],
    [
      'by a record from before the history was begun anew',
      { entries: [E], files: [E], left: [{ ...E, at: -HOUR }], kept: -HOUR / 2 },
    ],
    [
      'by what was written over it before the history was begun anew',
      {
        entries: [{ ...E, id: 'o' }],
        files: [{ ...E, id: 'o' }],
        saved: [{ id: 'f', bound: -HOUR, previous: 'o', savedAt: -HOUR }],
        kept: -HOUR / 2,
      },
    ],
    [
      'by a version that was written over it elsewhere',
      {
        entries: [E, { ...E, path: 'b', bound: -HOUR }],
        files: [
          { ...E, bound: 3 * HOUR },
          { id: 'f', path: 'b', bound: 2 * HOUR, previous: 'e' },
        ],
        saved: [{ ...E, path: 'b', bound: -HOUR, savedAt: 2 * HOUR }],
      },
    ],
    [
      'by a record of its delete elsewhere',
      { entries: [E], files: [E], left: [{ ...E, path: 'b', at: HOUR }] },
    ],
    [
      'by a record of an older binding',
      { entries: [E], files: [E], left: [{ ...E, bound: -3 * HOUR, at: HOUR }] },
    ],
  ]);
});

describe('an entry is gone', () => {
  holds([
    ['where nothing says why', { entries: [E] }, 'gone a → e'],
    [
      'where another file lies there, which is new',
      { entries: [E], files: [{ id: 'n', bound: HOUR }] },
      'gone a n → e',
    ],
    [
      'where it was saved for an edit, and neither that nor a delete is known',
      { entries: [E], saved: [{ ...E, savedAt: HOUR }] },
      'gone a → e',
    ],
    [
      'where what came of it is not there, and nothing says why',
      {
        entries: [E],
        saved: [
          { ...E, savedAt: HOUR },
          { id: 'f', bound: HOUR, previous: 'e', savedAt: 2 * HOUR },
        ],
      },
      'gone a → f',
    ],
    [
      'where it was renamed, and is not at the new place',
      { entries: [E], left: [{ ...E, to: 'b', at: HOUR }] },
      'gone a → e',
    ],
    [
      'where a record tells of the delete of an older binding before the checkpoint',
      { entries: [E], left: [{ ...E, path: 'b', bound: -5 * HOUR, at: -4 * HOUR }] },
      'gone a → e',
    ],
    [
      'where only a file is there that is older itself',
      {
        entries: [E],
        files: [{ ...E, path: 'b', bound: -5 * HOUR }],
      },
      ['older b e', 'gone a → e'],
    ],
  ]);
});

describe('an entry is not gone', () => {
  holds([
    ['where a record tells of its delete', { entries: [E], left: [{ ...E, at: HOUR }] }],
    [
      'where a record tells of the delete of what came of it',
      {
        entries: [E],
        saved: [
          { ...E, savedAt: HOUR },
          { id: 'f', bound: HOUR, previous: 'e', savedAt: 2 * HOUR, for: 'delete' },
        ],
        left: [{ id: 'f', bound: HOUR, at: 2 * HOUR }],
      },
    ],
    [
      'where it was renamed and then deleted',
      {
        entries: [E],
        left: [
          { ...E, to: 'b', at: HOUR },
          { ...E, path: 'b', bound: HOUR, at: 2 * HOUR },
        ],
      },
    ],
    [
      'where it lies at the other of two places',
      {
        entries: [E, { ...E, path: 'b', bound: -HOUR }],
        files: [E],
      },
    ],
    ['where its file is damaged, which is a finding of its own', { entries: [E], damaged: ['a'] }],
  ]);
});

describe('it is untold', () => {
  holds([
    [
      'where a new file was bound within a quarter of an hour of the checkpoint',
      { files: [{ id: 'n', bound: 10 }] },
      'untold clock a n',
    ],
    ['where it was so before the checkpoint', { files: [{ id: 'n', bound: -10 }] }, 'untold clock a n'],
    [
      'where it came of an entry, by a clock that was set back since the checkpoint',
      {
        entries: [E],
        files: [{ id: 'f', bound: -HOUR, previous: 'e' }],
        saved: [{ ...E, savedAt: -HOUR }],
      },
      'untold clock a f',
    ],
    [
      'where it came of one that did, by such a clock',
      {
        entries: [E],
        files: [{ id: 'g', bound: HOUR, previous: 'f' }],
        saved: [
          { ...E, savedAt: -HOUR },
          { id: 'f', bound: -HOUR, previous: 'e', savedAt: HOUR },
        ],
      },
      'untold clock a g',
    ],
    [
      'where it was bound while the checkpoint was taken',
      { files: [{ id: 'n', bound: HOUR }], takesMinutes: 3 * HOUR },
      'untold clock a n',
    ],
    [
      'where an old one was renamed meanwhile, and is in no entry',
      { files: [{ ...O, path: 'b', bound: 5, written: -9 * HOUR }] },
      'untold clock b o',
    ],
    [
      'where an entry was renamed meanwhile, by a clock that is slower than that of the copy that was taken back',
      { entries: [{ ...E, path: 'b', bound: 5 }], files: [{ ...E, path: 'c', bound: -5 }] },
      'untold clock c e',
    ],
    [
      'where one of the renames of an entry brought it back meanwhile, by a clock that is slower',
      {
        entries: [{ ...E, bound: 5 }],
        files: [{ ...E, bound: -5 }],
        left: [
          { ...E, path: 'x', bound: -10, to: 'a', at: -5 },
          { ...E, path: 'y', bound: -20, to: 'x', at: -10 },
        ],
      },
      'untold clock a e',
    ],
    [
      'where a copy of what an entry came of was bound meanwhile, and written over since',
      {
        entries: [{ ...E, bound: -3 }],
        files: [
          { ...E, bound: -3 },
          { id: 'x', path: 'b', bound: HOUR, previous: 'o' },
        ],
        saved: [{ ...O, path: 'b', bound: 2, savedAt: HOUR }],
      },
      'untold clock b x',
    ],
    [
      'what became of a file where the history was off',
      { entries: [E], kept: 'off' },
      'untold history_off a → e',
    ],
    [
      'where a version between is from before the history is kept',
      { entries: [E], files: [{ id: 'g', bound: 2 * HOUR, previous: 'f' }], kept: 3 * HOUR },
      'untold history_off a g → f',
    ],
    [
      'whether a delete was cut off before it was written down',
      { entries: [E], saved: [{ ...E, savedAt: HOUR, for: 'delete' }] },
      'untold unrecorded a → e',
    ],
    [
      'whether a copy was taken back since the other one was deleted',
      {
        entries: [{ ...E, path: 'b', bound: 1 }],
        left: [{ ...E, at: 2 }],
      },
      'untold unrecorded b → e',
    ],
    [
      'what became of a file that was a moment old',
      { entries: [{ ...E, note: 'young' }] },
      'untold young a → e',
    ],
    [
      'where the rename of a directory was only planned',
      {
        entries: [{ ...E, path: 'd/a' }],
        files: [{ ...E, path: 'd/a' }],
        left: [{ ...E, path: 'd/a', to: 'x/a', at: HOUR, isPlanned: true }],
      },
      'untold renaming d/a e',
    ],
    [
      'where the rename of a directory is not finished',
      {
        entries: [{ ...E, path: 'd/a' }],
        files: [
          { ...E, path: 'd/a' },
          { ...E, path: 'x/a', bound: HOUR },
        ],
        left: [{ ...E, path: 'd/a', to: 'x/a', at: HOUR, isPlanned: true }],
        renaming: 'd',
      },
      'untold renaming d/a e',
    ],
    [
      'whether a file was put back that was saved to be replaced',
      { entries: [E], files: [E], saved: [{ ...E, savedAt: HOUR }] },
      'untold saved a e',
    ],
    [
      'whether a rename brought it by a slow clock after its delete',
      {
        entries: [{ ...E, path: 'b', bound: -3 * HOUR }],
        files: [
          { ...E, path: 'b', bound: -3 * HOUR },
          { ...E, bound: HOUR },
        ],
        left: [{ ...E, bound: HOUR + 10, at: HOUR + 11 }],
      },
      'untold clock a e',
    ],
  ]);
});

describe('what the history ought to have and has not', () => {
  holds([
    [
      'is named by verify itself',
      {
        entries: [{ ...E, id: 'q', path: 'b' }],
        files: [
          { ...E, id: 'q', path: 'b' },
          { id: 'g', bound: 2 * HOUR, previous: 'f' },
        ],
      },
    ],
  ]);
});

describe('a bound is judged to the millisecond', () => {
  const f = { id: 'f', bound: HOUR, previous: 'e' };
  const saved = { ...E, savedAt: HOUR };
  /** The same version at two places, of which the second one ends at this minute. */
  const endsElsewhere = (minute: number): Told => ({
    entries: [E, { ...E, path: 'b', bound: -HOUR }],
    files: [{ ...E, bound: 3 * HOUR }],
    left: [
      { ...E, at: HOUR },
      { ...E, path: 'b', bound: -HOUR, at: minute },
    ],
  });
  const endsHere = { entries: [E], files: [{ ...E, bound: 3 * HOUR }], left: [{ ...E, at: HOUR }] };
  const isWrittenOver = {
    entries: [E],
    files: [{ ...E, bound: 3 * HOUR }],
    saved: [saved, { ...f, savedAt: 2 * HOUR }],
  };
  const deletedBefore = (bound: number, minute: number): Told => ({
    entries: [E],
    saved: [{ ...E, bound, savedAt: minute, for: 'delete' }],
  });
  const young = { ...E, bound: -1 };
  const isWrittenTwice = {
    entries: [E],
    files: [{ id: 'x', bound: 3 * HOUR, previous: 'e' }],
    saved: [
      { ...E, savedAt: 3 * HOUR },
      { ...f, savedAt: 2 * HOUR },
    ],
  };

  holds([
    [
      'a file may be new from a quarter of an hour before',
      { files: [{ id: 'n', bound: -CLOCK }] },
      'untold clock a n',
    ],
    ['and is older before that', { files: [{ id: 'n', bound: -CLOCK - MS }] }, 'older a n'],
    [
      'a file may be old until a quarter of an hour after the end',
      { files: [{ id: 'n', bound: 10 + CLOCK }], takesMinutes: 10 },
      'untold clock a n',
    ],
    ['and is new behind that', { files: [{ id: 'n', bound: 10 + CLOCK + MS }], takesMinutes: 10 }],
    [
      'an entry may have been renamed meanwhile from a quarter of an hour before',
      { entries: [{ ...E, path: 'b', bound: 5 }], files: [{ ...E, path: 'c', bound: -CLOCK }] },
      'untold clock c e',
    ],
    [
      'and not before that',
      { entries: [{ ...E, path: 'b', bound: 5 }], files: [{ ...E, path: 'c', bound: -CLOCK - MS }] },
      ['older c e', 'gone b → e'],
    ],
    [
      'an entry may have been renamed meanwhile until a quarter of an hour after',
      { entries: [{ ...E, path: 'b', bound: 20 }], files: [{ ...E, path: 'c', bound: CLOCK }] },
      'untold clock c e',
    ],
    [
      'and not behind that',
      { entries: [{ ...E, path: 'b', bound: 20 }], files: [{ ...E, path: 'c', bound: CLOCK + MS }] },
      ['older c e', 'gone b → e'],
    ],
    [
      'a delete counts from the moment at which the history is kept',
      { entries: [E], files: [E], left: [{ ...E, at: HOUR }], kept: HOUR },
      'older a e',
    ],
    ['and not before it', { entries: [E], files: [E], left: [{ ...E, at: HOUR }], kept: HOUR + MS }],
    [
      'so does a version that was written over the file',
      { entries: [E], files: [E], saved: [f], kept: HOUR },
      'older a e → f',
    ],
    ['and not before it, either', { entries: [E], files: [E], saved: [f], kept: HOUR + MS }],
    [
      'a file may have been saved to be replaced from a quarter of an hour before',
      { entries: [E], files: [E], saved: [{ ...E, savedAt: -CLOCK }] },
      'untold saved a e',
    ],
    [
      'and what was saved before that is well',
      { entries: [E], files: [E], saved: [{ ...E, savedAt: -CLOCK - MS }] },
    ],
    [
      'a file may have been saved to be replaced since the history is kept',
      { entries: [E], files: [E], saved: [{ ...E, savedAt: -10 }], kept: -10 },
      'untold saved a e',
    ],
    [
      'and what was saved before is well',
      { entries: [E], files: [E], saved: [{ ...E, savedAt: -10 - MS }], kept: -10 },
    ],
    [
      'an end may be that of another binding by clocks that differ by a quarter of an hour',
      { entries: [{ ...E, path: 'b' }], files: [E], left: [{ ...E, bound: -2 * HOUR + CLOCK, at: HOUR }] },
      'untold clock a e',
    ],
    [
      'and by no more',
      {
        entries: [{ ...E, path: 'b' }],
        files: [E],
        left: [{ ...E, bound: -2 * HOUR + CLOCK + MS, at: HOUR }],
      },
      'older a e',
    ],
    [
      'an entry was there when it ended after the checkpoint began',
      { entries: [young], files: [young], left: [{ ...E, bound: 5, at: 0 }] },
      'older a e',
    ],
    [
      'and may have come back where it ended before',
      { entries: [young], files: [young], left: [{ ...E, bound: 5, at: -MS }] },
      'untold clock a e',
    ],
    [
      'a copy may have been taken back where the other was deleted from a quarter of an hour before',
      { entries: [{ ...E, path: 'b', bound: 1 }], left: [{ ...E, at: 1 - CLOCK }] },
      'untold unrecorded b → e',
    ],
    [
      'and is gone where that was deleted before',
      { entries: [{ ...E, path: 'b', bound: 1 }], left: [{ ...E, at: 1 - CLOCK - MS }] },
      'gone b → e',
    ],
    [
      'a delete may have been cut off from a day and a quarter of an hour before',
      deletedBefore(-2 * HOUR, -CLOCK - 24 * HOUR),
      'untold unrecorded a → e',
    ],
    ['and not before that', deletedBefore(-2 * HOUR, -CLOCK - 24 * HOUR - MS), 'gone a → e'],
    [
      'that of an older binding from a quarter of an hour before',
      deletedBefore(-3 * HOUR, -CLOCK),
      'untold unrecorded a → e',
    ],
    ['and not before that, either', deletedBefore(-3 * HOUR, -CLOCK - MS), 'gone a → e'],
    [
      'an entry is gone where the history is kept from the beginning',
      { entries: [E], kept: 0 },
      'gone a → e',
    ],
    ['and untold where it is not', { entries: [E], kept: MS }, 'untold history_off a → e'],
    [
      'a version before a file is missing where the history has been kept since that was written',
      { files: [{ id: 'g', bound: 2 * HOUR, previous: 'f' }], kept: 2 * HOUR },
    ],
    [
      'and untold where it has not',
      { files: [{ id: 'g', bound: 2 * HOUR, previous: 'f' }], kept: 2 * HOUR + MS },
      'untold history_off a g → f',
    ],
    [
      'a file was put back to be written over where another version had been since the history is kept',
      { ...isWrittenTwice, kept: HOUR },
      'older a x → f',
    ],
    ['and is well where that is from before', { ...isWrittenTwice, kept: HOUR + MS }],
    [
      'a file may lie elsewhere until a quarter of an hour after it was bound here',
      endsElsewhere(3 * HOUR + CLOCK),
      'untold clock a e',
    ],
    ['and is well where it lay there longer', endsElsewhere(3 * HOUR + CLOCK + MS)],
    ['the same until a quarter of an hour before that', endsElsewhere(3 * HOUR - CLOCK), 'untold clock a e'],
    ['and was put back where it had ended before', endsElsewhere(3 * HOUR - CLOCK - MS), 'older a e'],
    [
      'a file was put back that was deleted since the history is kept',
      { ...endsHere, kept: HOUR },
      'older a e',
    ],
    ['and is well where it was deleted before', { ...endsHere, kept: HOUR + MS }],
    ['a file was put back that was written over since', { ...isWrittenOver, kept: HOUR }, 'older a e → f'],
    ['and is well where that was before', { ...isWrittenOver, kept: HOUR + MS }],
  ]);
});
