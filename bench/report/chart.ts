import { type Row, verdictOf } from './row.ts';
import type { Growth, RunReport } from './run.ts';
import { count, growthText, ratioText } from './table.ts';

const WIDTH = 900;
const LEFT = 260;
const RIGHT = 90;
const LINE = 18;
const PLOT = WIDTH - LEFT - RIGHT;
/** Curves stand side by side, so many to a line. */
const CURVES = 3;
const CURVE_WIDTH = WIDTH / CURVES;
const CURVE_HEIGHT = 190;

/** Colours for light pages and, where the reader's system is dark, for dark ones; the ground stays the page's. */
const STYLE = `
text{font:12px system-ui,sans-serif;fill:#1f2328}.head{font-size:15px;font-weight:600}.work{font-weight:600}
.faint{fill:#59636e}.axis{stroke:#59636e}.grid{stroke:#d1d9e0}.bar{fill:#8c959f}.met{fill:#1a7f37}.missed{fill:#bc4c00}
.spread{stroke:#1f2328}.goal{stroke:#cf222e;stroke-width:2}.line{fill:none;stroke:#0969da;stroke-width:2}.dot{fill:#0969da}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.faint{fill:#9198a1}.axis{stroke:#9198a1}.grid{stroke:#3d444d}
.bar{fill:#656c76}.met{fill:#3fb950}.missed{fill:#f0883e}.spread{stroke:#f0f6fc}.goal{stroke:#ff7b72}.line{stroke:#58a6ff}
.dot{fill:#58a6ff}}`;

/**
 * A picture of the run that stands alone: bars on a logarithmic scale that begin at the reference (1), one panel for
 * each group, then a curve for everything that grows. References have no bar of their own.
 */
export function chartOf({ rows, growths, groups }: RunReport): string {
  const parts: string[] = [];
  let top = 10;
  for (const group of groups) {
    const own = rows.filter((row) => row.group === group && row.contestant !== row.reference);
    if (own.length === 0) continue;
    const panel = barPanel(group, own, top);
    parts.push(panel.svg);
    top = panel.bottom + 20;
  }
  for (const [at, growth] of growths.entries()) {
    const left = (at % CURVES) * CURVE_WIDTH;
    parts.push(curve(growth, { left, top: top + Math.floor(at / CURVES) * CURVE_HEIGHT }));
  }
  top += Math.ceil(growths.length / CURVES) * CURVE_HEIGHT;
  const title = 'Costs as ratios to the reference of each piece of work; shorter is faster';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" role="img" aria-label="${title}">
<style>${STYLE}</style>
${parts.join('\n')}
</svg>
`;
}

interface Panel {
  readonly svg: string;
  readonly bottom: number;
}

function barPanel(group: string, rows: readonly Row[], top: number): Panel {
  const scale = logScale(
    [1, ...rows.flatMap(({ ratio, goal }) => [ratio.low, ratio.high, goal ?? 1])],
    [LEFT, LEFT + PLOT],
  );
  const parts = [text({ x: 0, y: top + 15, kind: 'head', content: group })];
  let y = top + 24;
  let work = '';
  for (const row of rows) {
    const title = `${row.work}${row.time === 'processor' ? ', processor' : ''} (1 = ${row.reference})`;
    if (title !== work) {
      work = title;
      y += LINE + 4;
      parts.push(text({ x: 0, y: y - 4, kind: 'work', content: title }));
    }
    parts.push(bar(row, y, scale));
    y += LINE;
  }
  return { svg: parts.join('\n'), bottom: y };
}

function bar(row: Row, y: number, scale: (ratio: number) => number): string {
  const { median, low, high } = row.ratio;
  const [from, to] = [scale(Math.min(1, median)), scale(Math.max(1, median))];
  const verdict = verdictOf(row);
  const kind = verdict === 'no goal' ? 'bar' : verdict;
  const middle = y + LINE / 2 - 1;
  const one = scale(1).toFixed(1);
  const parts = [
    `<line class="axis" x1="${one}" x2="${one}" y1="${y}" y2="${y + LINE}"/>`,
    text({ x: LEFT - 8, y: y + 12, kind: 'faint', content: row.contestant, anchor: 'end' }),
    `<rect class="${kind}" x="${from.toFixed(1)}" y="${y + 2}" width="${(to - from).toFixed(1)}" height="${LINE - 6}"/>`,
    `<line class="spread" x1="${scale(low).toFixed(1)}" x2="${scale(high).toFixed(1)}" y1="${middle}" y2="${middle}"/>`,
    text({ x: Math.max(to, scale(high)) + 6, y: y + 12, kind: 'faint', content: ratioText(median) }),
  ];
  if (row.goal !== undefined) {
    const at = scale(row.goal).toFixed(1);
    parts.push(`<line class="goal" x1="${at}" x2="${at}" y1="${y}" y2="${y + LINE - 2}"/>`);
  }
  return parts.join('');
}

/** The scale covers at least a decade, so that what hardly grows looks flat. */
function curve(growth: Growth, { left, top }: { readonly left: number; readonly top: number }): string {
  const { work, of, steps } = growth;
  const base = top + CURVE_HEIGHT - 30;
  const x = logScale(
    steps.map(({ size }) => size),
    [left + 20, left + CURVE_WIDTH - 50],
  );
  const y = logScale([0.5, 5, ...steps.map(({ ratio }) => ratio)], [base - 16, top + 52]);
  const marks = steps.map(({ size, ratio }, at) => {
    const [across, up] = [x(size), y(ratio)];
    const tick = at % Math.ceil(steps.length / 4) === 0 ? shortCount(size) : '';
    return [
      `<line class="grid" x1="${across.toFixed(1)}" x2="${across.toFixed(1)}" y1="${up.toFixed(1)}" y2="${base - 12}"/>`,
      `<circle class="dot" cx="${across.toFixed(1)}" cy="${up.toFixed(1)}" r="3"/>`,
      text({ x: across, y: up - 8, kind: 'faint', content: ratioText(ratio), anchor: 'middle' }),
      text({ x: across, y: base, kind: 'faint', content: tick, anchor: 'middle' }),
    ].join('');
  });
  const points = steps.map(({ size, ratio }) => `${x(size).toFixed(1)},${y(ratio).toFixed(1)}`);
  return [
    text({ x: left, y: top + 15, kind: 'work', content: `${work}, by ${of}` }),
    text({ x: left, y: top + 31, kind: 'faint', content: growthText(growth) }),
    ...marks,
    `<polyline class="line" points="${points.join(' ')}"/>`,
  ].join('\n');
}

/** In units of 1,024 where it is one of their multiples. */
function shortCount(size: number): string {
  if (size < 1_024 || size % 1_024 !== 0) return count(size);
  return size % 1_048_576 === 0 ? `${size / 1_048_576} Mi` : `${size / 1_024} Ki`;
}

/** Places a value on a logarithmic axis between two pixels; the values given fill it. */
function logScale(
  values: readonly number[],
  [first, last]: readonly [number, number],
): (value: number) => number {
  const logs = values.map(Math.log);
  const [least, most] = [Math.min(...logs), Math.max(...logs)];
  const span = most - least || 1;
  return (value) => first + ((Math.log(value) - least) / span) * (last - first);
}

function text(label: {
  readonly x: number;
  readonly y: number;
  readonly kind: string;
  readonly content: string;
  readonly anchor?: 'end' | 'middle';
}): string {
  const { x, y, kind, content, anchor = 'start' } = label;
  const escaped = content.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped}</text>`;
}
