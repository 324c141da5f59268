import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import { blockWith, createNewcomer } from './newcomer.ts';

const block = (line: string): string => blockWith('docs/quick-start.md', line);

describe('docs/quick-start.md', { timeout: 300_000 }, () => {
  const newcomer = createNewcomer();
  afterAll(() => newcomer.leave());

  const type = async (line: string, settings: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { stdout, stderr, code } = await newcomer.type(block(line), settings);
    expect(code, stderr).toBe(0);
    return stdout;
  };

  it('does what it says, from the first command to the last', async () => {
    expect(await type('sealed-memory init')).toContain('keyring: this tenant has none yet');
    const shown = await type('grep tea');
    expect(shown).toContain('/memories/preferences.md:1:The customer prefers tea.');
    expect(shown).toContain("Here're the files and directories up to 2 levels deep in /memories");

    newcomer.save('turn.mjs', block('toolRunner'));
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
    const turn = await type('node --env-file=.env turn.mjs', { ANTHROPIC_BASE_URL: claude.url });
    expect(turn).toContain('Tea, with milk.');
    expect(turn).toContain('The customer prefers tea with milk.');

    const verified = await type('sealed-memory verify');
    expect(verified).toMatch(/1 file, \d+ bytes: all well/);
    expect(verified).toContain('none of it is in there');
  });

  it('leaves nothing readable in the store', () => {
    const files = readdirSync(join(newcomer.folder, '.sealed-memory')).filter((name) =>
      name.startsWith('store'),
    );
    expect(files).toContain('store.sqlite');
    for (const name of files) {
      const bytes = readFileSync(join(newcomer.folder, '.sealed-memory', name)).toString('latin1');
      expect(bytes).not.toMatch(/customer|preferences/);
    }
  });
});
