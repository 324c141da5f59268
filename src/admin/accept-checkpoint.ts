import { sealingOf } from '../history/sealed-again.ts';
import { type Finding, sortFindings } from '../tree/findings.ts';
import type { Call, Session } from '../tree/session.ts';
import { isAcceptable, noteAcceptance } from './acceptance.ts';
import { openWritten, type WrittenCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { lineOf, parseLine } from './checkpoint-record.ts';
import { verifyTree } from './verify.ts';
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

/**
 * As `writeCheckpoint`. With `accept` it writes down what `verify` finds since that line as on purpose, with the versions that
 * the history lacks: none of these is a finding any more. What cannot be opened, or lies at two places, stays one.
 *
 * @throws MemoryError `invalid_command` for what is no line; as `writeCheckpoint`.
 */
export async function checkpointTree(
  session: Session,
  { accept, historyDays, signal, onProgress, actor }: CheckpointOptions = {},
): Promise<CheckpointReport> {
  const call = { signal, onProgress, actor };
  if (accept === undefined) return writeCheckpoint(session, call);
  const line = parseLine(accept);
  const plain = await verifyTree(session, { ...call, historyDays });
  const work = await openWritten(session, call);
  const { report, entries } = await verifySince(work, { line: accept, historyDays });
  const accepted = sortFindings([...plain.findings, ...report.findings]).filter(isAcceptable);
  const against = new Set(
    accepted.flatMap((finding) =>
      finding.kind === 'since' && finding.found !== undefined
        ? [`${finding.found.version} ${finding.path}`]
        : [],
    ),
  );
  // Where the bucket is put back once more to what the checkpoint has accepted, nothing is found, and it is on purpose still.
  const before = new Map(
    entries.filter(({ note }) => note === 'accepted').map((entry) => [entry.path, sealingOf(entry)]),
  );
  const written = await writeCheckpoint(session, call, {
    ...{ accepts: lineOf(line), above: line.number },
    isAccepted: (entry) =>
      against.has(`${entry.id} ${entry.path}`) || before.get(entry.path) === sealingOf(entry),
  });
  const now = await openWritten(session, call);
  await noteAcceptance(now, { line, by: written.number, findings: accepted });
  return { ...written, accepted };
}
