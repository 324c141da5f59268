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
vi.mock('../../../../src/cli/files/edit.ts', noted);
vi.mock('../../../../src/cli/files/export.ts', noted);
vi.mock('../../../../src/cli/serve/mcp.ts', noted);
vi.mock('../../../../src/cli/serve/open.ts', noted);
vi.mock('../../../../src/cli/keys/export-backup.ts', noted);
vi.mock('../../../../src/cli/keys/keys.ts', noted);

const RUN = {} as Invocation;

/** Answers what the command line leads to, without the invocation that each verb gets; a refusal by its sentence. */
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

describe('a line that starts what no transcript plays', () => {
  it.each<readonly [string, readonly unknown[]]>([
    ['edit /memories/a', ['runEdit', '/memories/a']],
    [
      'export /memories/a out -f --age one --age two',
      ['runExport', { path: '/memories/a', to: 'out' }, { force: true, age: ['one', 'two'] }],
    ],
    ['open', ['runOpen', undefined, { browser: true }]],
    ['open --port 0 --no-browser', ['runOpen', undefined, { port: 0, browser: false }]],
    ['open --port 65535', ['runOpen', undefined, { port: 65_535, browser: true }]],
    ['export --from -Ab3_x -- -Cd4_y', ['runExportBackup', { from: '-Ab3_x', to: '-Cd4_y' }]],
    [
      'export out --age show --age -Ab3_x',
      ['runExport', { path: '/memories', to: 'out' }, { age: ['show', '-Ab3_x'] }],
    ],
    ['keys migrate --reencrypt --wait --ttl 60', ['runMigrate', { reencrypt: true, wait: true, ttl: 60 }]],
    ['mcp', ['runMcp', {}]],
    ['mcp --http', ['runMcp', { http: 7_391 }]],
    ['mcp --http 0 --six-tools', ['runMcp', { http: 0, sixTools: true }]],
    ['mcp --http 65535 --token-file t', ['runMcp', { http: 65_535, tokenFile: 't' }]],
  ])('%s', async (line, call) => {
    expect(await chosen(line)).toEqual(call);
  });
});
