import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli } from '../../infra/bundle-cli.ts';
import manifest from '../../package.json' with { type: 'json' };
import { createProgram } from '../../src/cli/program/program.ts';
import { PROGRAM_ENV } from '../stage/programs.ts';
import { blocksOf } from './pages.ts';

interface Started {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Reached {
  readonly type: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** npx takes seconds to start, and many of them on a busy machine. */
const SLOW = 180_000;
const servers = blocksOf('docs/mcp.md', 'json').flatMap(({ line, text }) => {
  const config = JSON.parse(text) as { readonly mcpServers: Readonly<Record<string, Started | Reached>> };
  return Object.values(config.mcpServers).map((server) => ({ line, server }));
});
const started = servers.flatMap(({ line, server }) => ('command' in server ? [{ line, server }] : []));

let folder: string;
let env: Readonly<Record<string, string>>;

/** A project with the packages that the configurations name, so that npx fetches nothing. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-hosts-'));
  const modules = join(folder, 'node_modules');
  // Few, because npx looks at each; what they depend on is found where they lie.
  for (const name of [...Object.keys(manifest.dependencies), '@modelcontextprotocol/server']) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(resolve('node_modules', name), join(modules, name));
  }
  const installed = join(modules, 'sealed-memory');
  mkdirSync(installed);
  cpSync('package.json', join(installed, 'package.json'));
  await bundleCli(join(installed, 'dist/cli'));
  mkdirSync(join(modules, '.bin'));
  mkdirSync(join(folder, 'elsewhere'));
  symlinkSync('../sealed-memory/dist/cli/main.cjs', join(modules, '.bin/sealed-memory'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  env = {
    ...PROGRAM_ENV,
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: folder,
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    npm_config_cache: join(folder, 'cache'),
  };
  execFileSync(process.execPath, [join(installed, 'dist/cli/main.cjs'), 'init'], { cwd: folder, env });
}, SLOW);
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }), SLOW);

describe('the configurations of docs/mcp.md', () => {
  it('are those of three hosts and of HTTP', () => {
    expect(servers).toHaveLength(4);
    expect(started).toHaveLength(3);
  });

  it.each(started)('start a server with the memory: line $line', { timeout: SLOW }, async ({ server }) => {
    const inPlace = (text: string): string => text.replace('/home/me', folder);
    const given = Object.entries(server.env ?? {}).map(([name, value]) => [name, inPlace(value)] as const);
    // If the page names no configuration, the host starts the server in the project.
    const cwd = given.length > 0 ? join(folder, 'elsewhere') : folder;
    const transport = new StdioClientTransport({
      command: inPlace(server.command),
      args: [...server.args],
      env: { ...env, HOME: cwd, ...Object.fromEntries(given) },
      cwd,
      stderr: 'inherit',
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport, { timeout: SLOW });
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(server.args.includes('--six-tools') ? 6 : 1);
    expect((await client.listResources()).resources).toEqual([]);
    await client.close();
  });

  it('lead over HTTP to where the program serves', () => {
    const [reached] = servers.flatMap(({ server }) => ('url' in server ? [server] : []));
    const mcp = createProgram(() => {}).commands.find((command) => command.name() === 'mcp');
    const http = mcp?.options.find(({ long }) => long === '--http');
    expect(reached).toMatchObject({
      type: 'http',
      url: `http://127.0.0.1:${http?.presetArg}/mcp`,
      headers: { Authorization: expect.stringMatching(/^Bearer \S+$/) },
    });
  });
});
