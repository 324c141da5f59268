import { isDamaged, MemoryError } from '../errors.ts';
import { encodeText } from '../language/text.ts';
import { pagesBelow } from '../tree/list-objects.ts';
import { readRecord } from '../tree/sealed-record.ts';
import type { Work } from '../tree/session.ts';
import {
  type CheckpointEntry,
  type CheckpointHead,
  type CheckpointLine,
  createEntryTree,
  decodeEntry,
  decodeHead,
  headId,
  linesOf,
  partId,
  rootOf,
} from './checkpoint-record.ts';

const HEAD_BYTES = 16_384;
const PART_BYTES = 16_777_216;

/** Of all heads (`c`) or acceptances (`a`) of the tenant, ascending. One LIST for each 1,000. */
export async function listNumbers(work: Work, kind: 'a' | 'c'): Promise<readonly number[]> {
  const prefix = `${work.session.layout.tenantPrefix}checkpoints/${kind}`;
  const numbers: number[] = [];
  for await (const { objects } of pagesBelow(work, { prefix })) {
    for (const { key } of objects) {
      const digits = key.slice(prefix.length);
      if (/^\d{12}$/.test(digits)) numbers.push(Number(digits));
    }
  }
  return numbers;
}

/** The largest number that a checkpoint of the tenant has; 0 without any. */
export async function newestNumber(work: Work): Promise<number> {
  return (await listNumbers(work, 'c')).at(-1) ?? 0;
}

/** One GET. Undefined: there is none. @throws MemoryError `integrity`, `unsupported_format`. */
export async function readHead(work: Work, number: number): Promise<CheckpointHead | undefined> {
  const record = await readRecord(work, { cls: 'checkpoints', id: headId(number), maxBytes: HEAD_BYTES });
  if (record === undefined) return undefined;
  const head = decodeHead(record.content);
  if (head === undefined) throw unknown();
  return head;
}

interface Leaf {
  readonly entry: CheckpointEntry;
  /** What is hashed. */
  readonly line: Uint8Array;
}

/** In the order in which they were written; whether they are all is known at the end. @throws MemoryError as `readHead`. */
export async function* readLeaves(
  work: Work,
  { run, parts }: Pick<CheckpointHead, 'run' | 'parts'>,
): AsyncGenerator<Leaf, void, undefined> {
  for (let part = 0; part < parts; part++) {
    const name = { cls: 'checkpoints', id: partId(run, part), maxBytes: PART_BYTES } as const;
    const record = await readRecord(work, name);
    if (record === undefined) throw new MemoryError('integrity', 'A part of a checkpoint is missing.');
    for (const line of linesOf(record.content) ?? ['']) {
      const entry = decodeEntry(line);
      if (entry === undefined) throw unknown();
      yield { entry, line: encodeText(line) };
    }
  }
}

/**
 * `missing`: none of that number is stored. `other`: the stored one has another root. `damaged`: it, or a part of it, cannot be
 * opened or is gone.
 */
export type CheckpointFault = 'missing' | 'other' | 'damaged';

/** A checkpoint that is what its line says. */
export interface Checkpoint {
  readonly head: CheckpointHead;
  readonly leaves: readonly Leaf[];
}

/** Reads a checkpoint and checks it against its line, or against itself where only its number is known. */
export async function readCheckpoint(
  work: Work,
  { number, root }: Pick<CheckpointLine, 'number'> & { readonly root?: string },
): Promise<Checkpoint | CheckpointFault> {
  try {
    const head = await readHead(work, number);
    if (head === undefined) return 'missing';
    if (head.number !== number || (root !== undefined && rootOf(head) !== root)) return 'other';
    const tree = createEntryTree(head.secret);
    const leaves: Leaf[] = [];
    for await (const leaf of readLeaves(work, head)) {
      tree.add(leaf.line);
      leaves.push(leaf);
    }
    return tree.files() === head.files && tree.tree() === head.tree ? { head, leaves } : 'damaged';
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return 'damaged';
  }
}

function unknown(): MemoryError {
  return new MemoryError('unsupported_format', 'A checkpoint is of a later version.');
}
