import type { KeyVersionUse } from '../../admin/key-status.ts';
import type { Verification } from '../../admin/verify.ts';
import { isLeft } from '../../tree/findings.ts';
import type { Progress } from '../../tree/session.ts';
import { findingLine } from './finding-lines.ts';
import { CONTINUES, EXIT_FAILED, type Invocation, wrongCall } from './invocation.ts';
import { runOnAdmin } from './operate.ts';
import { counted } from './report.ts';
import { sinceLine } from './since-lines.ts';
import { ofAdmin, tellIfAbsent } from './tenant-state.ts';

export interface VerifyArguments {
  readonly repair?: boolean;
  /** The line of a checkpoint. */
  readonly since?: string;
  /** A file with a proof. */
  readonly proof?: string;
}

/** Verifies the configured memory and says what to do about each finding. Resolves to 0 when none is left. */
export function runVerify(
  { repair = false, since, proof }: VerifyArguments,
  invocation: Invocation,
): Promise<number> {
  if (proof !== undefined && repair)
    throw wrongCall('--proof checks a file of yours, and repairs nothing: leave out --repair.');
  if (proof !== undefined) return checkProof({ file: proof, line: since }, invocation);
  return runOnAdmin(
    async (run) => {
      const { admin, report, signal } = run;
      const onProgress = ({ done, total }: Progress): void =>
        report.progress({ done, total }, { what: 'objects', done, total });
      const verification = await report.during('listing the tenant', () =>
        admin.verify({ repair, since, signal, onProgress }),
      );
      const left = verification.findings.filter(isLeft).length;
      const repaired = verification.findings.length - left;
      const state = verification.files === 0 ? await tellIfAbsent(ofAdmin(run, invocation)) : {};
      await report.done({ ...verification, left, repaired, ...state }, linesOf(verification));
      return left > 0 ? EXIT_FAILED : 0;
    },
    { invocation, interrupted: repair ? CONTINUES : 'nothing was changed; run it again' },
  );
}

/** One line for each finding, one for the tenant keys in use, then one that sums up. */
export function linesOf(verification: Verification): readonly string[] {
  const { files, bytes, findings, keyVersions, since } = verification;
  const left = findings.filter(isLeft).length;
  const repaired = findings.length - left;
  const verdict = [
    left === 0 ? 'all well' : `${counted(left, 'finding')} left`,
    ...(repaired > 0 ? [`${repaired} repaired`] : []),
  ].join(', ');
  const summary = `${counted(files, 'file')}, ${counted(bytes, 'byte')}: ${verdict}`;
  const keys = keyVersions.length === 0 ? [] : [`keys  ${keyVersions.map(keyWords).join(', ')}`];
  return [
    ...findings.map((finding) => findingLine(finding)),
    ...(since === undefined ? [] : sinceLine(since)),
    ...keys,
    `${left === 0 ? 'ok    ' : 'FAIL  '}${summary}`,
  ];
}

function keyWords({ version, objects, active }: KeyVersionUse): string {
  return `version ${version}${active ? ', active' : ''}: ${counted(objects, 'object')}`;
}

async function checkProof(
  given: { readonly file: string; readonly line: string | undefined },
  invocation: Invocation,
): Promise<number> {
  const { runCheckProof } = await import('./checkpoint.ts');
  return runCheckProof(given, invocation);
}
