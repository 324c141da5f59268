import { type Row, type Verdict, verdictOf } from './row.ts';
import type { Growth, RunReport } from './run.ts';

const HEAD = ['work', 'contestant', 'ratio', 'quartiles', 'n', 'goal', 'took', 'note'] as const;

const WIDTHS: Readonly<Partial<Record<(typeof HEAD)[number], number>>> = {
  work: 40,
  contestant: 36,
  ratio: 6,
  quartiles: 11,
  n: 2,
  goal: 11,
  took: 8,
};

/** The head of `textTable`. */
export function textHead(): string {
  return textLine(HEAD);
}

/** Lines for a terminal, in columns that are the same for every call; a title that is repeated is left out. */
export function textTable(rows: readonly Row[]): readonly string[] {
  return rows.map((row, at) => {
    const before = rows[at - 1];
    const isRepeated = before !== undefined && titleOf(before) === titleOf(row);
    return textLine([isRepeated ? '' : titleOf(row), row.contestant, ...cellsOf(row)]);
  });
}

function textLine(cells: readonly string[]): string {
  const padded = cells.map((cell, at) => cell.padEnd(WIDTHS[HEAD[at] ?? 'note'] ?? 0));
  return padded.join('  ').trimEnd();
}

/** The rows of each group as a Markdown table under a heading, what grows, and what was not there. */
export function markdownTables({ rows, groups, growths, facts, absences }: RunReport): string {
  const sections = groups.flatMap((group) => {
    const own = rows.filter((row) => row.group === group);
    if (own.length === 0) return [];
    const lines = own.map((row) => line([titleOf(row), row.contestant, ...cellsOf(row)]));
    return [`### ${group}\n\n${line(HEAD)}\n${line(HEAD.map(() => '---'))}\n${lines.join('\n')}`];
  });
  if (growths.length > 0) {
    const lines = growths.map((growth) =>
      line([
        growth.work,
        growth.of,
        growth.steps.map(({ size, ratio }) => `${count(size)}: ${ratioText(ratio)}`).join(' · '),
        growthText(growth),
      ]),
    );
    const head = ['work', 'grows in', 'ratio to the smallest', 'in words'];
    sections.push(`### What grows\n\n${line(head)}\n${line(head.map(() => '---'))}\n${lines.join('\n')}`);
  }
  if (facts.length > 0) {
    const lines = facts.map(({ group, text, verdict }) => `- ${group}: ${text}${verdictText(verdict)}`);
    sections.push(`### Besides\n\n${lines.join('\n')}`);
  }
  if (absences.length > 0) {
    const lines = absences.map(({ group, what, reason }) => `- ${group}: ${what} (${reason})`);
    sections.push(`### Not measured in this run\n\n${lines.join('\n')}`);
  }
  return sections.join('\n\n');
}

/** Tells a growth in words. */
export function growthText({ risesFrom, steepFrom }: Growth): string {
  if (risesFrom === undefined) return 'hardly grows';
  const steep = steepFrom === undefined ? '' : `, steeply from ${count(steepFrom)}`;
  return `grows from ${count(risesFrom)}${steep}`;
}

export function verdictText(verdict: Verdict): string {
  return verdict === 'no goal' ? '' : `: ${verdict}`;
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function titleOf({ work, time }: Row): string {
  return time === 'processor' ? `${work}, processor` : work;
}

/** Everything of a row but its title and its contestant. */
function cellsOf(row: Row): readonly string[] {
  const { ratio, goal, contestant, reference, milliseconds, note = '' } = row;
  const verdict = verdictOf(row);
  const isReference = contestant === reference;
  return [
    ratioText(ratio.median),
    isReference ? '' : `${ratioText(ratio.low)}–${ratioText(ratio.high)}`,
    String(ratio.rounds),
    goal === undefined ? '' : `${ratioText(goal)} ${verdict}`,
    timeText(milliseconds),
    note,
  ];
}

export function ratioText(ratio: number): string {
  return ratio < 100 ? ratio.toFixed(2) : ratio.toFixed(0);
}

function timeText(milliseconds: number): string {
  if (milliseconds < 1) return `${(milliseconds * 1_000).toFixed(0)} µs`;
  return milliseconds < 1_000 ? `${milliseconds.toFixed(1)} ms` : `${(milliseconds / 1_000).toFixed(2)} s`;
}

export function count(size: number): string {
  return size.toLocaleString('en-US');
}
