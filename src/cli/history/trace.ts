import type { Command } from 'commander';
import type { Trace, TracedTurn, TracedVersion } from '../../history/trace/trace.ts';
import type { Untold } from '../../history/trace/untold.ts';
import { visibleName } from '../../language/invisible.ts';
import { runOnAdmin } from '../run/admin.ts';
import { type ChosenVerb, forReaders, type Invocation } from '../run/invocation.ts';
import { ofAdmin, tellHistoryOff } from '../run/tenant-state.ts';
import { pathArgument, versionArgument } from '../run/typed.ts';
import { type Branch, linesBelow } from '../show/branches.ts';
import { counted } from '../show/report.ts';
import { shownVersion, timeOf } from '../show/shown.ts';
import type { Terminal } from '../show/terminal.ts';
import { wrapped } from '../show/wrap.ts';

/** Declares `trace`. */
export function declareTrace(program: Command, run: ChosenVerb<typeof runTrace>): void {
  program
    .command('trace')
    .addArgument(pathArgument('<path>'))
    .addArgument(versionArgument('[version]'))
    .description('show which turns read a version, or any version of that path, and what they wrote then')
    .action((path: string, version?: string) => run({ path, version }));
}

/**
 * Tells which turns read a version, or any version that was at the path, what they wrote then, who read that, and so
 * on.
 */
export function runTrace(
  { path, version }: { readonly path: string; readonly version: string | undefined },
  invocation: Invocation,
): Promise<number> {
  return forReaders(() =>
    runOnAdmin(
      async (run) => {
        const { admin, report, signal } = run;
        const state = await tellHistoryOff(ofAdmin(run, invocation));
        const of = { path, ...(version !== undefined && { version }) };
        const trace = await report.during('reading the turns and the history', () =>
          admin.history.trace(of, { signal }),
        );
        const { terminal } = invocation;
        const columns = terminal.isForEyes ? terminal.columns : Number.POSITIVE_INFINITY;
        const summary = summaryOf(trace).flatMap((line) => wrapped(line, { room: columns, gap: ' ' }));
        await report.done({ ...trace, ...state }, [...pictureOf(trace, terminal, columns), ...summary]);
        return 0;
      },
      { invocation },
    ),
  );
}

/** Draws each turn whole where it comes first, by time, and names it alone where it comes again. */
function pictureOf(trace: Trace, { style }: Terminal, columns: number): readonly string[] {
  const drawn = new Set<string>();
  const nameOf = ({ path, version }: TracedVersion): string =>
    `${path}  ${style('yellow', shownVersion(version))}`;
  const readersOf = ({ version }: TracedVersion): readonly Branch[] =>
    trace.turns
      .filter(({ read }) => read.some((each) => each.version === version))
      .map((turn) => turnBranch(turn, 'read it'));
  const turnBranch = (turn: TracedTurn, how: string): Branch => {
    const state = turn.state === 'unfinished' ? ', and has not ended' : '';
    const line = `${style('bold', `turn ${visibleName(turn.turn)}`)}  ${timeOf(turn.time)}  ${how}${state}`;
    if (drawn.has(turn.turn)) return { line: `${line}, as above`, below: [] };
    drawn.add(turn.turn);
    const followers = trace.turns.filter(({ follows, read }) => follows === turn.turn && read.length === 0);
    return {
      line,
      below: [
        ...turn.written.map((written) => ({
          line: `wrote ${nameOf(written)}${endOf(written)}${written.order === 'unknown' ? ', before or after' : ''}`,
          below: readersOf(written),
        })),
        ...turn.renamed.map(({ path, to }) => ({ line: `renamed ${path} to ${to}`, below: [] })),
        ...turn.deleted.map((path) => ({ line: `deleted ${path}`, below: [] })),
        ...followers.map((next) => turnBranch(next, 'goes on with its conversation')),
      ],
    };
  };
  const linesOf = (version: TracedVersion, how: string): readonly string[] => {
    const { time, writer } = version;
    const when = time === undefined ? '' : `  ${timeOf(time)}`;
    const by = writer === undefined ? '' : `  by ${visibleName(writer)}`;
    const line = `${nameOf(version)}${when}${endOf(version)}${by}${how}`;
    return [...wrapped(line, { room: columns }), ...linesBelow({ below: readersOf(version) }, { columns })];
  };
  const again = new Set(trace.again);
  return [...trace.versions, ...trace.again]
    .sort((a, b) => (a.time?.getTime() ?? 0) - (b.time?.getTime() ?? 0))
    .flatMap((version) => linesOf(version, again.has(version) ? ', which brought the text back' : ''));
}

function endOf({ end }: TracedVersion): string {
  return end === undefined ? '  not kept' : `  ${end}`;
}

function summaryOf({ turns, again, untold }: Trace): readonly string[] {
  const written = turns.flatMap((turn) => turn.written);
  const currentOf = (versions: readonly TracedVersion[]): number =>
    versions.filter(({ end }) => end === 'current').length;
  const back =
    again.length === 0
      ? []
      : [`${counted(again.length, 'version')} brought such a text back, ${currentOf(again)} of them current`];
  return [
    '',
    `${counted(turns.length, 'turn')} knew of it and wrote ${counted(written.length, 'version')} then, ${currentOf(written)} of them current`,
    ...back,
    ...untold.map((each) => `untold: ${sentenceOf(each)}`),
  ];
}

function sentenceOf(untold: Untold): string {
  switch (untold.kind) {
    case 'expired':
      return `what turns read that ended before ${timeOf(untold.before)}, which may have expired`;
    case 'writers':
      return `whether these read it before they wrote, as no stored turn says (a person, a repair, another program): ${untold.writers.map(visibleName).join(', ')}`;
    case 'unnamed':
      return `what was read by those who wrote ${counted(untold.versions, 'version')} since, and named no actor`;
    case 'unlisted':
      return `what else turn ${visibleName(untold.turn)} touched: ${counted(untold.count, 'file')}`;
    case 'untraced':
      return `what ${counted(untold.count, 'turn')} did that ended with an earlier version of the worker`;
    case 'damaged':
      return `what ${counted(untold.count, 'damaged record')} would say: see "verify"`;
  }
}
