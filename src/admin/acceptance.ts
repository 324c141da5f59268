import { isDamaged, MemoryError } from '../errors.ts';
import { classKey } from '../format/object-keys.ts';
import type { Finding } from '../tree/findings.ts';
import { decodeFields, encodeFields, readRecord, writeRecord } from '../tree/sealed-record.ts';
import type { Work } from '../tree/session.ts';
import { acceptanceId, type CheckpointLine, lineOf } from './checkpoint-record.ts';
import { listNumbers } from './read-checkpoint.ts';

/** What was found since the line of a checkpoint, and is on purpose. */
interface Acceptance {
  /** Number of the checkpoint that was written then. */
  readonly by: number;
  readonly line: unknown;
  /** Versions that the history should have and does not. */
  readonly missing: readonly string[];
}

const MAX_BYTES = 16_777_216;
/** So many findings are written down with what accepts them. */
const MOST_NOTED = 1_000;
/** Of more, those that were accepted last stay findings. */
const MOST_MISSING = 500_000;

/**
 * Notes that `findings` since a line are on purpose, in the place of what accepted findings since the same line before. A note
 * that cannot be opened is replaced too: it accepts nothing, so what it had accepted is among the findings again.
 *
 * @throws MemoryError `version_conflict`; `unsupported_format` for the note of a later version; what the store throws.
 */
export async function noteAcceptance(
  work: Work,
  {
    line,
    by,
    findings,
  }: { readonly line: CheckpointLine; readonly by: number; readonly findings: readonly Finding[] },
): Promise<void> {
  const { session, call } = work;
  const name = { cls: 'checkpoints', id: acceptanceId(line.number) } as const;
  // First: then a note that another process puts there before the read is a conflict.
  const key = classKey(session.layout, name.cls, name.id);
  const stored = await session.store.head(key, { signal: call.signal });
  const missing = new Set((await read(work, line.number))?.missing);
  for (const finding of findings) if (isMissingVersion(finding)) missing.add(finding.expected);
  const content = encodeFields({
    ...{ by, line: lineOf(line), at: session.clock(), actor: call.actor },
    ...{ count: findings.length, findings: findings.slice(0, MOST_NOTED) },
    missing: [...missing].slice(0, MOST_MISSING),
  });
  if ('etag' in (await writeRecord(work, name, { content, base: stored?.etag }))) return;
  throw new MemoryError('version_conflict', 'another process accepted what was found since the same line');
}

/** A version that the history lacks; a restore of a bucket may leave that. */
type MissingVersion = Extract<Finding, { kind: 'history' }> & { readonly state: 'missing' };

function isMissingVersion(finding: Finding): finding is MissingVersion {
  return finding.kind === 'history' && finding.state === 'missing';
}

/** What can be on purpose: what only a comparison with a checkpoint finds, and versions that the history lacks. */
export type AcceptableFinding =
  | Extract<Finding, { kind: 'since' | 'checkpoint' | 'keyring' }>
  | MissingVersion;

const KINDS: ReadonlySet<Finding['kind']> = new Set(['since', 'checkpoint', 'keyring']);

export function isAcceptable(finding: Finding): finding is AcceptableFinding {
  return KINDS.has(finding.kind) || isMissingVersion(finding);
}

/**
 * The number of the last checkpoint that accepted what was found since this line, or since an earlier one: that was all that
 * had happened since.
 */
export async function acceptedBy(work: Work, line: CheckpointLine): Promise<number | undefined> {
  const numbers: number[] = [];
  for (const number of (await listNumbers(work, 'a')).filter((each) => each <= line.number)) {
    const acceptance = await read(work, number);
    const isOther = number === line.number && acceptance?.line !== lineOf(line);
    if (acceptance !== undefined && !isOther && acceptance.by > line.number) numbers.push(acceptance.by);
  }
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}

/** Versions that the history lacks on purpose. A LIST, and a GET for each acceptance. */
export async function acceptedMissing(work: Work): Promise<ReadonlySet<string>> {
  const missing = new Set<string>();
  for (const number of await listNumbers(work, 'a')) {
    for (const version of (await read(work, number))?.missing ?? []) missing.add(version);
  }
  return missing;
}

/** Undefined: there is none, or it cannot be opened, and accepts nothing. @throws MemoryError `unsupported_format`. */
async function read(work: Work, number: number): Promise<Acceptance | undefined> {
  const name = { cls: 'checkpoints', id: acceptanceId(number), maxBytes: MAX_BYTES } as const;
  const record = await readRecord(work, name).catch((error: unknown) => {
    if (!isDamaged(error)) throw error;
    return undefined;
  });
  return record && parse(record.content);
}

function parse(content: Uint8Array): Acceptance {
  const { by, line, missing } = decodeFields(content) ?? {};
  const isKnown = typeof by === 'number' && Number.isSafeInteger(by) && isTexts(missing);
  if (isKnown) return { by, line, missing };
  throw new MemoryError('unsupported_format', 'What was accepted is noted by a later version.');
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
