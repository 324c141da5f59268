import { isAcceptable } from '../../admin/acceptance.ts';
import type { SinceReport } from '../../admin/verify-since.ts';
import { millisecondsOf } from '../../format/wrap.ts';
import type { Finding, SinceFinding, SinceVersion } from '../../tree/findings.ts';
import { tellHistory } from './history-lines.ts';
import { timeOf } from './list.ts';
import { counted } from './report.ts';
import { shortVersion } from './short-version.ts';
import { ACCEPT, FAIL, type Told } from './told.ts';

type Since = Extract<Finding, { kind: 'since' | 'checkpoint' | 'keyring' }>;

/** A finding that is accepted now. */
export function acceptedLine(finding: Finding): string {
  if (!isAcceptable(finding)) return `accepted: ${finding.kind}`;
  return `accepted: ${(finding.kind === 'history' ? tellHistory(finding) : tellSince(finding)).found}`;
}

/** What only a comparison with a checkpoint finds, and what to do about it. */
export function tellSince(finding: Since): Told {
  switch (finding.kind) {
    case 'checkpoint':
      return tellCheckpoint(finding);
    case 'keyring':
      return tellKeyring(finding);
    case 'since':
      return tellFile(finding);
  }
}

/** What was compared with, once nothing or something was found. */
export function sinceLine({
  number,
  files,
  began,
  accepted,
}: Omit<SinceReport, 'findings'>): readonly string[] {
  if (began === undefined) return [];
  const later = accepted.length === 0 ? '' : `, which accepted what was found before`;
  return [`since checkpoint ${number} of ${timeOf(began)}, ${counted(files, 'file')}${later}`];
}

function tellCheckpoint({ state, number }: Extract<Finding, { kind: 'checkpoint' }>): Told {
  const checkpoint = `checkpoint ${number}`;
  switch (state) {
    case 'missing':
      return {
        ...FAIL,
        found: `${checkpoint} is not in the store — it expired, it was deleted, or the whole store was put back to before it`,
        toDo: `bring it back from the bucket's versions or a backup; ${ACCEPT}`,
      };
    case 'other':
      return {
        ...FAIL,
        found: `${checkpoint} in the store is another one than that of this line — the store was put back to before it, or the line is another tenant's`,
      };
    case 'damaged':
      return {
        ...FAIL,
        found: `${checkpoint} cannot be opened in full — the whole store or its keyring was put back to before it, or parts of it were changed or deleted`,
      };
  }
}

function tellKeyring({ expected, found }: Extract<Finding, { kind: 'keyring' }>): Told {
  return {
    ...FAIL,
    found: `the keyring has epoch ${found} and had ${expected} when the checkpoint was written — an older one was put back`,
    toDo: `put the newer one back from the bucket's versions or a backup; ${ACCEPT}`,
  };
}

/** The versions that must be there and that are. */
function tellFile({ state, path, expected, found, why }: SinceFinding): Told {
  const [must, is] = [named(expected), named(found)];
  switch (state) {
    case 'rolled_back':
      return {
        ...FAIL,
        found: `${path} was rolled back: it holds ${is} and must hold ${must} or what came of it`,
        toDo: `restore that from the history or a backup; ${ACCEPT}`,
      };
    case 'dropped':
      return {
        ...FAIL,
        found: `${path} is gone, and nothing says why: it must hold ${must} or what came of it${found === undefined ? '' : `; ${is} is new`}`,
        toDo: `restore it from a backup; ${ACCEPT}`,
      };
    case 'brought_back':
      return {
        ...FAIL,
        found: `${path} was brought back: it holds ${is}, which had been deleted or renamed, or was not there`,
        toDo: `delete it; ${ACCEPT}`,
      };
    case 'forked':
      return {
        ...FAIL,
        found: `${path} was rolled back and then written: it holds ${is}, which does not come of ${expected === undefined ? 'a version that lay there' : must}`,
        toDo: `restore what is missing from the history or a backup; ${ACCEPT}`,
      };
    case 'cut':
      return {
        ...FAIL,
        found: `${path} holds ${is}, which came of ${must}, and that is not in the history: its record was deleted`,
        toDo: `restore the record from a backup; ${ACCEPT}`,
      };
    case 'untold':
      return {
        mark: 'told?',
        found: `${path}: ${WHY[why ?? 'not_kept']}${found === undefined ? '; it is gone' : `; it holds ${is}`}${expected === undefined ? '' : `, and held ${must}`}`,
      };
  }
}

const WHY = {
  history_off: 'changed since, and cannot be followed: the tenant keeps no history',
  not_kept: 'changed since, and cannot be followed: the history is not kept for so long',
  unrecorded:
    'its last version was saved, and no record says how it ended: a process was cut off, or it was dropped',
  young: 'it was a moment old, and its writer may have taken it back',
  clock: 'it is as old as the checkpoint, and not in it: the clocks of its writers may differ',
  twice: 'it was renamed or deleted, and is there: a rename that was cut off may have left it at two places',
} as const;

function named(version: SinceVersion | undefined): string {
  if (version === undefined) return 'nothing';
  const { bound } = version;
  const time = bound === undefined ? '' : ` of ${timeOf(new Date(millisecondsOf(BigInt(bound))))}`;
  return `version ${shortVersion(version.version)}${time}`;
}
