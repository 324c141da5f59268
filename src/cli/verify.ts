import type { KeyVersionCount } from '../admin/check-files.ts';
import { type Finding, isLeft, type RenameFinding, type Verification } from '../admin/verify.ts';
import { optionsFromEnvironment } from '../open/environment.ts';
import { openTenant } from '../open/open-memory.ts';
import { counted } from './admin-command.ts';
import { createOperatorLogger, EXIT_FAILED, type Invocation } from './terminal.ts';

interface VerifyRequest {
  readonly repair: boolean;
  readonly json: boolean;
}

/** Verifies the configured memory and says what to do about each finding. Resolves to 0 when none is left. */
export async function runVerify(request: VerifyRequest, invocation: Invocation): Promise<number> {
  const { terminal, signal } = invocation;
  const logger = createOperatorLogger(terminal.complain);
  const { parts, close } = await openTenant(optionsFromEnvironment(undefined, { logger }));
  try {
    const verification = await parts.verify({
      repair: request.repair,
      signal,
      onProgress: terminal.progress,
    });
    await terminal.out(request.json ? toJson(verification) : `${linesOf(verification).join('\n')}\n`);
    return verification.findings.some(isLeft) ? EXIT_FAILED : 0;
  } finally {
    terminal.progress({ done: 0, total: 0 });
    await close();
  }
}

/** One line for each finding, one for the tenant keys in use, then one that sums up. */
export function linesOf(verification: Verification): readonly string[] {
  const { files, bytes, findings, keyVersions } = verification;
  const left = findings.filter(isLeft).length;
  const repaired = findings.length - left;
  const verdict = [
    left === 0 ? 'all well' : `${counted(left, 'finding')} left`,
    ...(repaired > 0 ? [`${repaired} repaired`] : []),
  ].join(', ');
  const summary = `${counted(files, 'file')}, ${counted(bytes, 'byte')}: ${verdict}`;
  const keys = keyVersions.length === 0 ? [] : [`keys  ${keyVersions.map(keyWords).join(', ')}`];
  return [...findings.map(lineOf), ...keys, `${left === 0 ? 'ok    ' : 'FAIL  '}${summary}`];
}

function keyWords({ version, objects, active }: KeyVersionCount): string {
  return `version ${version}${active ? ', active' : ''}: ${counted(objects, 'object')}`;
}

function toJson({ files, bytes, findings, keyVersions }: Verification): string {
  const left = findings.filter(isLeft).length;
  const repaired = findings.length - left;
  return `${JSON.stringify({ files, bytes, left, repaired, keyVersions, findings })}\n`;
}

const TRY_AGAIN = 'run verify again in a minute';

function lineOf(finding: Finding): string {
  switch (finding.kind) {
    case 'damaged':
      return `FAIL  ${finding.path} is damaged — restore its object from a backup, or delete it`;
    case 'damaged_record':
      return `FAIL  ${finding.name}, a record beside the files, is damaged — restore its object from a backup, or delete it`;
    case 'unknown_key':
      return `FAIL  ${finding.name} names a tenant key that the keyring does not hold: it was put back from before that key was retired, or forged — restore its object from a newer backup, or delete it`;
    case 'orphan':
      return `FAIL  ${counted(finding.objects, 'object')} beside the files that belong to nothing — find out who else may write below the tenant's prefix, then delete what you do not know`;
    case 'too_large':
      return `FAIL  ${finding.path} is larger than the file limit and was not read — raise SEALED_MEMORY_MAX_FILE_BYTES`;
    case 'clash':
      return `FAIL  ${finding.path} is a file and a directory, which it hides — rename the file`;
    case 'foreign':
      return `FAIL  ${counted(finding.objects, 'object')} among the files, made by no writer of this tenant, never shown — find out who else may write below the tenant's prefix`;
    case 'register':
      return `FAIL  the register of renames cannot be opened (${finding.code}) — ${
        finding.code === 'unsupported_format'
          ? 'use the version of sealed-memory that wrote it'
          : 'restore journal/register of this tenant from a backup'
      }`;
    case 'rename':
      return renameLine(finding);
    case 'twins': {
      const twins = `${finding.older} and ${finding.newer} are the same file`;
      switch (finding.state) {
        case 'left':
          return `FAIL  ${twins}, left by a rename that was cut off — verify --repair removes ${finding.older}, the older place`;
        case 'removed':
          return `fixed ${twins}: removed ${finding.older}, the older place`;
        case 'not_removed':
          return `FAIL  ${twins}, and neither was removed: one changed, or the store failed — run verify --repair again`;
        case 'undecided':
          return `FAIL  ${twins}, written in the same moment — delete the one you do not want`;
        case 'in_progress':
          return `wait  ${twins}: a rename may be under way — ${TRY_AGAIN}`;
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
