import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runExport } from '../../../src/cli/files/export.ts';
import { runPut } from '../../../src/cli/files/put.ts';
import { readExport } from '../../../src/cli/files/read-export.ts';
import type { Flags } from '../../../src/cli/run/invocation.ts';
import { runOpen } from '../../../src/cli/serve/open.ts';
import type { ResultOf } from '../../../src/page/protocol.ts';
import { openExportView } from '../../../src/page/server/export-view.ts';
import { invocationOf } from '../../stage/invocation.ts';

const HOSTILE = '</pre><script>alert(1)</script>&lt;b&gt;\u202Etxt.\u0007';
const { signal } = new AbortController();

let folder: string;
let flags: Flags;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-exports-'));
  const rootKeyFile = join(folder, 'root.key');
  writeFileSync(rootKeyFile, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  flags = { store: `sqlite:${join(folder, 'store.sqlite')}`, tenant: 'acme', rootKeyFile };
  await put('/memories/notes/plan.md', 'Kestrel');
  await put('/memories/"><script>alert(1)<', HOSTILE);
});
afterEach(() => rmSync(folder, { recursive: true }));

const put = (path: string, text: string) => runPut(path, { text }, invocationOf({ flags }).invocation);
const exportTo = (name: string, options: Parameters<typeof runExport>[1]) =>
  runExport({ path: '/memories', to: join(folder, name) }, options, invocationOf({ flags }).invocation);
const read = async (name: string, more: { readonly identity?: string; readonly maxBytes?: number } = {}) => {
  const { files, foreign } = await readExport(join(folder, name), { maxBytes: 1_000, signal, ...more });
  const texts = await Promise.all(
    files.map(async (file) => [file.path, Buffer.from(await file.read()).toString()] as const),
  );
  return { texts: Object.fromEntries(texts), foreign };
};
const TEXTS = { '/memories/notes/plan.md': 'Kestrel', '/memories/"><script>alert(1)<': HOSTILE };

describe('export --html', () => {
  it('writes one page for its owner, in which nothing of the memory is HTML, and replaces none unasked', async () => {
    const page = join(folder, 'review.html');
    expect(await exportTo('review.html', { html: true })).toBe(0);
    expect(statSync(page).mode & 0o777).toBe(0o600);
    const html = readFileSync(page, 'utf8');
    expect(html).toMatch(
      /<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="default-src 'none'; /,
    );
    expect(html).toContain('This is plain text.');
    expect(html).toContain('<pre>\n<bdi>Kestrel</bdi></pre>');
    expect(html).toContain(
      '<strong>2 characters here cannot be seen.</strong> Claude reads them all the same.</p>\n<pre>\n<bdi>&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;lt;b&amp;gt;<span class="unseen" title="U+202E, right-to-left override">RLO</span>txt.<span class="unseen" title="U+0007">BEL</span></bdi></pre>',
    );
    expect(html.split('cannot be seen')).toHaveLength(2);
    expect(html).not.toMatch(/<script|\son\w+=|src="(?!data:)|https?:/);
    writeFileSync(page, 'mine');
    await expect(exportTo('review.html', { html: true })).rejects.toMatchObject({ code: 'already_exists' });
    expect(readFileSync(page, 'utf8')).toBe('mine');
    expect(await exportTo('review.html', { html: true, force: true })).toBe(0);
    expect([readFileSync(page, 'utf8').length, statSync(page).mode & 0o777]).toEqual([html.length, 0o600]);
    const both = exportTo('other.html', { html: true, age: ['age1'] });
    await expect(both).rejects.toMatchObject({ code: 'misconfigured' });
  });
});

describe('open EXPORT', () => {
  it('reads a folder, and follows no link out of it', async () => {
    await exportTo('out', {});
    symlinkSync(join(folder, 'root.key'), join(folder, 'out/key.md'));
    mkdirSync(join(folder, 'out/empty'));
    expect(await read('out')).toEqual({ texts: TEXTS, foreign: 1 });
    await expect(read('out', { maxBytes: 3 })).rejects.toMatchObject({ code: 'limit_exceeded' });
  });

  it('reads an archive with the key of its recipient, and says what is wrong with one', async () => {
    const identity = await generateX25519Identity();
    const keys = join(folder, 'key.txt');
    writeFileSync(keys, `# made for a test\n${identity}\n`, { mode: 0o600 });
    await exportTo('memory.tar.age', { age: [await identityToRecipient(identity)] });
    expect(await read('memory.tar.age', { identity: keys })).toEqual({ texts: TEXTS, foreign: 0 });
    const misconfigured = { code: 'misconfigured', message: expect.stringContaining('--identity') };
    await expect(read('memory.tar.age')).rejects.toMatchObject(misconfigured);
    const other = join(folder, 'other.txt');
    writeFileSync(other, await generateX25519Identity(), { mode: 0o600 });
    await expect(read('memory.tar.age', { identity: other })).rejects.toMatchObject(misconfigured);
    truncateSync(join(folder, 'memory.tar.age'), statSync(join(folder, 'memory.tar.age')).size - 40);
    const broken = { code: 'invalid_command', message: expect.stringContaining('cut off') };
    await expect(read('memory.tar.age', { identity: keys })).rejects.toMatchObject(broken);
    writeFileSync(join(folder, 'noise'), Buffer.alloc(4_096, 'x'));
    await expect(read('noise')).rejects.toMatchObject(broken);
    await expect(read('nowhere')).rejects.toMatchObject({ code: 'invalid_command' });
  });

  it('asks neither a store nor a key, and has nothing that writes', async () => {
    await exportTo('out', {});
    const files = await readExport(join(folder, 'out'), { maxBytes: 1_000, signal });
    const { questions } = openExportView(files, { name: 'out', maxBytes: 1_000 });
    // "keepPlace" keeps the random names in the page's addresses, for as long as the program runs.
    expect(Object.keys(questions).sort()).toEqual([
      'directory',
      'facts',
      'file',
      'keepPlace',
      'place',
      'search',
      'watch',
    ]);
    const asking = { signal, send: async () => {} };
    expect(await questions['file']?.({ path: '/memories/notes/plan.md' }, asking)).toMatchObject({
      content: { text: 'Kestrel', reply: expect.stringContaining('Kestrel') },
      requests: {},
    } satisfies Partial<ResultOf<'file'>> | object);
    expect(await questions['search']?.({ text: 'kestrel' }, asking)).toMatchObject({ files: 2, lines: 1 });
    expect(await questions['directory']?.({ path: '/memories/notes' }, asking)).toMatchObject({
      reply: expect.stringContaining('plan.md'),
    });
    await expect(questions['file']?.({ path: '/memories/../root.key' }, asking)).rejects.toMatchObject({
      code: 'invalid_path',
    });
    await expect(questions['file']?.({ path: '/memories/none' }, asking)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('takes no --write for an export, and no --identity without one', async () => {
    await exportTo('out', {});
    const { invocation } = invocationOf({ flags });
    const options = { browser: false };
    await expect(runOpen(join(folder, 'out'), { ...options, write: true }, invocation)).rejects.toMatchObject(
      {
        code: 'misconfigured',
      },
    );
    await expect(runOpen(undefined, { ...options, identity: 'x' }, invocation)).rejects.toMatchObject({
      code: 'misconfigured',
    });
  });
});
