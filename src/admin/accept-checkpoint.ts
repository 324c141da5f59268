import { MemoryError } from '../errors.ts';
import type { MemoryPath } from '../language/path.ts';
import type { Finding } from '../tree/findings.ts';
import { sealingOf } from '../tree/history/sealed-again.ts';
import { type Call, openWork, type Session } from '../tree/session.ts';
import { isMissingVersion, noteAcceptance } from './acceptance.ts';
import { type WrittenCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { parseLine } from './checkpoint-record.ts';
import { readCheckpoint } from './read-checkpoint.ts';
import { verifyTree } from './verify.ts';

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

/** What only a comparison with a checkpoint finds. */
const KINDS: ReadonlySet<Finding['kind']> = new Set(['since', 'checkpoint', 'keyring']);

/**
 * As `writeCheckpoint`. With `accept` it writes down what `verify` finds since that line as on purpose, with the versions that
 * the history lacks: none of these is a finding any more. What cannot be opened, or lies at two places, stays one.
 *
 * @throws MemoryError `invalid_command` for what is no line; as `writeCheckpoint`.
 */
export async function checkpointTree(
  session: Session,
  { accept, historyDays, ...call }: CheckpointOptions = {},
): Promise<CheckpointReport> {
  if (accept === undefined) return writeCheckpoint(session, call);
  const line = parseLine(accept);
  const { findings, since } = await verifyTree(session, { ...call, since: accept, historyDays });
  const accepted = findings.filter((finding) => KINDS.has(finding.kind) || isMissingVersion(finding));
  const against = new Set(
    accepted.flatMap((finding) =>
      finding.kind === 'since' && finding.found !== undefined
        ? [`${finding.found.version} ${finding.path}`]
        : [],
    ),
  );
  const before = await acceptedIn(session, { call, number: since?.number ?? line.number });
  const written = await writeCheckpoint(session, {
    ...call,
    ...{ accepts: accept.trim(), above: line.number },
    isAccepted: (entry) =>
      against.has(`${entry.id} ${entry.path}`) || before.get(entry.path) === sealingOf(entry),
  });
  const now = await openWork(session, call);
  if (now === undefined) throw new MemoryError('key_unavailable', 'the keyring is gone');
  await noteAcceptance(now, { line, by: written.number, findings: accepted });
  return { ...written, accepted };
}

/**
 * What the checkpoint that was compared with has accepted, by path: where the bucket is put back to it once more, nothing is
 * found, and it is on purpose still. Empty where the checkpoint cannot be read.
 */
async function acceptedIn(
  session: Session,
  { call, number }: { readonly call: Call; readonly number: number },
): Promise<ReadonlyMap<MemoryPath, string>> {
  const work = await openWork(session, call);
  const checkpoint = work && (await readCheckpoint(work, { number }));
  const leaves = typeof checkpoint === 'object' ? checkpoint.leaves : [];
  const entries = leaves.flatMap(({ entry }) => (entry.note === 'accepted' ? [entry] : []));
  return new Map(entries.map((entry) => [entry.path, sealingOf(entry)]));
}
