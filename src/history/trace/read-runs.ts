import { isDamaged } from '../../errors.ts';
import type { ObjectClass } from '../../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../../format/sizes.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { listIds } from '../../tree/records/list-ids.ts';
import { readRecord } from '../../tree/records/sealed-record.ts';
import type { Work } from '../../tree/tenant.ts';
import { parseAnswer, parseSaved } from '../../turns/turn-records.ts';
import { parseTurnTrace, type TurnTouches } from '../../turns/turn-trace.ts';

/** The deeds of one run of a turn. A turn has several runs where a worker died and its progress is still stored. */
export interface TurnRun extends TurnTouches {
  /** The id of its answer, or of the record of its progress. */
  readonly id: string;
  /** The time of that record, by its writer's clock; milliseconds since the epoch. */
  readonly time: number;
  readonly isAnswered: boolean;
}

/** The turns of a tenant that are still stored. */
export interface TurnRuns {
  readonly runs: readonly TurnRun[];
  /** The number of answers from an earlier version of the library, which did not write down the deeds of turns. */
  readonly untraced: number;
  /** Ids of records that do not open under their names, or are malformed. */
  readonly damaged: readonly string[];
}

/**
 * Reads the deeds of turns, of those that ended and those that are unfinished: a LIST for each 1,000 answers and
 * receipts, a GET for each answer, and one for each receipt without an answer.
 */
export async function readTurnRuns(work: Work): Promise<TurnRuns> {
  const runs: TurnRun[] = [];
  const damaged: string[] = [];
  let untraced = 0;
  const answers = await listIds(work, 'answers');
  const answered = new Set(answers.map(({ id }) => id));
  const receipts = (await listIds(work, 'receipts')).filter(({ id }) => !answered.has(id));
  const read = async (cls: ObjectClass, id: string): Promise<void> => {
    try {
      const record = await readRecord(work, { cls, id, maxBytes: MAX_CONTENT_BYTES });
      if (record === undefined) return;
      const isAnswered = cls === 'answers';
      const fields = isAnswered ? parseAnswer(record.content) : parseSaved(record.content);
      const trace = parseTurnTrace(fields?.['trace']);
      if (trace !== undefined) runs.push({ ...trace, id, time: record.mtime, isAnswered });
      else if (isAnswered) untraced += 1;
    } catch (error) {
      if (!isDamaged(error)) throw error;
      damaged.push(id);
    }
  };
  const readAll = (cls: ObjectClass, listed: typeof answers): Promise<void> =>
    eachConcurrently(
      work.tenant,
      listed,
      ({ id }) => read(cls, id),
      ({ object }) => object.size,
    );
  await readAll('answers', answers);
  await readAll('receipts', receipts);
  runs.sort((a, b) => a.time - b.time || (a.id < b.id ? -1 : 1));
  return { runs, untraced, damaged };
}
