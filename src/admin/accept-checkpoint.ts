import { MemoryError } from '../errors.ts';
import type { Finding } from '../tree/findings.ts';
import { encodeFields, readRecord, writeRecord } from '../tree/sealed-record.ts';
import { type Call, openWork, type Session, type Work } from '../tree/session.ts';
import { type WrittenCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { ACCEPTANCE_BYTES, acceptanceId, parseLine } from './checkpoint-record.ts';
import { verifySince } from './verify-since.ts';

export interface CheckpointOptions extends Call {
  /** The line of an earlier checkpoint: what is found since it was on purpose, as after a restore of the bucket. */
  readonly accept?: string | undefined;
  /** For how long the history is kept, in days; with `accept`. The memory's own unless given. */
  readonly historyDays?: number | undefined;
}

export interface CheckpointReport extends WrittenCheckpoint {
  /** With `accept`: what was found, and is none any more. */
  readonly accepted?: readonly Finding[];
}

/** So many findings are written down with what accepts them. */
const MOST_NOTED = 1_000;

/**
 * As `writeCheckpoint`. With `accept` what `verify` finds since that line is written down as on purpose: since that line and since
 * the new one it is no finding any more.
 *
 * @throws MemoryError `invalid_command` for what is no line; as `writeCheckpoint`.
 */
export async function checkpointTree(
  session: Session,
  { accept, historyDays, ...call }: CheckpointOptions = {},
): Promise<CheckpointReport> {
  if (accept === undefined) return writeCheckpoint(session, call);
  const line = parseLine(accept);
  const work = await openWork(session, call);
  const accepted =
    work === undefined ? [] : (await verifySince(work, { line: accept, historyDays })).findings;
  const against = new Set(
    accepted.flatMap((finding) =>
      finding.kind === 'since' && finding.found !== undefined
        ? [`${finding.found.version} ${finding.path}`]
        : [],
    ),
  );
  const written = await writeCheckpoint(session, {
    ...call,
    ...{ accepts: accept.trim(), above: line.number },
    isAccepted: ({ id, path }) => against.has(`${id} ${path}`),
  });
  const now = await openWork(session, call);
  if (now === undefined) throw new MemoryError('key_unavailable', 'the keyring is gone');
  await noteAcceptance(now, line.number, {
    ...{ by: written.number, line: accept.trim(), at: session.clock(), actor: call.actor },
    ...{ count: accepted.length, findings: accepted.slice(0, MOST_NOTED) },
  });
  return { ...written, accepted };
}

/** In the place of what accepted findings since the same line before. */
async function noteAcceptance(
  work: Work,
  number: number,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  const name = { cls: 'checkpoints', id: acceptanceId(number) } as const;
  const before = await readRecord(work, { ...name, maxBytes: ACCEPTANCE_BYTES });
  const write = { content: encodeFields(fields), base: before?.etag };
  if ('etag' in (await writeRecord(work, name, write))) return;
  throw new MemoryError('version_conflict', 'another process accepted what was found since the same line');
}
