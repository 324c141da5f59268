import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import { blockWith, createNewcomer } from './newcomer.ts';

const README = readFileSync('README.md', 'utf8');
const linesWith = (...words: readonly string[]): string =>
  words
    .map((word) => README.split('\n').find((line) => line.startsWith('npx ') && line.includes(word)))
    .join('\n');

describe('README.md', { timeout: 300_000 }, () => {
  it('is short, and its program has ten lines', () => {
    expect(README.split('\n').length).toBeLessThanOrEqual(150);
    const program = blockWith('README.md', 'toolRunner');
    expect(program.split('\n').filter((line) => line !== '')).toHaveLength(10);
  });

  it('shows a program that runs on what init writes, and commands that do what stands beside them', async () => {
    const newcomer = createNewcomer();
    afterAll(() => newcomer.leave());
    expect((await newcomer.type(linesWith('init'))).stdout).toContain('Settings: .env');

    newcomer.save('turn.mjs', blockWith('README.md', 'toolRunner'));
    await using claude = await startScriptedClaude({ play: () => ({ say: 'On nothing yet.', calls: [] }) });
    const answered = await newcomer.type('node --env-file=.env turn.mjs', { ANTHROPIC_BASE_URL: claude.url });
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining('On nothing yet.') });

    mkdirSync(join(newcomer.folder, 'notes'));
    writeFileSync(join(newcomer.folder, 'notes/plan.md'), 'Kestrel is the launch in May.\n');
    const begun = await newcomer.type(linesWith('import', 'history on'));
    expect(begun.stdout).toMatch(/1 file written to \/memories\n.*history is on/);
    const written = README.split('\n').find((line) => line.startsWith('SEALED_MEMORY_ACTOR='));
    expect(await newcomer.type(written ?? '')).toMatchObject({ code: 0 });
    const undo = linesWith('undo');
    const shown = await newcomer.type(undo);
    expect(shown).toMatchObject({ code: 2, stdout: expect.stringMatching(/^delete +\/memories\/style\.md/) });
    expect((await newcomer.type(`${undo.replace(/ +#.*/, '')} --yes`)).stdout).toContain('1 change written');
  });
});
