import { isDamaged, MemoryError } from '../../errors.ts';
import { hashPart } from '../../format/checkpoint-root.ts';
import { inTurns } from '../../time.ts';
import { listIds } from '../../tree/records/list-ids.ts';
import { readRecord } from '../../tree/records/sealed-record.ts';
import type { Work } from '../../tree/tenant.ts';
import {
  type CheckpointEntry,
  type CheckpointHead,
  type CheckpointLine,
  decodeHead,
  decodePart,
  headId,
  numberOfHead,
  partId,
  rootOf,
} from './checkpoint-record.ts';

const HEAD_BYTES = 16_384;
const PART_BYTES = 16_777_216;
/**
 * The number of lines of a part that are read, in a millisecond, before everything else in the process has its turn.
 */
export const LINES_PER_TURN = 100;

/** Answers the largest number of the tenant's checkpoints; 0 without any. One LIST for each 1,000. */
export async function newestNumber(work: Work): Promise<number> {
  const heads = await listIds(work, 'checkpoints', 'c');
  return Math.max(0, ...heads.map(({ id }) => numberOfHead(id) ?? 0));
}

/**
 * Reads the head of a checkpoint; undefined when it is missing. One GET.
 *
 * @throws MemoryError `integrity`.
 */
export async function readHead(work: Work, number: number): Promise<CheckpointHead | undefined> {
  const record = await readRecord(work, { cls: 'checkpoints', id: headId(number), maxBytes: HEAD_BYTES });
  if (record === undefined) return undefined;
  const head = decodeHead(record.content);
  if (head === undefined) throw malformed();
  return head;
}

/** One part of a checkpoint. */
interface CheckpointPart {
  readonly entries: readonly CheckpointEntry[];
  /** The bytes that are hashed. */
  readonly content: Uint8Array;
}

/**
 * Reads the parts in their order, a GET for each; only the end shows whether they are those of a line.
 *
 * @throws MemoryError as `readHead`.
 */
export async function* readParts(
  work: Work,
  { run, parts }: Pick<CheckpointHead, 'run' | 'parts'>,
): AsyncGenerator<CheckpointPart, void, undefined> {
  for (let part = 0; part < parts; part++) {
    const name = { cls: 'checkpoints', id: partId(run, part), maxBytes: PART_BYTES } as const;
    const content = (await readRecord(work, name))?.content;
    const entries = content && (await inTurns(decodePart(content), work.call.signal, LINES_PER_TURN));
    if (content === undefined || entries === undefined) throw malformed();
    yield { entries, content };
  }
}

/**
 * `missing`: the store has no checkpoint of that number. `other`: the stored one has another root. `damaged`: the
 * checkpoint, or a part of it, cannot be opened or is gone.
 */
type CheckpointFault = 'missing' | 'other' | 'damaged';

/** A checkpoint that matches its line. */
interface Checkpoint {
  readonly head: CheckpointHead;
  readonly root: string;
  readonly entries: readonly CheckpointEntry[];
}

/** The line of a checkpoint to compare with; without a root the one that is stored under the number. */
export type SinceLine = Pick<CheckpointLine, 'number'> & Partial<CheckpointLine>;

/** Reads a checkpoint and checks it against its line, or against itself where only its number is known. */
export async function readCheckpoint(
  work: Work,
  { number, root: wanted }: SinceLine,
): Promise<Checkpoint | CheckpointFault> {
  try {
    const head = await readHead(work, number);
    if (head === undefined) return 'missing';
    if (head.number !== number) return 'other';
    const digests: Uint8Array[] = [];
    const entries: CheckpointEntry[] = [];
    for await (const part of readParts(work, head)) {
      digests.push(hashPart(head.secret, digests.length, part.content));
      for (const entry of part.entries) entries.push(entry);
    }
    if (entries.length !== head.files) return 'damaged';
    const root = rootOf(head, digests);
    return wanted === undefined || wanted === root ? { head, root, entries } : 'other';
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return 'damaged';
  }
}

function malformed(): MemoryError {
  return new MemoryError('integrity', 'A record of a checkpoint is missing, or is none.');
}
