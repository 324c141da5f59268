import { text } from 'node:stream/consumers';

// Draws the beginning of the demo, as it is printed, as a picture for the README: npm run write pictures

const LINE = 19;
const MARGIN = 20;
const WIDTH = 880;
const FIRST = 'Left: what Claude sees.';
const LAST = 'Claude: Noted:';

const STYLE = `
  .back { fill: #ffffff; stroke: #d0d7de }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; fill: #1f2328 }
  .store { fill: #8250df } .user { fill: #0a5dc2 } .command { fill: #1a7f37 } .frame { fill: #656d76 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; stroke: #30363d } text { fill: #e6edf3 }
    .store { fill: #d2a8ff } .user { fill: #79c0ff } .command { fill: #7ee787 } .frame { fill: #8b949e }
  }`;

process.stdout.write(draw(shownLines(await text(process.stdin))));

function shownLines(printed: string): readonly string[] {
  const lines = printed.split('\n');
  const first = lines.findIndex((line) => line.startsWith(FIRST));
  const last = lines.findIndex((line) => line.startsWith(LAST));
  if (first < 0 || last < 0) throw new Error('this is not what the demo prints');
  return lines
    .slice(first, last + 2)
    .map((line) =>
      line.replace(/^(── [^,]+), process .*/, (_, title: string) => `${title} `.padEnd(100, '─')),
    );
}

function draw(lines: readonly string[]): string {
  const height = lines.length * LINE + 2 * MARGIN;
  const rows = lines.map((line, index) => drawLine(line, MARGIN + (index + 0.8) * LINE));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" xml:space="preserve" role="img"
  aria-label="The demo: left what Claude reads and writes, right the encrypted objects that the store holds">
  <style>${STYLE}
  </style>
  <rect class="back" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>
${rows.filter((row) => row !== '').join('\n')}
</svg>
`;
}

function drawLine(line: string, y: number): string {
  const [left = '', right] = line.split('│');
  const spans = [span(left, kindOf(left))];
  if (right !== undefined) spans.push(span('│', 'frame'), span(right, 'store'));
  const words = spans.join('');
  return words === '' ? '' : `  <text x="${MARGIN}" y="${y.toFixed(1)}">${words}</text>`;
}

function kindOf(line: string): string {
  if (line.startsWith('User:')) return 'user';
  if (line.startsWith('→')) return 'command';
  return line.startsWith('──') || line.startsWith('Left:') ? 'frame' : '';
}

function span(words: string, kind: string): string {
  if (words === '') return '';
  const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return kind === '' ? `<tspan>${escaped}</tspan>` : `<tspan class="${kind}">${escaped}</tspan>`;
}
