import type { Command } from 'commander';
import { MemoryError } from '../../errors.ts';
import { momentOf } from '../../history/change/moment.ts';
import type { LeftFile, PlannedChange, PlanOutcome } from '../../history/change/plan.ts';
import { visibleName } from '../../language/invisible.ts';
import { isoOf } from '../../time.ts';
import { type RedactedRule, sumRules } from '../../tool/redactions.ts';
import type { CallOptions } from '../../tree/tenant.ts';
import { turnActor } from '../../turns/turn-trace.ts';
import { type AdminRun, runOnAdmin } from '../run/admin.ts';
import { type Consent, requireYes } from '../run/consent.ts';
import {
  type ChosenVerb,
  CONTINUES,
  EXIT_FAILED,
  type Invocation,
  NOTHING_CHANGED,
  wrongCall,
} from '../run/invocation.ts';
import { createRefusals } from '../run/refusals.ts';
import { typedPath } from '../run/typed.ts';
import { tellingWhatHolds } from '../show/holding-lines.ts';
import { changeLines, NOT_TEXT } from '../show/patch.ts';
import { redactedWords } from '../show/redaction-lines.ts';
import { counted, type Report } from '../show/report.ts';
import { shownVersion } from '../show/shown.ts';
import type { Terminal } from '../show/terminal.ts';
import { type BroughtBack, broughtBackLine, broughtBackOf } from './brought-back.ts';
import { type Patch, patchOfChange } from './plan-patches.ts';
import { type Named, requireKnown } from './require-known.ts';

/** Declares `restore-at`. */
export function declareRestoreAt(program: Command, run: ChosenVerb<typeof runRestoreAt>): void {
  program
    .command('restore-at <time>')
    .description(
      'give all files the content that they had at a time, such as 2026-11-17T09:30:00Z; +01:00 in place of Z is a time zone',
    )
    .option('--below <path>', 'only that file, or the files below that directory', typedPath)
    .option('--partial', 'restore what can be restored, and leave the rest')
    .option('--diff', 'show how the texts of all those files differ')
    .option('--dry-run', 'show the plan, and write nothing')
    .option('--yes', 'do not ask')
    .action((time: string, options: RestoreAtArguments) => run(time, options));
}

/** Declares `undo`. */
export function declareUndo(program: Command, run: ChosenVerb<typeof runUndo>): void {
  program
    .command('undo [actor]')
    .description(
      'undo everything one actor wrote (name it as in "log"); files that others changed since are left',
    )
    .option('--turn <id>', 'undo what that turn of a worker wrote, in place of an actor')
    .option('--force', 'also undo files that others changed since, with their changes')
    .option('--diff', 'show how the texts of all those files differ')
    .option('--dry-run', 'show the plan, and write nothing')
    .option('--yes', 'do not ask')
    .action((writer: string | undefined, options: UndoArguments) => run(writer, options));
}

interface TakeBackArguments extends Consent {
  /** Show how the texts differ: of all files, rather than of a few on a screen. */
  readonly diff?: boolean;
}

interface RestoreAtArguments extends TakeBackArguments {
  readonly below?: string;
  readonly partial?: boolean;
}

interface UndoArguments extends TakeBackArguments {
  readonly turn?: string;
  readonly force?: boolean;
}

type Plan = (
  options: CallOptions & { readonly dryRun?: true; readonly digest?: string | undefined },
) => Promise<PlanOutcome>;

/** Makes the files what they were at a moment. Resolves to 0 when nothing was left. */
export async function runRestoreAt(
  time: string,
  { below, partial = false, ...consent }: RestoreAtArguments,
  invocation: Invocation,
): Promise<number> {
  refuseNoMoment(time);
  const stage = createStage();
  return runOnAdmin(
    (run) =>
      carryOut(run, invocation, {
        consent,
        partial,
        named: { below },
        idle: 'ok    nothing to do: the files are as they were then',
        begin: stage.begin,
        plan: (options) =>
          run.admin.history.restoreAt(time, { ...options, partial, ...(below !== undefined && { below }) }),
      }),
    { invocation, interrupted: stage.interrupted },
  );
}

/** Takes back what one actor did, or one turn of a worker. Resolves to 0 when nothing was left. */
export async function runUndo(
  actor: string | undefined,
  { turn, force = false, ...consent }: UndoArguments,
  invocation: Invocation,
): Promise<number> {
  const stage = createStage();
  const writer = writerOf(actor, turn);
  const shown = turn === undefined ? `the writer ${visibleName(writer)}` : `the turn ${visibleName(turn)}`;
  return runOnAdmin(
    (run) =>
      carryOut(run, invocation, {
        consent,
        partial: true,
        named: { writer, shown },
        idle: 'ok    nothing to take back: it was taken back before, or others have deleted what it wrote',
        begin: stage.begin,
        plan: (options) => run.admin.history.undo({ ...options, writer, force }),
      }),
    { invocation, interrupted: stage.interrupted },
  );
}

/**
 * Records whether the first change may have been made: `begin` is called directly before it. Until then an interruption
 * leaves everything as it was.
 */
function createStage(): { begin(): void; interrupted(): string } {
  let isBegun = false;
  return {
    begin() {
      isBegun = true;
    },
    interrupted: () => (isBegun ? CONTINUES : NOTHING_CHANGED),
  };
}

/** Refuses a text that is no time as a wrong call, before anything is opened. */
function refuseNoMoment(time: string): void {
  try {
    momentOf(time, Date.now());
  } catch (error) {
    throw error instanceof MemoryError ? wrongCall(error.message) : error;
  }
}

function writerOf(actor: string | undefined, turn: string | undefined): string {
  if (turn === '') throw wrongCall('--turn needs the id of a turn, as "log" names it after "turn"');
  if (actor === '') throw wrongCall('give an actor, as "log" names it: the name is empty');
  if (actor !== undefined && turn === undefined) return actor;
  if (actor === undefined && turn !== undefined) return turnActor(turn);
  throw wrongCall('give either an actor, as "log" names it, or --turn and its id');
}

/**
 * Shows the plan first. Writes that plan and no other once a person agreed to it; with `yes` whatever the plan is by
 * then, and shows that.
 *
 * @throws MemoryError `version_conflict` where the plan that was agreed to is another one by now.
 */
async function carryOut(
  run: AdminRun,
  invocation: Invocation,
  {
    consent,
    partial,
    named,
    idle,
    plan,
    begin,
  }: {
    readonly consent: TakeBackArguments;
    readonly partial: boolean;
    /** The actor, or the path with all below it, whose changes are taken back. */
    readonly named: Named;
    /** The line for people where there is nothing to do. */
    readonly idle: string;
    readonly plan: Plan;
    /** Called when the first change may be made. */
    readonly begin: () => void;
  },
): Promise<number> {
  const { report, signal } = run;
  const tellAll = (outcome: PlanOutcome): Promise<void> => tell(outcome, { run, invocation, consent });
  const planned = await report.during('reading the history', () => plan({ dryRun: true, signal }));
  const isWithheld = planned.left.length > 0 && !partial;
  const hasWork = planned.changes.length > 0 && !isWithheld && consent.dryRun !== true;
  const mayBeUnknown = planned.left.every(({ reason }) => reason === 'too_early');
  if (planned.changes.length === 0 && mayBeUnknown) {
    const { entries, writer } = await requireKnown(run, named);
    const again = writer === undefined ? [] : broughtBackOf(entries, writer);
    if (again.length > 0) return tellAgain(again, report);
  }
  if (!hasWork || consent.yes !== true) await tellAll(planned);
  if (!hasWork) {
    const { changes, left } = planned;
    const asked = isWithheld ? 'withheld' : 'nothing';
    const outcome = consent.dryRun === true ? planned.outcome : asked;
    const lines = changes.length + left.length === 0 ? [idle] : summaryLines({ ...planned, outcome });
    await report.done(fieldsOf({ ...planned, outcome }), lines);
    return isWithheld || left.length > 0 ? EXIT_FAILED : 0;
  }
  if (consent.yes !== true) await requireYes(invocation);
  begin();
  let redacted: readonly RedactedRule[] = [];
  const writing = report.during('reading the history', () =>
    plan({
      ...(consent.yes !== true && { digest: planned.digest }),
      signal,
      onProgress: ({ done, total }) => report.progress({ done, total }, { what: 'files', done, total }),
      onRedacted(findings) {
        redacted = sumRules([...redacted, ...findings.map(({ rule }) => ({ rule, findings: 1 }))]);
      },
    }),
  );
  const written = await tellingWhatHolds(report, writing);
  if (consent.yes === true || written.outcome === 'withheld') await tellAll(written);
  const isRedacted = redacted.length > 0;
  await report.done({ ...fieldsOf(written), ...(isRedacted && { redacted }) }, [
    ...(isRedacted ? [`note  the policy replaced ${redactedWords(redacted)} in what was written`] : []),
    ...summaryLines(written),
  ]);
  return written.left.length > 0 ? EXIT_FAILED : 0;
}

/** Tells that the actor's texts are in files again, where there is nothing to take back. */
async function tellAgain(again: readonly BroughtBack[], report: Report): Promise<number> {
  for (const each of again) {
    const { path, version, writer } = each.entry;
    const { textOf } = each;
    await report.entry({ what: 'again', path, version, writer, textOf }, broughtBackLine(each));
  }
  await report.done({ outcome: 'nothing', changes: 0, left: 0, again: again.length }, [
    `FAIL  nothing to take back: ${counted(again.length, 'file')} got such a text again by others`,
  ]);
  return EXIT_FAILED;
}

/** The most files whose texts a screen shows without `--diff`, and the most lines of each. */
const FEW_FILES = 5;
const FEW_LINES = 40;

async function tell(
  { changes, left }: PlanOutcome,
  {
    run,
    invocation,
    consent,
  }: { readonly run: AdminRun; readonly invocation: Invocation; readonly consent: TakeBackArguments },
): Promise<void> {
  const { terminal, flags } = invocation;
  const isAsked = consent.diff === true;
  const isForEyes = terminal.isForEyes && flags.json !== true && consent.yes !== true;
  const isShown = isAsked || (isForEyes && changes.length <= FEW_FILES);
  for (const change of changes) {
    const found = isShown ? await patchOfChange(run, change, changes) : undefined;
    const lines = found === undefined ? [] : await patchLines(found, terminal, run.signal);
    const few = isAsked || lines.length <= FEW_LINES ? lines : [`${lines.length} lines: --diff shows them`];
    await run.report.entry({ ...change, ...found }, [changeLine(change, terminal), ...few].join('\n'));
  }
  if (!isShown && isForEyes) terminal.note('--diff shows how the texts differ');
  const refusals = createRefusals(invocation);
  for (const file of left) await refusals.tell({ what: 'left', ...file }, leftLine(file, terminal));
  await refusals.end();
}

async function patchLines(found: Patch, terminal: Terminal, signal: AbortSignal): Promise<readonly string[]> {
  if ('patch' in found) return changeLines(found, terminal, signal);
  return [found.without === 'gone' ? 'one of its texts is not kept any more' : NOT_TEXT];
}

function changeLine(change: PlannedChange, { style }: Terminal): string {
  const { what, path, to, fromVersion, toVersion, writer } = change;
  const by = writer === undefined ? '' : ` by ${visibleName(writer)}`;
  const [from, then] = [fromVersion, toVersion].map((version) => version && shownVersion(version));
  const versions = `${from ?? 'nothing'}${by} → ${then ?? 'nothing'}`;
  const colour = what === 'delete' ? 'red' : what === 'create' ? 'green' : 'yellow';
  return `${style(colour, what.padEnd(7))}  ${path}  ${to === undefined ? versions : `to ${to}`}`;
}

const REASONS: Readonly<Record<LeftFile['reason'], string>> = {
  redacted: 'the text was taken out',
  expired: 'the text is not kept any more',
  unrecorded: 'nothing tells where the version was then',
  damaged: 'it, or a record of the history, cannot be read',
  too_early: 'the history does not tell what was there then',
  built_on: 'others have built on it',
  occupied: 'another file or directory stands in the way',
  hidden_by_mount: 'a mount hides it: run the command without that mount',
  refused: 'the policy or a limit refuses it',
};

function leftLine(
  { path, reason, version, later = [], rules = [], limit }: LeftFile,
  { style }: Terminal,
): string {
  const name = version === undefined ? '' : ` ${shownVersion(version)}`;
  const since = later.length === 0 ? '' : `: ${later.map(shownVersion).join(' ')}`;
  const why = limit ?? rules.map(visibleName).join(' ');
  return `${style('dim', 'left   ')}  ${path}${name}  ${REASONS[reason]}${since}${why === '' ? '' : `: ${why}`}`;
}

function fieldsOf({ outcome, changes, left, begins }: PlanOutcome): Readonly<Record<string, unknown>> {
  return { outcome, changes: changes.length, left: left.length, ...(begins && { begins }) };
}

function summaryLines(outcome: PlanOutcome): readonly string[] {
  const { begins } = outcome;
  const early =
    begins === undefined ? [] : [`note  the history begins at ${isoOf(begins)}: it knows of nothing before`];
  return [...early, summary(outcome)];
}

function summary({ outcome, changes, left }: PlanOutcome): string {
  const done = counted(changes.length, 'change');
  const rest = left.length === 0 ? '' : `, ${counted(left.length, 'file')} left`;
  if (outcome === 'written') return `ok    ${done} written${rest}`;
  if (outcome === 'nothing') return `ok    nothing to do${rest}`;
  if (outcome === 'planned') return `plan  ${done}${rest}; nothing was written`;
  if (changes.length === 0) return `FAIL  nothing can be restored${rest}`;
  return `FAIL  ${done} not written${rest}: --partial writes what can be had`;
}
