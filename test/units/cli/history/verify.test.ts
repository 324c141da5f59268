import { describe, expect, it } from 'vitest';
import type { Finding, RenameFinding } from '../../../../src/admin/findings.ts';
import { linesOf } from '../../../../src/cli/history/verify.ts';
import { classLogicalName } from '../../../../src/format/object-keys.ts';
import { at } from '../../../stage/test-tree.ts';

describe('linesOf', () => {
  const rename: RenameFinding = {
    kind: 'rename',
    state: 'expired',
    phase: 'moving',
    from: at('/memories/a'),
    to: at('/memories/b'),
    ageMs: 12_400,
    files: 2,
  };
  const said = (finding: Finding): readonly string[] =>
    linesOf({ files: 1, bytes: 1, findings: [finding], keyVersions: [] });

  it.each<readonly [Finding, RegExp]>([
    [
      rename,
      /^FAIL {2}the rename of \/memories\/a to \/memories\/b \(moving, 2 files at both places\) stopped 12 s ago — /,
    ],
    [{ ...rename, state: 'under_way' }, /^wait {2}.* is under way — run verify again/],
    [{ ...rename, state: 'finished' }, /^fixed .*: finished it$/],
    [
      { ...rename, state: 'unfinished', code: 'integrity' },
      /^FAIL {2}.*could not be finished \(integrity\) — /,
    ],
    [{ kind: 'register', code: 'integrity' }, /^FAIL {2}the register .* — restore .* from a backup$/],
    [
      { kind: 'damaged_record', name: classLogicalName('answers', 'one') },
      /^FAIL {2}\/answers\/one, a record .* is damaged — restore its object from a backup, or delete it$/,
    ],
    [
      { kind: 'unknown_key', name: classLogicalName('access', 'one') },
      /^FAIL {2}\/access\/one names a tenant key that the keyring does not hold.* — restore .* or delete it$/,
    ],
    [
      { kind: 'orphan', objects: 2 },
      /^FAIL {2}2 objects beside the files that belong to nothing — find out /,
    ],
    [
      { kind: 'too_large', path: at('/memories/a') },
      /^FAIL {2}\/memories\/a .* — raise SEALED_MEMORY_MAX_FILE_BYTES$/,
    ],
    [
      { kind: 'clash', path: at('/memories/a') },
      /^FAIL {2}\/memories\/a is a file and a directory, .* — rename the file$/,
    ],
    ...(['undecided', 'not_removed', 'in_progress', 'left'] as const).map(
      (state) =>
        [
          { kind: 'duplicate', state, older: at('/memories/a'), newer: at('/memories/b') },
          /^(FAIL|wait) {1,2} \/memories\/a and \/memories\/b are the same file.* — /,
        ] as const,
    ),
  ])('says what to do about %o', (finding, line) => {
    const [first = '', summary] = said(finding);
    expect(first).toMatch(line);
    const isFixed = first.startsWith('fixed');
    const mark = first.startsWith('wait') ? 'wait' : 'FAIL';
    expect(summary).toBe(
      isFixed ? 'ok    1 file, 1 byte: all well, 1 repaired' : `${mark}  1 file, 1 byte: 1 finding left`,
    );
  });

  it('tells the tenant keys in use before it sums up', () => {
    const keyVersions = [
      { version: 1, objects: 1, active: false },
      { version: 3, objects: 20, active: true },
    ];
    expect(linesOf({ files: 1, bytes: 1, findings: [], keyVersions })).toEqual([
      'keys  version 1: 1 object, version 3, active: 20 objects',
      'ok    1 file, 1 byte: all well',
    ]);
  });
});
