import { type Command, CommanderError } from 'commander';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createProgram } from '../../../../src/cli/program/program.ts';
import type { Action, Invocation } from '../../../../src/cli/run/invocation.ts';

/** Which verb was called last, and with what. */
const seen = vi.hoisted((): { call: readonly unknown[] | undefined } => ({ call: undefined }));
/** A verb's file: it declares what it declares, and what runs does nothing but note that it was called. */
const noted = vi.hoisted(() => async (load: () => Promise<unknown>): Promise<Record<string, unknown>> => {
  const module = (await load()) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(module).map(([name, declared]) => [
      name,
      name.startsWith('declare')
        ? declared
        : async (...call: readonly unknown[]): Promise<number> => {
            seen.call = [name, ...call];
            return 0;
          },
    ]),
  );
});
vi.mock('../../../../src/cli/history/checkpoint.ts', noted);
vi.mock('../../../../src/cli/files/diff.ts', noted);
vi.mock('../../../../src/cli/keys/doctor.ts', noted);
vi.mock('../../../../src/cli/files/edit.ts', noted);
vi.mock('../../../../src/cli/serve/exec.ts', noted);
vi.mock('../../../../src/cli/files/export.ts', noted);
vi.mock('../../../../src/cli/files/cat.ts', noted);
vi.mock('../../../../src/cli/files/cp.ts', noted);
vi.mock('../../../../src/cli/files/get.ts', noted);
vi.mock('../../../../src/cli/files/grep.ts', noted);
vi.mock('../../../../src/cli/files/mv.ts', noted);
vi.mock('../../../../src/cli/files/put.ts', noted);
vi.mock('../../../../src/cli/files/rm.ts', noted);
vi.mock('../../../../src/cli/history/log.ts', noted);
vi.mock('../../../../src/cli/history/show.ts', noted);
vi.mock('../../../../src/cli/history/switch.ts', noted);
vi.mock('../../../../src/cli/files/import.ts', noted);
vi.mock('../../../../src/cli/keys/init.ts', noted);
vi.mock('../../../../src/cli/files/list.ts', noted);
vi.mock('../../../../src/cli/serve/mcp.ts', noted);
vi.mock('../../../../src/cli/serve/open.ts', noted);
vi.mock('../../../../src/cli/keys/backup.ts', noted);
vi.mock('../../../../src/cli/keys/expire.ts', noted);
vi.mock('../../../../src/cli/keys/keys.ts', noted);
vi.mock('../../../../src/cli/keys/names.ts', noted);
vi.mock('../../../../src/cli/keys/shred.ts', noted);
vi.mock('../../../../src/cli/keys/export-backup.ts', noted);
vi.mock('../../../../src/cli/history/redact.ts', noted);
vi.mock('../../../../src/cli/history/restore-version.ts', noted);
vi.mock('../../../../src/cli/keys/tenants.ts', noted);
vi.mock('../../../../src/cli/serve/tool.ts', noted);
vi.mock('../../../../src/cli/history/undo-and-restore-at.ts', noted);
vi.mock('../../../../src/cli/history/trace.ts', noted);
vi.mock('../../../../src/cli/history/verify.ts', noted);

const RUN = {} as Invocation;

/** What the command line leads to, without the invocation that each verb gets; a refusal by its sentence. */
async function chosen(line: string): Promise<readonly unknown[] | string> {
  let action: Action | undefined;
  const program = createProgram((given) => {
    action = given;
  });
  const silent = { writeErr: () => {}, writeOut: () => {} };
  for (const command of withAllBelow(program)) command.configureOutput(silent).exitOverride();
  try {
    program.parse(line.split(' '), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.message;
    throw error;
  }
  await action?.(RUN);
  return (seen.call ?? []).filter((given) => given !== RUN);
}

function withAllBelow(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withAllBelow)];
}

beforeEach(() => {
  seen.call = undefined;
});

describe('the command line', () => {
  it.each<readonly [string, readonly unknown[]]>([
    ['init', ['runInit']],
    ['doctor', ['runDoctor']],
    ['ls', ['runLs', '/memories', {}]],
    ['ls -l -R /memories/a', ['runLs', '/memories/a', { long: true, recursive: true }]],
    ['tree', ['runTree', '/memories']],
    ['tree /memories/a', ['runTree', '/memories/a']],
    ['du', ['runDu', '/memories']],
    ['du /memories/a', ['runDu', '/memories/a']],
    ['stat /memories/a', ['runStat', '/memories/a']],
    ['grep x', ['runGrep', { pattern: 'x', path: '/memories' }, {}]],
    [
      'grep -i -F -l x /memories/a',
      [
        'runGrep',
        { pattern: 'x', path: '/memories/a' },
        { ignoreCase: true, fixedStrings: true, filesWithMatches: true },
      ],
    ],
    ['tenants', ['runTenants']],
    ['cat /memories/a /memories/b', ['runCat', ['/memories/a', '/memories/b'], {}]],
    ['cat --lines 10 /memories/a', ['runCat', ['/memories/a'], { lines: { first: 10, last: 10 } }]],
    ['cat --lines 10,20 /memories/a', ['runCat', ['/memories/a'], { lines: { first: 10, last: 20 } }]],
    ['cat --lines 10,10 /memories/a', ['runCat', ['/memories/a'], { lines: { first: 10, last: 10 } }]],
    ['cat --lines 10, /memories/a', ['runCat', ['/memories/a'], { lines: { first: 10 } }]],
    ['put /memories/a', ['runPut', '/memories/a', {}]],
    ['put /memories/a --text x --create', ['runPut', '/memories/a', { text: 'x', create: true }]],
    ['put /memories/a --file x --append', ['runPut', '/memories/a', { file: 'x', append: true }]],
    ['get /memories/a', ['runGet', '/memories/a', {}]],
    ['get /memories/a out -f', ['runGet', '/memories/a', { to: 'out', force: true }]],
    ['edit /memories/a', ['runEdit', '/memories/a']],
    ['diff /memories/a b', ['runDiff', { left: '/memories/a', right: '/memories/b' }]],
    ['diff /memories/a v1 v2', ['runDiff', { left: '/memories/a', right: 'v1', version: 'v2' }]],
    ['diff /memories/a v-v_1 v--_2', ['runDiff', { left: '/memories/a', right: 'v-v_1', version: 'v--_2' }]],
    ['cp /memories/a /memories/b', ['runCp', { from: '/memories/a', to: '/memories/b' }, {}]],
    ['cp -r -f a b', ['runCp', { from: '/memories/a', to: '/memories/b' }, { recursive: true, force: true }]],
    ['mv /memories/a /memories/b', ['runMv', { from: '/memories/a', to: '/memories/b' }]],
    ['rm a b', ['runRm', ['/memories/a', '/memories/b'], {}]],
    ['rm -r -f a', ['runRm', ['/memories/a'], { recursive: true, force: true }]],
    ['import in', ['runImport', { from: 'in', path: '/memories' }, {}]],
    ['import in /memories/a -f', ['runImport', { from: 'in', path: '/memories/a' }, { force: true }]],
    ['export out', ['runExport', { path: '/memories', to: 'out' }, {}]],
    [
      'export /memories/a out -f --age one --age two',
      ['runExport', { path: '/memories/a', to: 'out' }, { force: true, age: ['one', 'two'] }],
    ],
    ['open', ['runOpen', undefined, { browser: true }]],
    ['open --port 0 --no-browser', ['runOpen', undefined, { port: 0, browser: false }]],
    ['open --port 65535', ['runOpen', undefined, { port: 65_535, browser: true }]],
    ['checkpoint', ['runCheckpoint', {}]],
    ['checkpoint --since 1:x', ['runCheckpoint', { since: '1:x' }]],
    ['verify --since 1:x', ['runVerify', { since: '1:x' }]],
    ['log', ['runLog', undefined, {}]],
    ['log /memories/a --limit 10', ['runLog', '/memories/a', { limit: 10 }]],
    ['show /memories/a v-v_1', ['runShow', { path: '/memories/a', version: '-v_1' }]],
    ['show /memories/a v--bA_x9Q', ['runShow', { path: '/memories/a', version: '--bA_x9Q' }]],
    ['show /memories/a -- -Ab3_x', ['runShow', { path: '/memories/a', version: '-Ab3_x' }]],
    ['show /memories/a Ab3-', ['runShow', { path: '/memories/a', version: 'Ab3-' }]],
    ['show /memories/a v1', ['runShow', { path: '/memories/a', version: 'v1' }]],
    ['restore-at 2026-11-17T09:30Z', ['runRestoreAt', '2026-11-17T09:30Z', {}]],
    [
      'restore-at 2026-11-17T09:30Z --below /memories/d --partial --dry-run --yes',
      ['runRestoreAt', '2026-11-17T09:30Z', { below: '/memories/d', partial: true, dryRun: true, yes: true }],
    ],
    ['undo ann', ['runUndo', 'ann', {}]],
    ['undo ann --diff', ['runUndo', 'ann', { diff: true }]],
    ['restore-at 2026-11-17T09:30Z --diff', ['runRestoreAt', '2026-11-17T09:30Z', { diff: true }]],
    ['undo --turn t-1 --yes', ['runUndo', undefined, { turn: 't-1', yes: true }]],
    ['undo ann --force --dry-run --yes', ['runUndo', 'ann', { force: true, dryRun: true, yes: true }]],
    ['trace /memories/a', ['runTrace', { path: '/memories/a', version: undefined }]],
    ['trace /memories/a v1_23', ['runTrace', { path: '/memories/a', version: '1_23' }]],
    ['redact /memories/a v1_23 --yes', ['runRedact', { path: '/memories/a', version: '1_23', yes: true }]],
    ['tenant history on', ['runTurnHistory', 'on']],
    ['tenant history off', ['runTurnHistory', 'off']],
    ['tenant history anew', ['runTurnHistory', 'anew']],
    ['verify', ['runVerify', {}]],
    ['verify --repair', ['runVerify', { repair: true }]],
    ['export --from a b', ['runExportBackup', { from: 'a', to: 'b' }]],
    ['export b --from=a', ['runExportBackup', { from: 'a', to: 'b' }]],
    ['restore /memories/a v1_23', ['runRestoreVersion', { path: '/memories/a', version: '1_23' }]],
    [
      'restore /memories/a v-v_1 --dry-run --yes',
      ['runRestoreVersion', { path: '/memories/a', version: '-v_1', dryRun: true, yes: true }],
    ],
    // A file of yours has no versions, so the right one is a path.
    ['diff ./notes v-Ab3_x', ['runDiff', { left: './notes', right: '/memories/v-Ab3_x' }]],
    ['diff notes v-Ab3_x', ['runDiff', { left: '/memories/notes', right: 'v-Ab3_x' }]],
    ['export --from -Ab3_x -- -Cd4_y', ['runExportBackup', { from: '-Ab3_x', to: '-Cd4_y' }]],
    [
      'export out --age show --age -Ab3_x',
      ['runExport', { path: '/memories', to: 'out' }, { age: ['show', '-Ab3_x'] }],
    ],
    ['expire', ['runExpire', {}]],
    ['expire --dry-run --after 30', ['runExpire', { dryRun: true, after: 30 }]],
    ['keys status', ['runStatus']],
    ['keys show-root', ['runShowRoot']],
    ['keys rotate', ['runRotate', {}]],
    ['keys rotate --if-active 3 --force', ['runRotate', { ifActive: 3, force: true }]],
    ['keys migrate', ['runMigrate', {}]],
    ['keys migrate --reencrypt --wait --ttl 60', ['runMigrate', { reencrypt: true, wait: true, ttl: 60 }]],
    ['keys rewrap-root', ['runRewrap', {}]],
    ['keys rewrap-root --force', ['runRewrap', { force: true }]],
    ['tenant history', ['runHistoryState']],
    ['tenant history on', ['runTurnHistory', 'on']],
    ['tenant shred', ['runShred', {}]],
    ['tenant shred --confirm acme --ttl 0', ['runShred', { confirm: 'acme', ttl: 0 }]],
    ['names encode /memories/a', ['runEncodeName', '/memories/a']],
    ['names decode data/x', ['runDecodeName', 'data/x']],
    ['tool view a', ['runTool', { command: 'view', path: 'a' }, undefined]],
    [
      'tool view a --range 10,-1',
      ['runTool', { command: 'view', path: 'a', view_range: [10, -1] }, undefined],
    ],
    [
      'tool create a --text x',
      ['runTool', { command: 'create', path: 'a' }, { field: 'file_text', source: { text: 'x' } }],
    ],
    [
      'tool str-replace a --old x',
      ['runTool', { command: 'str_replace', path: 'a', old_str: 'x', new_str: '' }, undefined],
    ],
    [
      'tool str-replace a --old x --new y',
      ['runTool', { command: 'str_replace', path: 'a', old_str: 'x', new_str: 'y' }, undefined],
    ],
    [
      'tool insert a 0 --file x',
      [
        'runTool',
        { command: 'insert', path: 'a', insert_line: 0 },
        { field: 'insert_text', source: { file: 'x' } },
      ],
    ],
    ['tool delete a', ['runTool', { command: 'delete', path: 'a' }, undefined]],
    ['tool rename a b', ['runTool', { command: 'rename', old_path: 'a', new_path: 'b' }, undefined]],
    ['exec --jsonl', ['runExec', { jsonl: true }]],
    ['exec --jsonl --sessions', ['runExec', { jsonl: true, sessions: true }]],
    ['mcp', ['runMcp', {}]],
    ['mcp --http', ['runMcp', { http: 7_391 }]],
    ['mcp --http 0 --six-tools', ['runMcp', { http: 0, sixTools: true }]],
    ['mcp --http 65535 --token-file t', ['runMcp', { http: 65_535, tokenFile: 't' }]],
  ])('%s', async (line, call) => {
    expect(await chosen(line)).toEqual(call);
  });

  it.each<readonly [string, string]>([
    ['cat --lines 0 a', 'Give a line'],
    ['cat --lines 20,10 a', 'Give a line'],
    ['cat --lines ,10 a', 'Give a line'],
    ['cat --lines 10-20 a', 'Give a line'],
    ['cat --lines 12345678901 a', 'Give a line'],
    ['put a --text x --file y', 'cannot be used with'],
    ['restore', 'missing required argument'],
    ['restore /memories/a', 'missing required argument'],
    ['restore --from a --to b', '"export --from BACKUP FOLDER"'],
    ['restore --from', '"export --from BACKUP FOLDER"'],
    ['restore --from a', '"export --from BACKUP FOLDER"'],
    ['restore --to a', '"export --from BACKUP FOLDER"'],
    ['restore --from -Ab3_x --to -Cd4_y', '"export --from BACKUP FOLDER"'],
    ['restore /memories/a v1 --to b', '"export --from BACKUP FOLDER"'],
    ['restore /memories/a --from a --to b', '"export --from BACKUP FOLDER"'],
    ['restore --from a --to b --yes', '"export --from BACKUP FOLDER"'],
    ['export --from a', 'name the folder to write to'],
    ['export --from a -', 'nothing is exported to standard output'],
    ['export --from a /memories/b c', 'name the new folder alone'],
    ['export --from a b --force', 'name the new folder alone'],
    ['export --from a b --html', 'name the new folder alone'],
    ['export --from a b --age one', 'name the new folder alone'],
    ['expire --after x', 'Give a whole number'],
    ['expire --after 0', 'Give a whole number from 1 to 3650.'],
    ['expire --after 3651', 'Give a whole number from 1 to 3650.'],
    ['log --limit 0', 'Give a whole number from 1 to'],
    ['keys migrate --ttl 59', 'Give a whole number from 60 to 900.'],
    ['keys migrate --ttl 901', 'Give a whole number from 60 to 900.'],
    ['tenant shred --ttl 901', 'Give a whole number from 0 to 900.'],
    ['keys rotate --if-active -1', 'Give a whole number.'],
    ['expire --after -1', 'Give a whole number'],
    ['keys migrate --ttl 12345678901', 'Give a whole number'],
    ['tool view a --range 10', 'Give first,last'],
    ['tool view a --range 10,-2', 'Give first,last'],
    ['tool insert a x --text y', 'Give a line number'],
    ['tool str-replace a --new x', 'required option'],
    ['exec', 'required option'],
    ['open --port 65536', 'Give a whole number from 0 to 65535.'],
    ['open --port x', 'Give a whole number'],
    ['show /memories/a', 'missing required argument'],
    ['tenant history maybe', 'unknown command'],
    ['mcp --http 65536', 'Give a whole number from 0 to 65535.'],
    ['mcp --http x', 'Give a whole number'],
    ['export', 'name the folder to write to'],
    ['export --html', 'name the file to make'],
    ['export --age one', 'name the file to make'],
    ['stat', 'missing required argument'],
    ['show /memories/a -Ab3_x', 'unknown option'],
    ['mv a', 'missing required argument'],
  ])('refuses: %s', async (line, sentence) => {
    expect(await chosen(line)).toContain(sentence);
    expect(seen.call).toBeUndefined();
  });
});
