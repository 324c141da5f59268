import { type Row, verdictOf } from './row.ts';
import type { Growth, RunReport } from './run.ts';
import { count, growthText, ratioText } from './table.ts';

const WIDTH = 900;
const LEFT = 330;
const RIGHT = 90;
const LINE = 18;
const PLOT = WIDTH - LEFT - RIGHT;
const GROWTH_HEIGHT = 220;

/** Colours for light pages and, where the reader's system is dark, for dark ones; the ground stays the page's. */
const STYLE = `
text{font:12px system-ui,sans-serif;fill:#1f2328}.head{font-size:15px;font-weight:600}.work{font-weight:600}
.faint{fill:#59636e}.axis{stroke:#59636e}.grid{stroke:#d1d9e0}.bar{fill:#8c959f}.met{fill:#1a7f37}.missed{fill:#bc4c00}
.spread{stroke:#1f2328}.goal{stroke:#cf222e;stroke-width:2}.line{fill:none;stroke:#0969da;stroke-width:2}.dot{fill:#0969da}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.faint{fill:#9198a1}.axis{stroke:#9198a1}.grid{stroke:#3d444d}
.bar{fill:#656c76}.met{fill:#3fb950}.missed{fill:#f0883e}.spread{stroke:#f0f6fc}.goal{stroke:#ff7b72}.line{stroke:#58a6ff}
.dot{fill:#58a6ff}}`;

/**
 * A picture of the run that stands alone: bars on a logarithmic scale that begin at the reference (1), one panel for each
 * group, then a curve for everything that grows. References have no bar of their own.
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
  for (const growth of growths) {
    parts.push(growthPanel(growth, top));
    top += GROWTH_HEIGHT;
  }
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
  const one = scale(1).toFixed(1);
  parts.push(`<line class="axis" x1="${one}" x2="${one}" y1="${top + 24}" y2="${y}"/>`);
  return { svg: parts.join('\n'), bottom: y };
}

function bar(row: Row, y: number, scale: (ratio: number) => number): string {
  const { median, low, high } = row.ratio;
  const [from, to] = [scale(Math.min(1, median)), scale(Math.max(1, median))];
  const verdict = verdictOf(row);
  const kind = verdict === 'no goal' ? 'bar' : verdict;
  const middle = y + LINE / 2 - 1;
  const parts = [
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

function growthPanel(growth: Growth, top: number): string {
  const { work, steps } = growth;
  const sizes = steps.map(({ size }) => size);
  const x = logScale(sizes, [LEFT, LEFT + PLOT]);
  const y = logScale(
    steps.map(({ ratio }) => ratio),
    [top + GROWTH_HEIGHT - 50, top + 50],
  );
  const points = steps.map(({ size, ratio }) => `${x(size).toFixed(1)},${y(ratio).toFixed(1)}`);
  const marks = steps.map(({ size, ratio }) => {
    const [left, high] = [x(size).toFixed(1), y(ratio).toFixed(1)];
    const label = text({
      x: x(size),
      y: y(ratio) - 8,
      kind: 'faint',
      content: ratioText(ratio),
      anchor: 'middle',
    });
    const base = top + GROWTH_HEIGHT - 20;
    const tick = text({ x: x(size), y: base, kind: 'faint', content: count(size), anchor: 'middle' });
    return `<line class="grid" x1="${left}" x2="${left}" y1="${high}" y2="${base - 14}"/><circle class="dot" cx="${left}" cy="${high}" r="3"/>${label}${tick}`;
  });
  return [
    text({ x: 0, y: top + 15, kind: 'head', content: work }),
    text({ x: 0, y: top + 34, kind: 'faint', content: growthText(growth) }),
    ...marks,
    `<polyline class="line" points="${points.join(' ')}"/>`,
  ].join('\n');
}

/** Where on a logarithmic axis between two pixels a value lies; the values given fill it. */
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
