import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RequestContext } from '@mastra/core/request-context';
import {
  createWorkspaceTools,
  DirectoryNotEmptyError,
  DirectoryNotFoundError,
  FileExistsError,
  FileNotFoundError,
  FilesystemError,
  IsDirectoryError,
  LocalFilesystem,
  NotDirectoryError,
  PermissionError,
  StaleFileError,
  Workspace,
  type WorkspaceFilesystem,
  WorkspaceReadOnlyError,
} from '@mastra/core/workspace';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { memoryFilesystem } from '../../../src/hosts/mastra.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { sensitiveInformation } from '../../../src/policy/index.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

let folder: string;
let memory: Memory;
const opened: Memory[] = [];

async function open(options: Partial<MemoryOptions> = {}): Promise<Memory> {
  const each = await openMemory({
    store: 'memory:',
    tenant: 'acme',
    rootKey: new Uint8Array(32).fill(7),
    ...options,
  });
  opened.push(each);
  return each;
}

beforeEach(async () => {
  // Mastra would tell its makers which features are used.
  process.env['MASTRA_TELEMETRY_DISABLED'] = '1';
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-mastra-'));
  memory = await open();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  rmSync(folder, { recursive: true });
});

const names = (entries: readonly { readonly name: string; readonly type: string }[]) =>
  entries.map(({ name, type }) => (type === 'directory' ? `${name}/` : name)).sort();

/** The memory does what Mastra's own filesystem does in a folder. */
describe.each([
  ['LocalFilesystem of Mastra', () => new LocalFilesystem({ basePath: folder })],
  ['a memory', () => memoryFilesystem(memory)],
])('%s', (_, start: () => WorkspaceFilesystem) => {
  let files: WorkspaceFilesystem;
  beforeEach(async () => {
    files = start();
    await files.init?.();
  });

  it('reads what was written, as text, as bytes and encoded', async () => {
    await files.writeFile('notes/a.md', 'Grüße\n');
    expect(await files.readFile('notes/a.md', { encoding: 'utf-8' })).toBe('Grüße\n');
    expect(await files.readFile('notes/a.md')).toEqual(Buffer.from('Grüße\n'));
    expect(await files.readFile('./notes//a.md', { encoding: 'base64' })).toBe('R3LDvMOfZQo=');
    await files.writeFile('bytes', Uint8Array.of(0, 255));
    expect(await files.readFile('bytes', { encoding: 'hex' })).toBe('00ff');
    await files.writeFile('empty', '');
    expect(await files.readFile('empty', { encoding: 'utf8' })).toBe('');
    expect(await files.readFile('empty')).toHaveLength(0);
  });

  it('says what is missing, a directory, or there already', async () => {
    await files.writeFile('d/a', 'x');
    await expect(files.readFile('none')).rejects.toThrow(FileNotFoundError);
    await expect(files.readFile('d')).rejects.toThrow(IsDirectoryError);
    await expect(files.readFile('.')).rejects.toThrow(IsDirectoryError);
    await expect(files.stat('none')).rejects.toThrow(FileNotFoundError);
    await expect(files.writeFile('d/a', 'y', { overwrite: false })).rejects.toThrow(FileExistsError);
    await expect(files.writeFile('none/b', 'y', { recursive: false })).rejects.toThrow(
      DirectoryNotFoundError,
    );
    await files.writeFile('d/b', 'y', { recursive: false, overwrite: false });
    expect(await files.readFile('d/a', { encoding: 'utf8' })).toBe('x');
  });

  it('appends, also to what is not there yet', async () => {
    await files.appendFile('log', 'one\n');
    await files.appendFile('log', Buffer.from('two\n'));
    expect(await files.readFile('log', { encoding: 'utf8' })).toBe('one\ntwo\n');
  });

  it('deletes files, and directories with rmdir alone', async () => {
    await files.writeFile('d/a', 'x');
    await files.writeFile('d/e/b', 'x');
    await expect(files.deleteFile('d')).rejects.toThrow(IsDirectoryError);
    await expect(files.deleteFile('d', { force: true })).rejects.toThrow(IsDirectoryError);
    await expect(files.deleteFile('none')).rejects.toThrow(FileNotFoundError);
    await files.deleteFile('none', { force: true });
    await expect(files.rmdir('d')).rejects.toThrow(DirectoryNotEmptyError);
    await expect(files.rmdir('d/a', { recursive: true })).rejects.toThrow(NotDirectoryError);
    await expect(files.rmdir('none')).rejects.toThrow(DirectoryNotFoundError);
    await files.rmdir('none', { force: true });
    await files.deleteFile('d/a');
    expect(await files.exists('d/a')).toBe(false);
    await files.rmdir('d', { recursive: true });
    expect(await files.exists('d')).toBe(false);
  });

  it('copies and moves, over what is there unless told not to', async () => {
    await files.writeFile('a', 'a');
    await files.writeFile('b', 'b');
    await files.writeFile('d/e/c', 'c');
    await expect(files.copyFile('a', 'b', { overwrite: false })).rejects.toThrow(FileExistsError);
    await expect(files.moveFile('a', 'b', { overwrite: false })).rejects.toThrow(FileExistsError);
    await expect(files.copyFile('none', 'x')).rejects.toThrow(FileNotFoundError);
    await expect(files.moveFile('none', 'b')).rejects.toThrow(FileNotFoundError);
    await expect(files.copyFile('d', 'f')).rejects.toThrow(IsDirectoryError);
    expect(await files.readFile('b', { encoding: 'utf8' })).toBe('b');
    await files.copyFile('a', 'b');
    await files.moveFile('b', 'new/b');
    await files.moveFile('a', 'a');
    await files.moveFile('a', 'new/b');
    await files.copyFile('d', 'f', { recursive: true });
    await files.moveFile('d', 'g');
    expect(names(await files.readdir('.', { recursive: true }))).toEqual(
      ['f/', 'f/e/', 'f/e/c', 'g/', 'g/e/', 'g/e/c', 'new/', 'new/b'].sort(),
    );
    expect(await files.readFile('new/b', { encoding: 'utf8' })).toBe('a');
  });

  it('lists a directory, its depths, and files of an extension', async () => {
    for (const path of ['a.ts', 'b.md', 'd/c.ts', 'd/e/f.md', '.hidden']) await files.writeFile(path, 'xyz');
    expect(names(await files.readdir('.'))).toEqual(['.hidden', 'a.ts', 'b.md', 'd/']);
    expect(names(await files.readdir('d'))).toEqual(['c.ts', 'e/']);
    expect(names(await files.readdir('', { extension: '.ts' }))).toEqual(['a.ts', 'd/']);
    const some = await files.readdir('.', { recursive: true, extension: ['md'], maxDepth: 1 });
    expect(names(some)).toEqual(['b.md', 'd/', 'd/e/']);
    expect((await files.readdir('d')).find(({ name }) => name === 'c.ts')).toMatchObject({
      type: 'file',
      size: 3,
    });
    await expect(files.readdir('none')).rejects.toThrow(DirectoryNotFoundError);
    await expect(files.readdir('a.ts')).rejects.toThrow(NotDirectoryError);
  });

  it('refuses a write to what has changed since it was looked at', async () => {
    await files.writeFile('a', 'one');
    const { modifiedAt: expectedMtime } = await files.stat('a');
    const other = new Date(expectedMtime.getTime() - 5000);
    await expect(files.writeFile('a', 'x', { expectedMtime: other })).rejects.toThrow(StaleFileError);
    await files.writeFile('a', 'two', { expectedMtime });
    await files.writeFile('new', 'x', { expectedMtime });
    expect(await files.readFile('a', { encoding: 'utf8' })).toBe('two');
  });

  it('tells size, type and dates', async () => {
    await files.writeFile('d/a.md', 'four');
    const stat = await files.stat('d/a.md');
    expect(stat).toMatchObject({ name: 'a.md', type: 'file', size: 4 });
    expect(Math.abs(stat.modifiedAt.getTime() - Date.now())).toBeLessThan(600_000);
    expect(await files.stat('d')).toMatchObject({ name: 'd', type: 'directory' });
    expect(await files.stat('.')).toMatchObject({ type: 'directory' });
    expect([await files.exists('d'), await files.exists('.'), await files.exists('x')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('makes a directory where none is, and never over a file', async () => {
    await files.writeFile('a', 'x');
    await files.mkdir('d');
    await files.mkdir('d/e', { recursive: true });
    await expect(files.mkdir('a')).rejects.toThrow(FileExistsError);
  });

  it.each(['../outside', 'a/../../outside'])('does not leave its root for %s', async (path) => {
    await expect(files.readFile(path)).rejects.toThrow(PermissionError);
    await expect(files.writeFile(path, 'x')).rejects.toThrow(PermissionError);
  });

  it('works in a workspace: its tools read, write, edit, list, search and delete', async () => {
    const workspace = new Workspace({ filesystem: files });
    await workspace.init();
    const tools = await createWorkspaceTools(workspace);
    const use = (tool: string, input: object): Promise<unknown> => {
      const { execute } = tools[`mastra_workspace_${tool}`] ?? {};
      return execute?.(input, { workspace, requestContext: new RequestContext() });
    };
    expect(
      await use('write_file', { path: 'plan.md', content: 'first\nsecond\n', overwrite: true }),
    ).toContain('13 bytes');
    expect(await use('read_file', { path: 'plan.md', offset: 2, limit: 1 })).toContain('second');
    await use('edit_file', { path: 'plan.md', old_string: 'second', new_string: 'third' });
    expect(await files.readFile('plan.md', { encoding: 'utf8' })).toBe('first\nthird\n');
    expect(await use('list_files', { path: '.' })).toContain('plan.md');
    expect(await use('grep', { pattern: 'th.rd', path: '.' })).toContain('plan.md:2');
    expect(await use('file_stat', { path: 'plan.md' })).toContain('12 bytes');
    await files.writeFile('picture.png', PNG);
    expect(await use('read_file', { path: 'picture.png' })).toMatchObject({
      mediaType: 'image/png',
      data: Buffer.from(PNG).toString('base64'),
    });
    await use('delete', { path: 'plan.md' });
    expect(await use('file_stat', { path: 'plan.md' })).toBe('plan.md: not found');
    await workspace.destroy();
  });
});

describe('a memory as a filesystem of Mastra', () => {
  it('takes absolute paths, of a directory of its own if told so', async () => {
    const files = memoryFilesystem(memory, { directory: '/memories/project', id: 'notes' });
    expect(await files.readdir('/')).toEqual([]);
    await files.writeFile('/a/b.md', 'x');
    expect((await memory.files.read('/memories/project/a/b.md'))?.text()).toBe('x');
    expect(await files.stat('/a/b.md')).toMatchObject({ path: '/a/b.md' });
    expect(await files.getInfo?.()).toMatchObject({ id: 'notes', status: 'ready', readOnly: false });
    await memory.files.write('/memories/outside.md', 'x');
    await expect(files.readFile('/../outside.md')).rejects.toThrow(PermissionError);
    expect(await files.exists('/outside.md')).toBe(false);
    expect(() => memoryFilesystem(memory, { directory: '/elsewhere' })).toThrow('path');
  });

  it('walks all below a directory at once', async () => {
    const files = memoryFilesystem(memory);
    for (const path of ['a', 'd/b', 'd/e/c', '.h/x', 'd/.y']) await files.writeFile(path, 'xy');
    const paths = async (options?: object) =>
      (await files.walk?.('.', options))?.map(({ path }) => path).sort();
    expect(await paths()).toEqual(['a', 'd', 'd/b', 'd/e', 'd/e/c']);
    expect(await paths({ maxDepth: 1, includeHidden: true })).toEqual(['.h', 'a', 'd']);
    expect(await files.walk?.('d/e')).toEqual([{ path: 'c', name: 'c', type: 'file', size: 2 }]);
    await expect(files.walk?.('none')).rejects.toThrow(DirectoryNotFoundError);
    await expect(files.walk?.('a')).rejects.toThrow(NotDirectoryError);
  });

  it('sees a change within the same second, and a writer between the look and the write', async () => {
    const files = memoryFilesystem(memory);
    await files.writeFile('a', 'one');
    const { modifiedAt: expectedMtime } = await files.stat('a');
    const found = await memory.files.stat('/memories/a');
    if (found?.type !== 'file') throw new Error('the file is not there');
    const rewritten = {
      ...found,
      version: `${found.version.slice(0, -1)}${found.version.endsWith('0') ? 1 : 0}`,
    };
    const changed = memoryFilesystem({ files: { ...memory.files, stat: async () => rewritten } });
    const { modifiedAt } = await changed.stat('a');
    expect(modifiedAt).not.toEqual(expectedMtime);
    expect(Math.abs(modifiedAt.getTime() - expectedMtime.getTime())).toBeLessThan(1_000);
    await expect(changed.writeFile('a', 'lost', { expectedMtime })).rejects.toThrow(StaleFileError);
    const { modifiedAt: newest } = await files.stat('a');
    const { stat } = memory.files;
    const between: Memory['files'] = {
      ...memory.files,
      async stat(path, options) {
        const found = await stat(path, options);
        await memory.files.write(path, 'three');
        return found;
      },
    };
    const slow = memoryFilesystem({ files: between });
    await expect(slow.writeFile('a', 'lost', { expectedMtime: newest })).rejects.toThrow(StaleFileError);
    expect(await files.readFile('a', { encoding: 'utf8' })).toBe('three');
  });

  it('gives no text that is none, and calls an image only what is one', async () => {
    const files = memoryFilesystem(memory);
    await files.writeFile('bytes.txt', Uint8Array.of(0xff, 0xfe));
    await expect(files.readFile('bytes.txt', { encoding: 'utf8' })).rejects.toThrow(/is binary \(2 bytes\)/);
    await files.writeFile('fake.png', 'no image');
    await files.writeFile('real.PNG', PNG);
    expect(await files.stat('fake.png')).not.toHaveProperty('mimeType');
    expect(await files.stat('real.PNG')).toHaveProperty('mimeType', 'image/png');
    expect(['a', 'a.md', 'a.JPG'].map((name) => files.isTextFile?.(name))).toEqual([true, true, false]);
  });

  it('says below which file nothing can lie', async () => {
    const files = memoryFilesystem(memory);
    await files.writeFile('a', 'x');
    await expect(files.writeFile('a/b', 'x')).rejects.toThrow(NotDirectoryError);
    await expect(files.writeFile('a/b', 'x', { recursive: false })).rejects.toThrow(NotDirectoryError);
    await files.writeFile('d/b', 'x');
    await expect(files.writeFile('d', 'x')).rejects.toThrow(IsDirectoryError);
    await expect(files.copyFile('a', 'd')).rejects.toThrow(IsDirectoryError);
    await expect(files.moveFile('a', 'd')).rejects.toThrow(FileExistsError);
    await expect(files.rmdir('/', { recursive: true })).rejects.toThrow(FilesystemError);
    expect(await files.readFile('a', { encoding: 'utf8' })).toBe('x');
  });

  it('writes nothing where it must not, and says why', async () => {
    const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
    const guarded = memoryFilesystem(
      await open({ policy: sensitiveInformation(), limits: { fileBytes: 100 } }),
    );
    const refusal = await guarded.writeFile('a', secret).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(FilesystemError);
    expect(refusal).toMatchObject({ code: 'POLICY_REFUSED', path: 'a', cause: { code: 'policy_refused' } });
    expect(String(refusal)).toMatch(/Nothing was written: a would hold information \(.+\) in line 1/);
    expect(String(refusal)).not.toContain(secret);
    await expect(guarded.writeFile('a', 'x'.repeat(101))).rejects.toThrow(/at most 100 bytes/);
    const readOnly = memoryFilesystem(await open({ readOnly: true }));
    await expect(readOnly.writeFile('a', 'x')).rejects.toThrow(PermissionError);
  });

  it('moves over no file where the move is refused', async () => {
    const mounts = [{ at: '/memories/handbook', tenant: 'org' }];
    const guarded = await open({ mounts, policy: 'email' });
    const files = memoryFilesystem(guarded);
    await files.writeFile('a', 'a');
    await files.writeFile('handbook/a', 'theirs');
    await expect(files.moveFile('a', 'handbook/a')).rejects.toThrow(/different memories/);
    expect(await files.readFile('handbook/a', { encoding: 'utf8' })).toBe('theirs');
    await files.writeFile('b', 'b');
    await files.moveFile('a', 'b');
    expect(names(await files.readdir('.'))).toEqual(['b', 'handbook/']);
    expect(await files.readFile('b', { encoding: 'utf8' })).toBe('a');
  });

  it('blocks every write where it is to be read only', async () => {
    await memory.files.write('/memories/a', 'x');
    const files = memoryFilesystem(memory, { readOnly: true });
    const writes = [
      files.writeFile('b', 'x'),
      files.appendFile('a', 'x'),
      files.deleteFile('a'),
      files.copyFile('a', 'b'),
      files.moveFile('a', 'b'),
      files.mkdir('d'),
      files.rmdir('d', { force: true }),
    ];
    for (const write of writes) await expect(write).rejects.toThrow(WorkspaceReadOnlyError);
    expect(names(await files.readdir('.'))).toEqual(['a']);
    expect(await files.readFile('a', { encoding: 'utf8' })).toBe('x');
    expect(Object.keys(await createWorkspaceTools(new Workspace({ filesystem: files })))).not.toContain(
      'mastra_workspace_write_file',
    );
  });

  it('tells nothing of a failure that is for the operator, and keeps it as the cause', async () => {
    await memory.close();
    const closed = await memoryFilesystem(memory)
      .readFile('a')
      .catch((error: unknown) => error);
    expect(closed).toMatchObject({ code: 'ABORTED', cause: { code: 'aborted' } });
    const failing = {
      ...memory.files,
      read: () => Promise.reject(new MemoryError('unavailable', 'bucket-of-acme')),
    };
    const failure = await memoryFilesystem({ files: failing })
      .readFile('a')
      .catch((error: unknown) => error);
    expect(String(failure)).toBe('FilesystemError: The memory is temporarily unavailable, try again');
    expect(failure).toMatchObject({ cause: { message: 'bucket-of-acme' } });
  });

  it('stays open when the workspace is destroyed', async () => {
    const workspace = new Workspace({ filesystem: memoryFilesystem(memory) });
    await workspace.init();
    await workspace.destroy();
    expect(await memory.execute({ command: 'view', path: '/memories' })).toMatchObject({ isError: false });
  });
});
