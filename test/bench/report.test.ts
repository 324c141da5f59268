import { describe, expect, it } from 'vitest';
import { chartOf } from '../../bench/report/chart.ts';
import { withFigures } from '../../bench/report/document.ts';
import { dollarsOf } from '../../bench/report/prices.ts';
import type { Row } from '../../bench/report/row.ts';
import type { RunReport } from '../../bench/report/run.ts';
import { childrenTimes } from '../../bench/report/shell-times.ts';
import { markdownTables, textHead, textTable } from '../../bench/report/table.ts';

const row = (contestant: string, median: number, more: Partial<Row> = {}): Row => ({
  group: 'commands',
  work: 'view',
  reference: 'raw',
  time: 'wall',
  contestant,
  milliseconds: 2.5,
  ratio: { median, low: median * 0.9, high: median * 1.1, rounds: 9 },
  ...more,
});

const run: RunReport = {
  format: 1,
  day: '2026-02-03',
  machine: { node: 'v24.0.0', architecture: 'x64', cores: 2 },
  isQuick: false,
  seconds: 125,
  groups: ['commands', 'crypto'],
  rows: [
    row('raw', 1),
    row('ours', 1.25, { goal: 1.1, note: '1 GET | 1 PUT' }),
    row('raw', 1, { time: 'processor', milliseconds: 0.25 }),
    row('a & <b>', 0.5, { goal: 0.6, milliseconds: 12_345 }),
  ],
  growths: [
    {
      work: 'view the root',
      of: 'files',
      steps: [
        { size: 100, ratio: 1 },
        { size: 1_000, ratio: 30 },
      ],
      risesFrom: 100,
      steepFrom: 100,
    },
  ],
  facts: [{ group: 'start', text: 'the bundle has 9 KB', verdict: 'met' }],
  absences: [{ group: 'directories', what: 'mc', reason: 'no Go' }],
};

describe('the table of a terminal', () => {
  it('shows ratio, quartiles, rounds, goal and verdict, and repeats no title', () => {
    const [head, ...lines] = [textHead(), ...textTable(run.rows.slice(0, 2))];
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['view', 'raw', '1.00', '9', '2.5 ms'],
      ['', 'ours', '1.25', '1.13–1.38', '9', '1.10 missed', '2.5 ms', '1 GET | 1 PUT'],
    ]);
    for (const [title, cell] of [
      ['contestant', 'ours'],
      ['goal', '1.10 missed'],
      ['took', '2.5 ms'],
    ] as const) {
      expect(lines[1]?.indexOf(cell), title).toBe(head?.indexOf(title));
    }
  });
});

describe('the tables of the document', () => {
  const text = markdownTables(run);

  it('hold every row under its group', () => {
    expect(text).toContain('### commands\n\n| work | contestant | ratio |');
    expect(text).toContain('| view | ours | 1.25 | 1.13–1.38 | 9 | 1.10 missed | 2.5 ms | 1 GET \\| 1 PUT |');
    expect(text).toContain('| view, processor | raw | 1.00 |  | 9 |  | 250 µs |  |');
    expect(text).toContain('| 0.60 met | 12.35 s |');
  });

  it('leave out a group without rows', () => {
    expect(text).not.toContain('### crypto');
  });

  it('tell what grows, what else was found and what is missing', () => {
    expect(text).toContain(
      '| view the root | files | 100: 1.00 · 1,000: 30.00 | grows from 100, steeply from 100 |',
    );
    expect(text).toContain('- start: the bundle has 9 KB: met');
    expect(text).toContain('- directories: mc (no Go)');
  });
});

describe('the figures of the document', () => {
  const [begin, end] = ['<!-- figures: npm run bench -- --write-docs -->', '<!-- end of figures -->'];

  it('are replaced between their marks, and nothing else is', () => {
    const once = withFigures(`# Top\n\n${begin}\nold\n${end}\n\nBottom\n`, run);
    expect(once).toMatch(/^# Top\n\n/);
    expect(once).toMatch(/\n\nBottom\n$/);
    expect(once).not.toContain('old');
    expect(once).toContain('Run of 2026-02-03: Node v24.0.0, x64, 2 cores, 2 min.');
    expect(withFigures(once, run)).toBe(once);
  });

  it('call a quick run one', () => {
    expect(withFigures(`${begin}${end}`, { ...run, isQuick: true })).toContain('A quick run');
    expect(withFigures(`${begin}${end}`, run)).not.toContain('A quick run');
  });

  it.each(['', begin, end, `${end}${begin}`, `${begin}${begin}${end}`, `${begin}${end}${end}`])(
    'are refused a document whose marks are %j',
    (document) => {
      expect(() => withFigures(document, run)).toThrow('the document needs one');
    },
  );
});

describe('the chart', () => {
  const chart = chartOf(run);

  it('is one SVG with colours for light and for dark pages', () => {
    expect(chart).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 900 \d+"/);
    expect(chart).toContain('@media (prefers-color-scheme:dark)');
    expect(chart).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('draws a bar for everything but references, coloured by the verdict', () => {
    expect(chart.match(/<rect class="\w+"/g)).toEqual(['<rect class="missed"', '<rect class="met"']);
  });

  it('lets a bar reach from the reference to the median, on a logarithmic scale', () => {
    const [slower, faster] = [
      ...chart.matchAll(/<rect class="\w+" x="([\d.]+)" y="\d+" width="([\d.]+)"/g),
    ].map(([, x, width]) => ({ x: Number(x), end: Number(x) + Number(width) }));
    const axis = Number(/<line class="axis" x1="([\d.]+)"/.exec(chart)?.[1]);
    expect(slower?.x).toBeCloseTo(axis, 0);
    expect(faster?.end).toBeCloseTo(axis, 0);
    const lengths = [(slower?.end ?? 0) - axis, axis - (faster?.x ?? 0)] as const;
    expect(lengths[0] / lengths[1]).toBeCloseTo(Math.log(1.25) / Math.log(2), 1);
  });

  it('writes names so that they cannot be read as tags', () => {
    expect(chart).toContain('a &#38; &#60;b&#62;');
    expect(chart).not.toContain('<b>');
  });

  it('draws a curve for what grows and says where it bends', () => {
    expect(chart.match(/<polyline/g)).toHaveLength(1);
    expect(chart).toContain('grows from 100, steeply from 100');
  });

  it('is drawn of an empty run too', () => {
    expect(chartOf({ ...run, rows: [], growths: [] })).toContain('</svg>');
  });
});

describe('what a shell says its children took', () => {
  it('is summed up from its second line', () => {
    expect(childrenTimes('0m0.01s 0m0.02s\n1m2.50s 0m0.250s\n')).toBe(62_750);
  });

  it('is nothing where there were none', () => {
    expect(childrenTimes('0m0.01s 0m0.02s\n')).toBe(0);
  });
});

describe('what requests cost', () => {
  it('is the price of a write for puts and lists, of a read for gets and heads, and nothing for deletes', () => {
    const thousand = (operation: string) => dollarsOf(Array<string>(1_000).fill(operation));
    expect(thousand('PutObject')).toBeCloseTo(0.005);
    expect(thousand('ListObjectsV2')).toBeCloseTo(0.005);
    expect(thousand('GetObject')).toBeCloseTo(0.0004);
    expect(thousand('HeadObject')).toBeCloseTo(0.0004);
    expect(thousand('DeleteObjects')).toBe(0);
  });
});
