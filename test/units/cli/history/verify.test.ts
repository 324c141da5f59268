import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Finding, RenameFinding } from '../../../../src/admin/findings.ts';
import { linesOf } from '../../../../src/cli/history/verify.ts';
import { classLogicalName } from '../../../../src/format/object-keys.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { CLI_MEMORY_ENV, type CliRun, runCli } from '../../../stage/cli.ts';
import { interceptStore, noAnswer } from '../../../stage/store-wrappers.ts';
import { at } from '../../../stage/test-tree.ts';

const FROM = '/memories/from.md';
const TO = '/memories/to.md';
const ROOT_KEY = CLI_MEMORY_ENV['SEALED_MEMORY_ROOT_KEY'] ?? '';

describe('sealed-memory verify', { timeout: 60_000 }, () => {
  let folder: string;
  let file: string;
  let count = 0;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-verify-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeEach(() => {
    file = join(folder, `${count++}.sqlite`);
  });

  const verify = (...args: readonly string[]): Promise<CliRun> =>
    runCli(['verify', ...args], { env: { ...CLI_MEMORY_ENV, SEALED_MEMORY_STORE: `sqlite:${file}` } });

  const lastEvent = ({ stdout }: CliRun): unknown => JSON.parse(stdout.trim().split('\n').at(-1) ?? '');

  /** Runs the commands on the file; the process dies at its first delete. */
  async function inMemory(commands: readonly unknown[]): Promise<void> {
    await using plain = openSqliteObjectStore({ path: file });
    let dead = false;
    const store = interceptStore(plain, (call, proceed) => {
      dead ||= call.verb === 'delete';
      return dead ? Promise.reject(noAnswer()) : proceed();
    });
    await using memory = await openMemory({ store, tenant: 'acme', rootKey: ROOT_KEY });
    for (const command of commands) await memory.execute(command);
  }

  function inDatabase(change: string, ...values: readonly (string | number)[]): void {
    const database = new DatabaseSync(file);
    database.prepare(change).run(...values);
    database.close();
  }

  /** Everything in the store was written so much earlier; what was written first is older by a second. */
  function age(ms: number): void {
    inDatabase('UPDATE objects SET last_modified = last_modified - ? + rowid * 1000', ms + 100_000);
  }

  const create = (path: string, text: string) => ({ command: 'create', path, file_text: text });
  const cutOffRename = [create(FROM, 'precious'), { command: 'rename', old_path: FROM, new_path: TO }];

  it('names both places of a rename that was cut off, and removes the older one only when told to', async () => {
    await inMemory(cutOffRename);
    age(120_000);
    for (let time = 0; time < 2; time++) {
      expect(await verify()).toMatchObject({
        code: 1,
        stdout: [
          `FAIL  ${FROM} and ${TO} are the same file, left by a rename that was cut off — verify --repair removes ${FROM}, the older place`,
          'keys  version 1, active: 2 objects',
          'FAIL  2 files, 16 bytes: 1 finding left',
          '',
        ].join('\n'),
        stderr: '',
      });
    }
    expect(await verify('--repair')).toMatchObject({
      code: 0,
      stdout: [
        `fixed ${FROM} and ${TO} are the same file: removed ${FROM}, the older place`,
        'keys  version 1, active: 2 objects',
        'ok    2 files, 16 bytes: all well, 1 repaired',
        '',
      ].join('\n'),
    });
    expect(await verify()).toMatchObject({
      code: 0,
      stdout: 'keys  version 1, active: 1 object\nok    1 file, 8 bytes: all well\n',
    });
  });

  it('asks for patience while the rename is young', async () => {
    await inMemory(cutOffRename);
    const { code, stdout } = await verify('--repair');
    expect(code).toBe(1);
    expect(stdout).toContain(`wait  ${FROM} and ${TO} are the same file: a rename may be under way`);
    expect(await verify()).toMatchObject({ code: 1 });
  });

  it('answers programs with one JSON object', async () => {
    await inMemory(cutOffRename);
    age(120_000);
    const found = await verify('--json');
    expect([found.code, found.stderr]).toEqual([1, '']);
    const duplicates = { kind: 'duplicate', older: FROM, newer: TO };
    expect(lastEvent(found)).toEqual({
      event: 'done',
      files: 2,
      bytes: 16,
      left: 1,
      untold: 0,
      repaired: 0,
      keyVersions: [{ version: 1, objects: 2, active: true }],
      findings: [{ ...duplicates, state: 'left' }],
    });
    const repaired = await verify('--json', '--repair');
    expect(repaired.code).toBe(0);
    expect(lastEvent(repaired)).toMatchObject({
      left: 0,
      repaired: 1,
      findings: [{ state: 'removed' }],
    });
  });
});

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
