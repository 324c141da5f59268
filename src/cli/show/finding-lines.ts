import type { Finding, RenameFinding } from '../../admin/findings.ts';
import { tellHistory } from './history-lines.ts';
import { counted } from './report.ts';
import { tellSince } from './since-lines.ts';
import { toldLine } from './told.ts';

const TRY_AGAIN = 'run verify again in a minute';

/**
 * Says in one line what was found and what to do about it. A file of a backup that is exported is mended elsewhere, in
 * the backup.
 */
export function findingLine(finding: Finding, verb: 'look' | 'export' = 'look'): string {
  const isExport = verb === 'export';
  switch (finding.kind) {
    case 'damaged':
      return isExport
        ? `FAIL  ${finding.path} is damaged and was not exported — try an older backup`
        : `FAIL  ${finding.path} is damaged — restore its object from a backup, or delete it`;
    case 'damaged_record':
      return `FAIL  ${finding.name}, a record beside the files, is damaged — restore its object from a backup, or delete it`;
    case 'unknown_key':
      return `FAIL  ${finding.name} names a tenant key that the keyring does not hold: it was put back from before that key was retired, or forged — restore its object from a newer backup, or delete it`;
    case 'ahead':
      return `FAIL  ${finding.name} was written ${counted(Math.floor(finding.aheadMs / 3_600_000), 'hour')} ahead of the time now: a clock was wrong, or somebody with the keys forged it — set the clocks of all writers; a file that is deleted and created again has the right time`;
    case 'orphan':
      return `FAIL  ${counted(finding.objects, 'object')} beside the files that belong to nothing — find out who else may write below the tenant's prefix, then delete what you do not know`;
    case 'too_large':
      return `FAIL  ${finding.path} is larger than the file limit and was not ${isExport ? 'exported' : 'read'} — raise SEALED_MEMORY_MAX_FILE_BYTES`;
    case 'unreadable':
      return `FAIL  ${finding.path} cannot be read from the source and was not exported — check its permissions; links and special files are never followed`;
    case 'vanished':
      return `FAIL  ${finding.path} went away while the source was read — run the export again into another folder`;
    case 'unwritable':
      return `FAIL  ${finding.path} has a name that the target's file system refuses (${finding.code}) — export to another file system`;
    case 'clash':
      return isExport
        ? `FAIL  ${finding.path} is a file and a directory; the file was not exported — rename it in a store made of this source`
        : `FAIL  ${finding.path} is a file and a directory, which it hides — rename the file`;
    case 'foreign': {
      const foreign = `${counted(finding.objects, 'object')} among the files, made by no writer of this tenant`;
      return isExport
        ? `FAIL  ${foreign}, not exported`
        : `FAIL  ${foreign}, never shown — find out who else may write below the tenant's prefix`;
    }
    case 'register':
      return `FAIL  the register of renames cannot be opened (${finding.code}) — restore journal/register of this tenant from a backup`;
    case 'rename':
      return renameLine(finding);
    case 'checkpoint':
    case 'keyring':
    case 'since':
      return toldLine(tellSince(finding));
    case 'history':
      return toldLine(tellHistory(finding));
    case 'duplicate': {
      const duplicates = `${finding.older} and ${finding.newer} are the same file`;
      switch (finding.state) {
        case 'left':
          return `FAIL  ${duplicates}, left by a rename that was cut off — verify --repair removes ${finding.older}, the older place`;
        case 'removed':
          return `fixed ${duplicates}: removed ${finding.older}, the older place`;
        case 'not_removed':
          return `FAIL  ${duplicates}, and neither was removed: one changed, or the store failed — run verify --repair again`;
        case 'undecided':
          return `FAIL  ${duplicates}, written in the same moment — delete the one you do not want`;
        case 'in_progress':
          return `wait  ${duplicates}: a rename may be under way — ${TRY_AGAIN}`;
      }
    }
  }
}

function renameLine({ state, phase, from, to, ageMs, files, code }: RenameFinding): string {
  const seconds = Math.round(ageMs / 1_000);
  const rename = `the rename of ${from} to ${to} (${phase}, ${counted(files, 'file')} at both places)`;
  switch (state) {
    case 'under_way':
      return `wait  ${rename} is under way — ${TRY_AGAIN}`;
    case 'expired':
      return `FAIL  ${rename} stopped ${seconds} s ago — verify --repair, or the next command, finishes it`;
    case 'finished':
      return `fixed ${rename} stopped ${seconds} s ago: finished it`;
    case 'unfinished':
      return `FAIL  ${rename} could not be finished (${code}) — mend what else is listed here, then run verify --repair again`;
  }
}
