import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScriptedClaude } from '../doubles/scripted-claude/server.ts';
import { putNpx } from '../support/put-npx.ts';
import { blocksOf } from './pages.ts';

/** The block of the page that holds this line. */
function block(line: string): string {
  const found = blocksOf('docs/quick-start.md', 'sh', 'ts').find(({ text }) => text.includes(line));
  if (found === undefined) throw new Error(`the page has no block with ${line}`);
  return found.text;
}

describe('docs/quick-start.md', { timeout: 120_000 }, () => {
  let folder: string;
  let environment: Record<string, string>;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-quick-start-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    putNpx(folder);
    const path = `${folder}:${resolve('node_modules/node/bin')}:${process.env['PATH']}`;
    environment = { PATH: path, HOME: tmpdir(), ANTHROPIC_API_KEY: 'none' };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const type = async (line: string): Promise<string> => {
    const { stdout } = await promisify(execFile)('sh', ['-e', '-c', block(line)], {
      cwd: folder,
      env: environment,
    });
    return stdout;
  };

  it('does what it says, from the first command to the last', async () => {
    expect(await type('sealed-memory init')).toContain('keyring: this tenant has none yet');
    const shown = await type('grep tea');
    expect(shown).toContain('/memories/preferences.md:1:The customer prefers tea.');
    expect(shown).toContain("Here're the files and directories up to 2 levels deep in /memories");

    const library = resolve('src/index.ts');
    writeFileSync(join(folder, 'turn.mjs'), block('toolRunner').replace("'sealed-memory'", `'${library}'`));
    let asked = 0;
    await using claude = await startScriptedClaude({
      play: () =>
        ++asked === 1
          ? {
              say: 'I note that.',
              calls: [
                {
                  name: 'memory',
                  input: {
                    command: 'str_replace',
                    path: '/memories/preferences.md',
                    old_str: 'tea',
                    new_str: 'tea with milk',
                  },
                },
              ],
            }
          : { say: 'Tea, with milk.', calls: [] },
    });
    environment = { ...environment, ANTHROPIC_BASE_URL: claude.url };
    const turn = await type('node --env-file=.env turn.mjs');
    expect(turn).toContain('Tea, with milk.');
    expect(turn).toContain('The customer prefers tea with milk.');

    const verified = await type('sealed-memory verify');
    expect(verified).toMatch(/1 file, \d+ bytes: all well/);
    expect(verified).toContain('none of it is in there');
  });

  it('leaves nothing readable in the store', () => {
    const files = readdirSync(join(folder, '.sealed-memory')).filter((name) => name.startsWith('store'));
    expect(files).toContain('store.sqlite');
    for (const name of files) {
      const bytes = readFileSync(join(folder, '.sealed-memory', name)).toString('latin1');
      expect(bytes).not.toMatch(/customer|preferences/);
    }
  });
});
