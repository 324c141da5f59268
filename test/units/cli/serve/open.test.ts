import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli } from '../../../../infra/bundle-cli.ts';
import { MOST_PAGE_BYTES } from '../../../../infra/bundle-page.ts';
import { askRaw, linesIn, signIn } from '../../../stage/page-site.ts';
import { PROGRAM_ENV } from '../../../stage/programs.ts';
import { outputOf } from '../mcp-program.ts';

const SLOW = 60_000;

describe('sealed-memory open', { timeout: SLOW }, () => {
  let folder: string;
  const children = new Set<ChildProcessWithoutNullStreams>();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-open-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    await bundleCli(join(folder, 'cli'));
    expect(await outputOf(start(['init']))).toMatchObject({ code: 0 });
  }, SLOW);
  afterAll(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true });
  }, SLOW);

  function start(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = folder) {
    const child = spawn(process.execPath, [join(folder, 'cli/main.cjs'), ...args], {
      cwd,
      env: { ...PROGRAM_ENV, HOME: folder, ...env },
    });
    children.add(child);
    return child;
  }

  async function open(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = folder) {
    const child = start(['--json', 'open', ...args], env, cwd);
    const errors = child.stderr.setEncoding('utf8').toArray();
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const { address } = JSON.parse(line) as { readonly address: string };
    const { origin } = new URL(address);
    return { child, address, origin, errors };
  }

  it('prints an address that opens an empty memory, and ends with its terminal', async () => {
    const { child, address, origin, errors } = await open(['--no-browser']);
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}$/);
    const cookie = await signIn({ address, origin });
    const headers = { origin, cookie, 'content-type': 'application/json' };
    const ask = (name: string, body: object) =>
      askRaw(`${origin}/api/${name}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(linesIn(await ask('facts', {}))).toMatchObject([{ tenant: 'my-agent' }]);
    expect(linesIn(await ask('file', { path: '/memories/a.md' }))).toMatchObject([
      { error: { code: 'not_found' } },
    ]);
    expect(linesIn(await ask('keys', {}))).toMatchObject([{ status: { state: 'absent' } }]);
    child.kill('SIGHUP');
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(await errors).toEqual([]);
  });

  it('takes the port that it is given, and says so where it cannot be had', async () => {
    const { child, origin } = await open(['--no-browser', '--port', '0']);
    const { port } = new URL(origin);
    const { code, stderr } = await outputOf(start(['open', '--no-browser', '--port', port]));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^sealed-memory: .*EADDRINUSE.*--port.*\n$/)]);
    expect((await outputOf(start(['open', '--port', '70000']))).code).toBe(2);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
  });

  it('leads the browser to the address through a file for its owner alone', async () => {
    const program = join(folder, 'xdg-open');
    const seen = join(folder, 'seen');
    const line = `stat -c %a "\${1#file://}" "$(dirname "\${1#file://}")" > '${seen}.part'; cat "\${1#file://}" >> '${seen}.part'; mv '${seen}.part' '${seen}'`;
    writeFileSync(program, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    const { child, address, origin } = await open([], {
      PATH: `${folder}:${PROGRAM_ENV['PATH']}`,
      TMPDIR: folder,
    });
    await expect.poll(() => readIfThere(seen), { timeout: SLOW }).toContain(`url=${address}"`);
    expect(readFileSync(seen, 'utf8')).toMatch(/^600\n700\n/);
    await signIn({ address, origin });
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(readdirSync(folder).filter((name) => name.startsWith('sealed-memory-open-'))).toEqual([]);
  });

  it('says so where no browser can be opened', async () => {
    const { child, errors } = await open([], { PATH: '/nowhere' });
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect((await errors).join('')).toMatch(/^sealed-memory: no browser could be opened: [^\n]+\n$/);
  });

  it('does not open with another root key', async () => {
    expect(await outputOf(start(['put', '/memories/a.md', '--text', 'a']))).toMatchObject({ code: 0 });
    const other = Buffer.alloc(32, 7).toString('base64');
    const { code, stdout, stderr } = await outputOf(
      start(['open', '--no-browser'], { SEALED_MEMORY_ROOT_KEY: other }),
    );
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^sealed-memory: key_unavailable: [^\n]+\n$/);
  });

  it('shows an export, without a store and a root key', async () => {
    expect(await outputOf(start(['put', '/memories/kept.md', '--text', 'kept']))).toMatchObject({ code: 0 });
    const alone = join(folder, 'alone');
    mkdirSync(alone);
    expect(await outputOf(start(['export', join(alone, 'notes')]))).toMatchObject({ code: 0 });
    const { child, address, origin } = await open(['--no-browser', 'notes'], { HOME: alone }, alone);
    const headers = { origin, cookie: await signIn({ address, origin }), 'content-type': 'application/json' };
    const body = JSON.stringify({ path: '/memories/kept.md' });
    const file = await askRaw(`${origin}/api/file`, { method: 'POST', headers, body });
    expect(JSON.stringify(linesIn(file))).toContain('kept');
    child.kill('SIGTERM');
    await once(child, 'exit');
    const { code, stderr } = await outputOf(start(['open', '--no-browser', 'gone'], { HOME: alone }, alone));
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^sealed-memory: [^\n]*gone[^\n]*\n$/)]);
  });

  it('is a page of 250 KB', () => {
    const home = join(folder, 'cli/page');
    const names = readdirSync(home);
    expect(names).toEqual(
      expect.arrayContaining(['app.js', 'icon.svg', 'index.html', 'page.css', 'page.js']),
    );
    const bytes = names.map((name) => readFileSync(join(home, name)).length);
    expect(bytes.reduce((sum, each) => sum + each)).toBeLessThan(MOST_PAGE_BYTES);
  });
});

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
