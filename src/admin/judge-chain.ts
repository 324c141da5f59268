import type { SinceFinding } from '../tree/findings.ts';
import type { VersionFacts } from './checkpoint-record.ts';
import { type Comparison, foundAt, isSealedAgain } from './comparison.ts';
import {
  both,
  CLOCK_SKEW_MS,
  forkOf,
  mayBeMissed,
  NO_VERSION,
  named,
  timeOf,
  wasPutBack,
  wasThere,
} from './lineage.ts';

/** Where the chain of a file leads, from version to replaced version: to the checkpoint, or to something newer. */
export function judgeChain(comparison: Comparison, file: VersionFacts): SinceFinding | undefined {
  const { evidence, began, ended, entriesOf } = comparison;
  const seen = new Set<string>();
  let wasMissed = false;
  for (let at = file; !seen.has(evidence.sameAs(at.id)); ) {
    if (entriesOf(at.id).length > 0) return undefined;
    seen.add(evidence.sameAs(at.id));
    wasMissed ||= mayBeMissed(evidence, { version: at, began, ended });
    if (at.previous === NO_VERSION) break;
    if (mayBeAnEntry(comparison, at)) return undefined;
    const other = isOfAccepted(comparison, at) ? undefined : forkOf(evidence, at);
    if (other !== undefined) return { kind: 'since', state: 'forked', ...both(file, other) };
    if (entriesOf(at.previous).length > 0) return judgeReplacement(comparison, { file, at, wasMissed });
    const [before] = evidence.versionsOf(at.previous);
    if (before === undefined) return judgeEnd(comparison, file, at);
    // It was older than the checkpoint, and not there then: it was put back, and written after that.
    const latest = Math.max(...evidence.versionsOf(at.previous).map(timeOf));
    if (!wasMissed && latest + CLOCK_SKEW_MS < began)
      return { ...foundAt(comparison, file), state: 'forked' };
    at = before;
  }
  // It came of nothing in the checkpoint, so it is newer.
  return timeOf(file) < began ? { ...foundAt(comparison, file), state: 'untold', why: 'clock' } : undefined;
}

function mayBeAnEntry(comparison: Comparison, version: VersionFacts): boolean {
  const alike = comparison.evidence.alike(version).flatMap(({ id }) => comparison.entriesOf(id));
  return alike.some((entry) => isSealedAgain(comparison, { entry, version }));
}

function isOfAccepted({ entriesOf }: Comparison, { previous }: VersionFacts): boolean {
  return entriesOf(previous).some(({ note }) => note === 'accepted');
}

/** A version of the checkpoint was replaced: it should have been where that happened. */
function judgeReplacement(
  comparison: Comparison,
  link: { readonly file: VersionFacts; readonly at: VersionFacts; readonly wasMissed: boolean },
): SinceFinding | undefined {
  const { evidence, began, before, untold, entriesOf } = comparison;
  const { file, at: next, wasMissed } = link;
  const replaced = entriesOf(next.previous);
  if (untold !== undefined || wasThere(evidence, { next, replaced, since: before })) return undefined;
  return !wasMissed && wasPutBack(evidence, { next, began })
    ? { ...foundAt(comparison, file), state: 'forked' }
    : { ...foundAt(comparison, file), state: 'untold', why: 'twice' };
}

/** Nothing tells of what the last version of a chain replaced. */
function judgeEnd({ kept }: Comparison, file: VersionFacts, last: VersionFacts): SinceFinding {
  const told = {
    ...({ kind: 'since', path: file.path } as const),
    ...{ found: named(file), expected: { version: last.previous } },
  };
  return last.mtime < kept.from
    ? { ...told, state: 'untold', why: kept.otherwise }
    : { ...told, state: 'cut' };
}
