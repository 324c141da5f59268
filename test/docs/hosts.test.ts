import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands, playClaude, startScriptedResponses } from '../stage/scripted-claude.ts';
import { installHostPackages } from '../units/hosts/install.ts';
import { withSources } from './newcomer.ts';
import { blocksOf } from './pages.ts';

/** The snippet that imports this entry point, with the sources in the place of the package. */
function snippetOf(subpath: string): string {
  const found = blocksOf('docs/hosts.md', 'ts').find(({ text }) =>
    text.includes(`'sealed-memory/${subpath}'`),
  );
  if (found === undefined) throw new Error(`the page has no snippet with ${subpath}`);
  return withSources(found.text);
}

describe('docs/hosts.md', { timeout: 60_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    await installHostPackages();
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-hosts-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  const run = async (
    subpath: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const program = join(folder, `${subpath}.mts`);
    writeFileSync(program, snippetOf(subpath));
    const memory = {
      SEALED_MEMORY_STORE: 'memory:',
      SEALED_MEMORY_TENANT: 'acme',
      SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 7).toString('base64'),
    };
    const env = { PATH: process.env['PATH'], HOME: folder, ...memory, ...environment };
    const { stdout } = await promisify(execFile)(process.execPath, [program], { cwd: folder, env });
    return stdout;
  };

  it.each(['ai-sdk', 'langchain'])('has a snippet for %s that runs', async (subpath) => {
    await using claude = await playClaude([
      commands({ command: 'view', path: '/memories' }),
      { say: 'Nothing yet.' },
    ]);
    const url = subpath === 'ai-sdk' ? `${claude.url}/v1` : claude.url;
    const printed = await run(subpath, { ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: url });
    expect(printed).toBe('Nothing yet.\n');
    expect(JSON.stringify(claude.sent[1]?.body.messages)).toContain("Here're the files and directories");
  });

  it('has a snippet for mastra and one for unstorage that run', async () => {
    expect(await run('mastra', { MASTRA_TELEMETRY_DISABLED: '1' })).toBe('The launch is on Friday.\n\n');
    expect(await run('unstorage')).toBe("{ dark: true } [ 'settings:theme' ]\n");
  });

  it('has a snippet for openai-agents that runs', async () => {
    await using openai = await startScriptedResponses([
      [{ name: 'memory_view', arguments: { path: '/memories', view_range: null } }],
      [{ say: 'Nothing yet.' }],
    ]);
    const printed = await run('openai-agents', {
      OPENAI_API_KEY: 'none',
      OPENAI_BASE_URL: openai.url,
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    });
    expect(printed).toBe('Nothing yet.\n');
    expect(JSON.stringify(openai.sent[1]?.['input'])).toContain("Here're the files and directories");
  });
});
