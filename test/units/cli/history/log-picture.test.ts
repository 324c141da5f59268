import { describe, expect, it } from 'vitest';
import { logPicture } from '../../../../src/cli/history/log-picture.ts';
import type { HistoryEntry } from '../../../../src/history/past/entries.ts';

const [OLD, NEW] = ['/memories/old.md', '/memories/new.md'];
const at = (minute: number): Date => new Date(Date.UTC(2026, 10, 17, 9, minute));
const written = (version: string, minute: number, more: object = {}): HistoryEntry => ({
  kind: 'written',
  path: NEW,
  version: version.repeat(22),
  time: at(minute),
  size: 5,
  text: 'kept',
  end: 'replaced',
  ...more,
});
const draw = (entries: readonly HistoryEntry[], columns = 100): string =>
  logPicture(entries, { columns, style: (style, text) => (style === 'bold' ? text : `<${text}>`) }).join(
    '\n',
  );

/** Written twice and renamed, restored, deleted; then another file was created there. */
const ENTRIES: readonly HistoryEntry[] = [
  written('f', 9, { end: 'current', writer: 'ann' }),
  { kind: 'deleted', path: NEW, version: 'd'.repeat(22), time: at(8), writer: 'bob' },
  written('d', 7, { end: 'deleted', previous: 'c'.repeat(22), sameTextAs: 'b'.repeat(22), writer: 'bob' }),
  written('c', 6, { previous: 'b'.repeat(22), text: 'redacted', redacted: { time: at(9), writer: 'eve' } }),
  { kind: 'renamed', path: OLD, to: NEW, version: 'b'.repeat(22), time: at(5) },
  written('b', 4, { path: OLD, size: 1 }),
];

describe('the picture of log', () => {
  it('draws each file that was there, with its renames, deletes, writers and restored texts', () => {
    expect(draw(ENTRIES)).toBe(`/memories/new.md
└── <● vffffffff>  2026-11-17T09:09:00Z  current  5 bytes  by ann
/memories/new.md
├── <× deleted>  2026-11-17T09:08:00Z  by bob
├── <○ vdddddddd>  2026-11-17T09:07:00Z  5 bytes  the text of vbbbbbbbb  by bob
├── <○ vcccccccc>  2026-11-17T09:06:00Z  redacted  redacted by eve
├── <→ renamed>  2026-11-17T09:05:00Z  from /memories/old.md
└── <○ vbbbbbbbb>  2026-11-17T09:04:00Z  1 byte`);
  });

  it('keeps the files apart that were at the path, also where their times cross', () => {
    const [current, deleted, ...older] = ENTRIES as [HistoryEntry, HistoryEntry, ...HistoryEntry[]];
    expect(
      draw([deleted, current, ...older])
        .split('\n')
        .filter((line) => line.startsWith('/')),
    ).toHaveLength(2);
    expect(draw([deleted, current, ...older])).toContain('└── <● vffffffff>');
  });

  it('puts what does not fit below its line', () => {
    const lines = draw(ENTRIES.slice(2, 4), 40);
    expect(lines).toBe(`/memories/new.md
├── <○ vdddddddd>  2026-11-17T09:07:00Z
│   5 bytes  the text of vbbbbbbbb
│   by bob
└── <○ vcccccccc>  2026-11-17T09:06:00Z
    redacted  redacted by eve`);
    for (const columns of [1, 20, 60, 200]) expect(draw(ENTRIES, columns)).toContain('the text of vbbbbbbbb');
  });

  it('tells who wrote what was redacted from who redacted it', () => {
    const redacted = { text: 'redacted', redacted: { time: at(9), writer: 'eve' } };
    expect(draw([written('a', 1, { ...redacted, writer: 'turn 7' })])).toContain(
      '  redacted  written by turn 7  redacted by eve',
    );
  });

  it('tells entries of one second apart', () => {
    const time = new Date(Date.UTC(2026, 10, 17, 9, 1, 0, 7));
    expect(draw([written('b', 1, { time }), written('a', 1)])).toMatch(/T09:01:00\.007Z[\s\S]*T09:01:00Z/);
  });

  it('lets no writer begin a line, or turn one around', () => {
    const forged = draw([written('a', 1, { writer: 'x\n└── ● by\u202eeve', end: 'unrecorded' })]);
    expect(forged.split('\n')).toHaveLength(2);
    expect(forged).toContain('its end is not recorded  5 bytes  by x⟨LF⟩└── ● by⟨RLO⟩eve');
  });
});
