import type { Command } from 'commander';
import { type Finding, weightOf } from '../../admin/findings.ts';
import type { KeyVersionUse } from '../../admin/keys/key-status.ts';
import type { VerifyReport } from '../../admin/verify/verify.ts';
import type { Progress } from '../../tree/tenant.ts';
import { runOnAdmin } from '../run/admin.ts';
import { type ChosenVerb, CONTINUES, EXIT_FAILED, EXIT_UNTOLD, type Invocation } from '../run/invocation.ts';
import { ofAdmin, tellIfAbsent } from '../run/tenant-state.ts';
import { findingLine } from '../show/finding-lines.ts';
import { counted } from '../show/report.ts';
import { sinceLine } from '../show/since-lines.ts';

/** Declares `verify`. */
export function declareVerify(program: Command, run: ChosenVerb<typeof runVerify>): void {
  program
    .command('verify')
    .description('read every object, and find what is damaged, belongs to nothing or lies twice')
    .option(
      '--repair',
      'finish renames that were cut off, and remove the older place of a file that lies twice',
    )
    .option('--since <line>', 'also find what was put back or dropped since that checkpoint')
    .action((options: VerifyArguments) => run(options));
}

interface VerifyArguments {
  readonly repair?: boolean;
  /** The line of a checkpoint. */
  readonly since?: string;
}

/**
 * Verifies the configured memory and says what to do about each finding. Resolves to 0 when none is left, and to 3
 * where the only ones say that something cannot be told.
 */
export function runVerify(
  { repair = false, since }: VerifyArguments,
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    async (run) => {
      const { admin, report, signal } = run;
      const onProgress = ({ done, total }: Progress): void =>
        report.progress({ done, total }, { what: 'objects', done, total });
      const verification = await report.during('listing the tenant', () =>
        admin.verify({ repair, since, signal, onProgress }),
      );
      const { left, untold, repaired } = countsOf(verification);
      const state = verification.files === 0 ? await tellIfAbsent(ofAdmin(run, invocation)) : {};
      await report.done({ ...verification, left, untold, repaired, ...state }, linesOf(verification));
      if (left > untold) return EXIT_FAILED;
      return untold > 0 ? EXIT_UNTOLD : 0;
    },
    { invocation, interrupted: repair ? CONTINUES : 'nothing was changed; run it again' },
  );
}

/** One line for each finding, one for the tenant keys in use, then one that sums up. */
export function linesOf(verification: VerifyReport): readonly string[] {
  const { files, bytes, findings, keyVersions, since } = verification;
  const { left, untold, repaired } = countsOf(verification);
  const verdict = [
    left === 0 ? 'all well' : `${counted(left, 'finding')} left`,
    ...(untold > 0 ? [untold === left ? 'untold' : `${untold} of them untold`] : []),
    ...(repaired > 0 ? [`${repaired} repaired`] : []),
  ].join(', ');
  const summary = `${counted(files, 'file')}, ${counted(bytes, 'byte')}: ${verdict}`;
  const keys = keyVersions.length === 0 ? [] : [`keys  ${keyVersions.map(keyWords).join(', ')}`];
  return [
    ...findings.map((finding) => findingLine(finding)),
    ...(since === undefined ? [] : sinceLine(since)),
    ...keys,
    `${markOf(findings)}${summary}`,
  ];
}

interface Counts {
  readonly left: number;
  /** The number of findings in `left` that leave open whether anything is wrong. */
  readonly untold: number;
  readonly repaired: number;
}

function countsOf({ findings }: Pick<VerifyReport, 'findings'>): Counts {
  const weights = findings.map(weightOf).filter((weight) => weight !== 'settled');
  const untold = weights.filter((weight) => weight === 'untold');
  return { left: weights.length, untold: untold.length, repaired: findings.length - weights.length };
}

/** The mark of the gravest finding that is left. */
function markOf(findings: readonly Finding[]): string {
  const weights = new Set(findings.map(weightOf));
  if (weights.has('alarm') || weights.has('fault')) return 'FAIL  ';
  if (weights.has('under_way')) return 'wait  ';
  return weights.has('untold') ? 'untold ' : 'ok    ';
}

function keyWords({ version, objects, active }: KeyVersionUse): string {
  return `version ${version}${active ? ', active' : ''}: ${counted(objects, 'object')}`;
}
