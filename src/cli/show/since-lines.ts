import type { Finding, SinceFinding, SinceVersion } from '../../admin/findings.ts';
import type { SinceReport } from '../../admin/verify/verify-since.ts';
import { millisecondsOf } from '../../format/wrap.ts';
import { counted } from './report.ts';
import { shownVersion, timeOf } from './shown.ts';
import { FAIL, ON_PURPOSE, type Told } from './told.ts';

type Since = Extract<Finding, { kind: 'since' | 'checkpoint' | 'keyring' }>;

/** Says what only a comparison with a checkpoint finds, and what to do about it. */
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

/**
 * Names the checkpoint, and the number of files that were compared with it, with findings or without; empty where
 * `began` is absent.
 */
export function sinceLine({ number, files, began }: SinceReport): readonly string[] {
  return began === undefined
    ? []
    : [`since checkpoint ${number} of ${timeOf(began)}, ${counted(files, 'file')}`];
}

function tellCheckpoint({ state, number }: Extract<Finding, { kind: 'checkpoint' }>): Told {
  const checkpoint = `checkpoint ${number}`;
  switch (state) {
    case 'missing':
      return {
        ...FAIL,
        found: `${checkpoint} is not in the store — it expired, it was deleted, or the whole store was put back to before it`,
        toDo: `bring it back from the bucket's versions or a backup; ${ON_PURPOSE}`,
      };
    case 'other':
      return {
        ...FAIL,
        found: `${checkpoint} in the store is another one than that of this line — the store was put back to before it, or the line is another tenant's`,
        toDo: NEWER_STORE,
      };
    case 'damaged':
      return {
        ...FAIL,
        found: `${checkpoint} cannot be opened in full — the whole store or its keyring was put back to before it, or parts of it were changed or deleted`,
        toDo: NEWER_STORE,
      };
  }
}

const NEWER_STORE = `look whether the line is this tenant's, then bring what is newer back from the bucket's versions or a backup; ${ON_PURPOSE}`;

function tellKeyring({ expected, found }: Extract<Finding, { kind: 'keyring' }>): Told {
  return {
    ...FAIL,
    found: `the keyring has epoch ${found} and had ${expected} when the checkpoint was written — an older one was put back`,
    toDo: `put the newer one back from the bucket's versions or a backup; ${ON_PURPOSE}`,
  };
}

/** The versions that must be there and that are. */
function tellFile({ state, path, expected, found, why }: SinceFinding): Told {
  const [must, is] = [named(expected), named(found)];
  switch (state) {
    case 'older':
      return expected === undefined
        ? {
            ...FAIL,
            found: `${path} is older: it holds ${is}, which was deleted, renamed or replaced there, or never lay there`,
            toDo: `delete it, or restore what must be there; ${ON_PURPOSE}`,
          }
        : {
            ...FAIL,
            found: `${path} is older: it holds ${is}, and must hold ${must} or what came of it`,
            toDo: `restore that from the history or a backup; ${ON_PURPOSE}`,
          };
    case 'gone':
      return {
        ...FAIL,
        found: `${path} is gone, and nothing says why: it must hold ${must} or what came of it${found === undefined ? '' : `; ${is} is new`}`,
        toDo: `restore it from the history or a backup; ${ON_PURPOSE}`,
      };
    case 'untold': {
      const [because, toDo] = WHY[why ?? 'not_kept'];
      const now = found === undefined ? 'it is gone' : `it holds ${is}`;
      const then = expected === undefined ? '' : `, and held ${must}`;
      return { mark: 'untold', found: `${path}: ${because}; ${now}${then}`, toDo };
    }
  }
}

/** The reasons why nothing can be told, and where the reader looks then. */
const WHY = {
  history_off: [
    'changed since, and cannot be followed: the tenant keeps no history, or has begun it anew',
    'look whether it is as it should be; "tenant history on" has the next line tell',
  ],
  not_kept: [
    'changed since, and cannot be followed: the history is not kept for so long',
    'look whether it is as it should be, and ask more often than the history expires',
  ],
  unrecorded: [
    'its last version was saved to be deleted, and no record says that it was: a process was cut off, or it was dropped',
    'if nobody deleted it, restore it: "log" names its versions',
  ],
  saved: [
    'it was saved to be replaced or deleted, and is there still: a process was cut off, or the file was put back',
    "if it lacks what was written last, bring that back from the bucket's versions or a backup",
  ],
  young: ['it was a moment old, and its writer may have taken it back', 'look whether it is as it should be'],
  clock: [
    'it was written, or renamed to that path, within a quarter of an hour of the checkpoint, or the clocks of its writers differ by as much',
    'look who wrote it ("log"): the next line has it',
  ],
  renaming: [
    'a rename of its directory was to take it elsewhere, and is not finished',
    '"verify --repair", or the next command, finishes it',
  ],
} as const;

function named(version: SinceVersion | undefined): string {
  if (version === undefined) return 'nothing';
  const { bound } = version;
  const time = bound === undefined ? '' : ` of ${timeOf(millisecondsOf(BigInt(bound)))}`;
  return `version ${shownVersion(version.version)}${time}`;
}
