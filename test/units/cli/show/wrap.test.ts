import { describe, expect, it } from 'vitest';
import { linesBelow } from '../../../../src/cli/show/branches.ts';
import { wrapped } from '../../../../src/cli/show/wrap.ts';

const LINE =
  '2026-11-17T09:42:00Z  \u001b[33mAjgxghV9\u001b[39m  current     /memories/vendors/acme.md  by mail import';

describe('a line in rows', () => {
  it('is broken between its pieces, of which colours take no room', () => {
    expect(wrapped(LINE, { room: 60 })).toEqual([
      '2026-11-17T09:42:00Z  \u001b[33mAjgxghV9\u001b[39m  current',
      '  /memories/vendors/acme.md  by mail import',
    ]);
    for (const room of [200, Number.POSITIVE_INFINITY]) expect(wrapped(LINE, { room })).toEqual([LINE]);
    expect(wrapped(LINE, { room: 1 }).join(' ').split(/\s+/)).toEqual(LINE.split(/\s+/));
  });

  it('is broken between words where it is a sentence', () => {
    const sentence = 'untold: what these read, who wrote since: ann, bob, and the mail import';
    expect(wrapped(sentence, { room: 40, gap: ' ' })).toEqual([
      'untold: what these read, who wrote',
      '  since: ann, bob, and the mail import',
    ]);
  });

  it('stands beside what hangs below it', () => {
    const leaf = { line: 'wrote /memories/payments.md  evs1fvAM  current', below: [] };
    const turn = { line: 'turn tuesday-1  2026-11-17T10:02:00Z  read it', below: [leaf] };
    expect([...linesBelow({ below: [turn, turn] }, { columns: 44 })]).toEqual([
      '├── turn tuesday-1  2026-11-17T10:02:00Z',
      '│     read it',
      '│   └── wrote /memories/payments.md',
      '│         evs1fvAM  current',
      '└── turn tuesday-1  2026-11-17T10:02:00Z',
      '      read it',
      '    └── wrote /memories/payments.md',
      '          evs1fvAM  current',
    ]);
  });
});
