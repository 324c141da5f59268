import { describe, expect, it } from 'vitest';
import { checkStore } from '../../examples/demo/checks.ts';
import type { StoreView } from '../../examples/demo/store-view.ts';
import { sideBySide } from '../../infra/local/terminal/screen.ts';
import type { ETag } from '../../src/store/port.ts';

describe('The check of the store', () => {
  const kestrel = new TextEncoder().encode('the Kestrel flies');
  const sealed = new Uint8Array(64);
  const reports = [{ answer: '', written: ['Kestrel'] }];

  it.each([
    ['no word is there', 'data/x', sealed, true],
    ['a word is in a name', 'data/Kestrel', sealed, false],
    ['a word is in an object', 'data/x', kestrel, false],
    ['a word is in the keyring', 'keyring', kestrel, false],
  ])('tells that %s', async (_, name, body, holds) => {
    const view: StoreView = {
      objects: async () => [{ name, etag: 'e' as ETag, body }],
      changes: async () => [],
      [Symbol.asyncDispose]: async () => {},
    };
    expect((await checkStore({ view, reports, namesAreEncrypted: true })).holds).toBe(holds);
  });
});

describe('The print of two columns', () => {
  const columns = {
    left: [{ text: '→ create 記憶/\u001b[31mred 👩‍👩‍👧', hang: 2 }, { text: `${'word '.repeat(30)}end` }],
    right: [{ text: `+ data/${'x'.repeat(43)}/${'y'.repeat(43)}`, hang: 2 }],
  };

  it('keeps every cell inside its column, and what files hold from steering the terminal', () => {
    const rows = sideBySide(columns, 100).trimEnd().split('\n');
    expect(rows[0]).toBe(`→ create 記憶/·[31mred 👩‍👩‍👧${' '.repeat(25)} │ + data/`);
    expect(rows[1]).toMatch(/^(?:word ){10} {2}│ {3}x{43}\/$/);
    expect(rows[2]).toMatch(/ │ {3}y{43}$/);
  });

  it('puts the columns below one another where there is no room for both', () => {
    const rows = sideBySide(columns, 60).split('\n');
    expect(rows.join('')).not.toContain('│');
    expect(rows).toContain('In the store:');
    expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(60);
  });
});
