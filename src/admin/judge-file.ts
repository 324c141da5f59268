import type { SinceFinding } from '../tree/findings.ts';
import type { CheckpointEntry, VersionFacts } from './checkpoint-record.ts';
import { type Comparison, foundAt } from './comparison.ts';
import { judgeChain } from './judge-chain.ts';
import { ancestry, both, CLOCK_SKEW_MS, mayHaveCome, timeOf } from './lineage.ts';
import { leftBefore, replacedBefore } from './place.ts';

/** Holds a file to what the checkpoint has at its path, to what the history says of that path, and to what it came of. */
export function judgeFile(comparison: Comparison, file: VersionFacts): SinceFinding | undefined {
  const { began, entryAt, isSame } = comparison;
  const entry = entryAt(file.path);
  const isEntry = entry !== undefined && isSame(entry, file);
  const beside = entry && (isEntry ? judgeBound : judgeOther)(comparison, { entry, file });
  if (beside !== undefined) return beside;
  // What was bound before the checkpoint, and was not there then, was put back.
  if (!isEntry && timeOf(file) + CLOCK_SKEW_MS < began)
    return {
      ...foundAt(comparison, file),
      state: entry === undefined ? 'brought_back' : 'rolled_back',
    };
  return judgePlace(comparison, file) ?? judgeChain(comparison, file);
}

interface Pair {
  readonly entry: CheckpointEntry;
  readonly file: VersionFacts;
}

/** The file is the version that the checkpoint has there. */
function judgeBound({ evidence, before, entriesOf }: Comparison, pair: Pair): SinceFinding | undefined {
  const { entry, file } = pair;
  if (file.bound >= entry.bound) return undefined;
  // By a slower clock than that of the rename before.
  const isBoundSince = timeOf(file) >= before && mayHaveCome(evidence, { file, there: entriesOf(file.id) });
  return isBoundSince ? undefined : { kind: 'since', state: 'rolled_back', ...both(file, entry) };
}

/** The checkpoint has another version there. */
function judgeOther({ evidence, entriesOf }: Comparison, pair: Pair): SinceFinding | undefined {
  const { entry, file } = pair;
  const [older, shared] = ancestry(evidence, { entry, file, entriesOf });
  if (older) return { kind: 'since', state: 'rolled_back', ...both(file, entry) };
  return shared ? { kind: 'since', state: 'forked', ...both(file, entry) } : undefined;
}

/** What the history says of the file at its path. Of what was accepted only what it says of later times counts. */
function judgePlace(comparison: Comparison, file: VersionFacts): SinceFinding | undefined {
  const { evidence, began, entryAt, isSame } = comparison;
  const entry = entryAt(file.path);
  const isAccepted = entry?.note === 'accepted' && isSame(entry, file);
  const after = isAccepted ? began + CLOCK_SKEW_MS : Number.NEGATIVE_INFINITY;
  return replacedBefore(evidence, { file, after }) ?? leftBefore(evidence, { file, after });
}
