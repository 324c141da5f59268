import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, runCli } from '../../../stage/cli.ts';
import { CLI_PROGRAM } from '../../../stage/programs.ts';

/** Pipes stand for a person's keyboard and screen. */
const atATerminal = (...streams: readonly string[]): readonly string[] => {
  const code = `for (const each of [${streams.map((name) => `process.${name}`)}]) Object.defineProperty(each, 'isTTY', { value: true });`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
};

describe('sealed-memory edit', { timeout: 60_000 }, () => {
  let folder: string;
  let env: Readonly<Record<string, string>>;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-edit-test-'));
    env = {
      ...CLI_MEMORY_ENV,
      SEALED_MEMORY_STORE: `sqlite:${join(folder, 'store.sqlite')}`,
      TMPDIR: folder,
    };
    await runCli(['put', '/memories/a.md', '--text', 'one\n'], { env });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** The command with an editor that is this shell script. */
  function edit(script: string, path = '/memories/a.md', nodeArgs = atATerminal('stdin', 'stdout')) {
    const editor = join(folder, 'editor');
    writeFileSync(editor, `#!/bin/sh\n${script}\n`);
    chmodSync(editor, 0o700);
    return runCli(['edit', path], {
      env: { ...env, EDITOR: `${editor} --wait` },
      detached: true,
      nodeArgs,
    });
  }
  const text = async (path = '/memories/a.md') => (await runCli(['cat', path], { env })).stdout;
  const left = (): readonly string[] =>
    readdirSync(folder).filter((name) => name.startsWith('sealed-memory-edit-'));

  it.each(['stdin', 'stdout'])('opens no editor where %s alone is at a terminal', async (stream) => {
    const refused = await edit('echo two >> "$2"', '/memories/a.md', atATerminal(stream));
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('"edit" needs a terminal') });
    expect(await text()).toBe('one\n');
  });

  it('leaves Ctrl-C to the editor, however often', async () => {
    const ctrlC = 'kill -INT 0';
    expect(await edit(`trap 'echo caught >> "$2"' INT; ${ctrlC}; ${ctrlC}; ${ctrlC}`)).toMatchObject({
      code: 0,
      stdout: '/memories/a.md was written\n',
      stderr: '',
    });
    expect(await text()).toBe('one\ncaught\ncaught\ncaught\n');
    expect(left()).toEqual([]);
  });

  it('leaves no copy when the terminal is closed', async () => {
    expect(await edit('echo two >> "$2"; kill -HUP 0')).toMatchObject({
      code: 130,
      signal: null,
      stdout: '',
    });
    expect(await text()).toBe('one\n');
    expect(left()).toEqual([]);
  });

  it('keeps the text when another writer changed the file in the meantime, and says where', async () => {
    const other = `"${process.execPath}" "${CLI_PROGRAM}"`;
    const { code, stderr } = await edit(`echo mine >> "$2"; ${other} put /memories/a.md --text theirs`);
    expect(code).toBe(1);
    expect(await text()).toBe('theirs');
    const kept = /your text is kept in (\S+)\.\n$/.exec(stderr)?.[1] ?? '';
    expect(readFileSync(kept, 'utf8')).toBe('one\nmine\n');
  });
});
