import { MemoryError } from '../../errors.ts';
import type { LeftFile, PlannedChange, PlanOutcome } from '../../tree/history/plan.ts';
import { turnActor } from '../../tree/history/turn-trace.ts';
import type { Call } from '../../tree/session.ts';
import { type Consent, requireYes } from './consent.ts';
import { EXIT_FAILED, type Invocation } from './invocation.ts';
import { type AdminRun, runOnAdmin } from './operate.ts';
import { colouredLines, NOT_TEXT } from './patch.ts';
import { type Patch, patchOfChange } from './plan-patches.ts';
import { counted } from './report.ts';
import { shortVersion } from './short-version.ts';
import type { Terminal } from './terminal.ts';

interface TakeBackArguments extends Consent {
  /** Show how the texts differ: of all files, rather than of a few on a screen. */
  readonly diff?: boolean;
}

export interface RestoreAtArguments extends TakeBackArguments {
  readonly below?: string;
  readonly partial?: boolean;
}

export interface UndoArguments extends TakeBackArguments {
  readonly turn?: string;
  readonly force?: boolean;
}

type Plan = (options: Call & { readonly dryRun: boolean }) => Promise<PlanOutcome>;

/** Makes the files what they were at a moment. Resolves to 0 when nothing was left. */
export function runRestoreAt(
  time: string,
  { below, partial = false, ...consent }: RestoreAtArguments,
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    (run) =>
      carryOut(run, invocation, {
        consent,
        partial,
        idle: 'ok    nothing to do: the files are as they were then',
        plan: (options) =>
          run.admin.history.restoreAt(time, { ...options, partial, ...(below !== undefined && { below }) }),
      }),
    { invocation },
  );
}

/** Takes back what one actor did, or one turn of a worker. Resolves to 0 when nothing was left. */
export async function runUndo(
  actor: string | undefined,
  { turn, force = false, ...consent }: UndoArguments,
  invocation: Invocation,
): Promise<number> {
  const writer = writerOf(actor, turn);
  return runOnAdmin(
    (run) =>
      carryOut(run, invocation, {
        consent,
        partial: true,
        idle: 'ok    nothing to take back: it was taken back before, or "log" names no such writer',
        plan: (options) => run.admin.history.undo({ ...options, writer, force }),
      }),
    { invocation },
  );
}

function writerOf(actor: string | undefined, turn: string | undefined): string {
  if (actor !== undefined && turn === undefined) return actor;
  if (actor === undefined && turn !== undefined) return turnActor(turn);
  throw new MemoryError('misconfigured', 'give either a writer, as "log" names it, or --turn and its id');
}

/** Shows the plan first, and writes when that was wanted, or is after the plan was seen. */
async function carryOut(
  run: AdminRun,
  invocation: Invocation,
  {
    consent,
    partial,
    idle,
    plan,
  }: {
    readonly consent: TakeBackArguments;
    readonly partial: boolean;
    /** What is said where there is nothing to do. */
    readonly idle: string;
    readonly plan: Plan;
  },
): Promise<number> {
  const { report, signal } = run;
  const { terminal } = invocation;
  const tellAll = (outcome: PlanOutcome): Promise<void> => tell(outcome, { run, invocation, consent });
  const planned = await report.during('reading the history', () => plan({ dryRun: true, signal }));
  const isWithheld = planned.left.length > 0 && !partial;
  const hasWork = planned.changes.length > 0 && !isWithheld && consent.dryRun !== true;
  if (!hasWork || consent.yes !== true) await tellAll(planned);
  if (!hasWork) {
    const { changes, left } = planned;
    const asked = isWithheld ? 'withheld' : 'written';
    const outcome = consent.dryRun === true ? 'planned' : asked;
    await report.done({ outcome, changes: changes.length, left: left.length }, [
      changes.length + left.length === 0 ? idle : summary({ ...planned, outcome }),
    ]);
    return isWithheld || left.length > 0 ? EXIT_FAILED : 0;
  }
  if (consent.yes !== true) await requireYes(terminal);
  const written = await plan({
    dryRun: false,
    signal,
    onProgress: ({ done, total }) => report.progress({ done, total }, { what: 'files', done, total }),
  });
  if (consent.yes === true || written.outcome === 'withheld') await tellAll(written);
  const { outcome, changes, left } = written;
  await report.done({ outcome, changes: changes.length, left: left.length }, [summary(written)]);
  return left.length > 0 ? EXIT_FAILED : 0;
}

/** Without `--diff`, a screen shows the texts of so few files, and of each so few lines. */
const FEW_FILES = 5;
const FEW_LINES = 40;

async function tell(
  { changes, left }: PlanOutcome,
  {
    run,
    invocation: { terminal, flags },
    consent,
  }: { readonly run: AdminRun; readonly invocation: Invocation; readonly consent: TakeBackArguments },
): Promise<void> {
  const isAsked = consent.diff === true;
  const isForEyes = terminal.isForEyes && flags.json !== true && consent.yes !== true;
  const isShown = isAsked || (isForEyes && changes.length <= FEW_FILES);
  for (const change of changes) {
    const found = isShown ? await patchOfChange(run, change, changes) : undefined;
    const lines = found === undefined ? [] : patchLines(found, terminal);
    const few = isAsked || lines.length <= FEW_LINES ? lines : [`${lines.length} lines: --diff shows them`];
    await run.report.entry({ ...change, ...found }, [changeLine(change, terminal), ...few].join('\n'));
  }
  if (!isShown && isForEyes) terminal.note('--diff shows how the texts differ');
  for (const file of left) await run.report.entry({ what: 'left', ...file }, leftLine(file, terminal));
}

function patchLines(found: Patch, terminal: Terminal): readonly string[] {
  if ('patch' in found) return colouredLines(found.patch, terminal);
  return [found.without === 'gone' ? 'one of its texts is not kept any more' : NOT_TEXT];
}

function changeLine({ what, path, to, fromVersion, toVersion }: PlannedChange, { style }: Terminal): string {
  const versions = [fromVersion ?? 'nothing', toVersion ?? 'nothing'].map(shortVersion).join(' → ');
  const colour = what === 'delete' ? 'red' : what === 'create' ? 'green' : 'yellow';
  return `${style(colour, what.padEnd(7))}  ${path}  ${to === undefined ? versions : `to ${to}`}`;
}

const REASONS: Readonly<Record<LeftFile['reason'], string>> = {
  redacted: 'the text was taken out',
  expired: 'the text is not kept any more',
  unrecorded: 'nothing tells where the version was then',
  damaged: 'it, or a record of the history, cannot be read',
  too_early: 'the time is longer ago than versions are kept',
  built_on: 'others have built on it',
  occupied: 'another file or directory stands in the way',
};

function leftLine({ path, reason, version, later = [] }: LeftFile, { style }: Terminal): string {
  const name = version === undefined ? '' : ` ${shortVersion(version)}`;
  const since = later.length === 0 ? '' : `: ${later.map(shortVersion).join(' ')}`;
  return `${style('dim', 'left   ')}  ${path}${name}  ${REASONS[reason]}${since}`;
}

function summary({ outcome, changes, left }: PlanOutcome): string {
  const done = counted(changes.length, 'change');
  const rest = left.length === 0 ? '' : `, ${counted(left.length, 'file')} left`;
  if (outcome === 'written') return `ok    ${done} written${rest}`;
  if (outcome === 'planned') return `plan  ${done}${rest}; nothing was written`;
  return `FAIL  ${done} not written${rest}: --partial writes what can be had`;
}
