import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FileEntry, type Files, type Memory, type MemoryOptions, openMemory } from '../../src/index.ts';
import { openTenant } from '../../src/open/open-memory.ts';

export interface FilesSite {
  /** The options of a memory over the store that the suite is about. */
  readonly options: Omit<MemoryOptions, 'tenant' | 'rootKey'>;
  /** True where other processes, here memories of their own, see the same store. */
  readonly shared: boolean;
  /** Files of a large directory: more than a page of a listing. */
  readonly many: number;
}

async function collect(entries: AsyncIterable<FileEntry>): Promise<FileEntry[]> {
  const found: FileEntry[] = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

const LIMIT = 100_000;
const rootKey = randomBytes(32);

/** Describes what an application may expect of `memory.files`, whatever store lies behind it. */
export function describeFiles(name: string, start: () => Promise<FilesSite>): void {
  describe(`the files of a memory on ${name}`, { timeout: 120_000 }, () => {
    let site: FilesSite;
    let memory: Memory;
    let files: Files;
    let tenant: string;
    const opened: Memory[] = [];

    beforeAll(async () => {
      site = await start();
    });
    afterAll(() => Promise.all(opened.map((each) => each.close())));

    const open = async (more: Partial<MemoryOptions> = {}): Promise<Memory> => {
      const another = await openMemory({
        ...site.options,
        tenant,
        rootKey,
        limits: { fileBytes: LIMIT },
        ...more,
      });
      opened.push(another);
      return another;
    };
    beforeEach(async () => {
      tenant = `t-${randomBytes(4).toString('hex')}`;
      memory = await open();
      files = memory.files;
    });

    const text = async (path: string, from = files): Promise<string | undefined> =>
      (await from.read(path))?.text();
    const list = async (path?: string, options?: Parameters<Files['list']>[1]): Promise<FileEntry[]> =>
      collect(files.list(path, options));
    const paths = async (path?: string, options?: Parameters<Files['list']>[1]): Promise<string[]> =>
      (await list(path, options)).map((entry) => `${entry.path}${entry.type === 'file' ? '' : '/'}`).sort();

    it('gives back what was written, texts and bytes, without numbers and pages', async () => {
      const long = `${'a line\r\n'.repeat(5_000)}\u{1f35e}`;
      await files.write('/memories/long', long);
      expect(await text('/memories/long')).toBe(long);
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      const { size, version } = await files.write('/memories/b/in', bytes);
      const found = await files.read('/memories/b/in');
      expect(found).toMatchObject({ path: '/memories/b/in', size: 256, version });
      expect(size).toBe(256);
      expect(found?.bytes).toEqual(bytes);
      expect(() => found?.text()).toThrow(expect.objectContaining({ code: 'not_text' }));
      await files.write('/memories/empty', '');
      expect(await text('/memories/empty')).toBe('');
    });

    it('finds nothing of a tenant that has written nothing', async () => {
      expect(await files.read('/memories/a')).toBeUndefined();
      expect(await files.stat('/memories/a')).toBeUndefined();
      expect(await files.stat('/memories')).toEqual({ type: 'directory', path: '/memories' });
      expect(await list()).toEqual([]);
      await expect(files.remove('/memories/a')).rejects.toMatchObject({ code: 'not_found' });
    });

    it('keeps what the caller gave, though it changes its bytes before they are written', async () => {
      const bytes = new Uint8Array(8).fill(1);
      const writing = files.write('/memories/a', bytes);
      const appending = files.append('/memories/a', bytes);
      bytes.fill(2);
      await Promise.all([writing, appending]);
      expect((await files.read('/memories/a'))?.bytes).toEqual(new Uint8Array(16).fill(1));
    });

    it('creates, replaces, and replaces one version alone', async () => {
      const path = '/memories/a';
      const first = await files.write(path, '1', { mode: 'create' });
      await expect(files.write(path, 'x', { mode: 'create' })).rejects.toMatchObject({
        code: 'already_exists',
      });
      const second = await files.write(path, '2', { mode: { ifUnchanged: first.version } });
      expect(second.version).not.toBe(first.version);
      const refused = { code: 'version_conflict', retry: 'never' };
      for (const ifUnchanged of [first.version, '"another"']) {
        await expect(files.write(path, 'x', { mode: { ifUnchanged } })).rejects.toMatchObject(refused);
      }
      expect(await text(path)).toBe('2');
      await files.write(path, '3');
      await files.write('/memories/new', '4', { mode: 'replace' });
      expect([await text(path), await text('/memories/new')]).toEqual(['3', '4']);
      const { version = '' } = (await files.read(path)) ?? {};
      expect(await files.stat(path)).toMatchObject({ version });
      await files.remove(path);
      await expect(files.write(path, 'x', { mode: { ifUnchanged: version } })).rejects.toMatchObject(refused);
      expect(await files.exists(path)).toBe(false);
    });

    it('lets one of many win that replace the same version', async () => {
      const { version } = await files.write('/memories/a', '0');
      const others = site.shared ? [files, (await open()).files] : [files];
      const writes = Array.from({ length: 10 }, (_, index) =>
        others[index % others.length]?.write('/memories/a', `${index}`, { mode: { ifUnchanged: version } }),
      );
      const settled = await Promise.allSettled(writes);
      const won = settled.findIndex(({ status }) => status === 'fulfilled');
      expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await text('/memories/a')).toBe(`${won}`);
    });

    it('loses none of 50 appends at once, to a file that is not there yet', async () => {
      const writers = site.shared ? [files, (await open()).files, (await open()).files] : [files];
      const lines = Array.from({ length: 50 }, (_, index) => `line ${index}\n`);
      await Promise.all(
        lines.map((line, index) => writers[index % writers.length]?.append('/memories/d/log', line)),
      );
      const found = (await text('/memories/d/log'))?.split(/(?<=\n)/) ?? [];
      expect(found.toSorted()).toEqual(lines.toSorted());
      // The lines of one writer stand in the order of its calls.
      const own = lines.filter((_, index) => index % writers.length === 0);
      expect(found.filter((line) => own.includes(line))).toEqual(own);
    });

    it('takes its turn among the commands of the model', async () => {
      const path = '/memories/a';
      const [, , before, , after] = await Promise.all([
        memory.execute({ command: 'create', path, file_text: 'one' }),
        files.append(path, ' two'),
        files.read(path),
        memory.execute({ command: 'str_replace', path, old_str: 'two', new_str: '2' }),
        files.copy(path, '/memories/b').then(() => text('/memories/b')),
      ]);
      expect([before?.text(), after]).toEqual(['one two', 'one 2']);
    });

    it('lists files with sizes, times and versions, and directories by name', async () => {
      const began = Date.now();
      for (const path of ['a', 'd/b', 'd/e/c', 'd/e/f', 'z/g']) await files.write(`/memories/${path}`, path);
      expect(await paths()).toEqual(['/memories/a', '/memories/d/', '/memories/z/']);
      expect(await paths('/memories/d')).toEqual(['/memories/d/b', '/memories/d/e/']);
      expect(await paths('/memories', { recursive: true })).toEqual(
        ['a', 'd/b', 'd/e/c', 'd/e/f', 'z/g'].map((path) => `/memories/${path}`),
      );
      expect(await paths('/memories/none')).toEqual([]);
      const [entry] = await list('/memories/d/e', { recursive: true });
      expect(entry).toEqual(await files.stat(entry?.path ?? ''));
      if (entry?.type !== 'file') throw new Error('there is no file');
      expect(entry.size).toBe(5);
      expect(Math.abs(entry.modified.getTime() - began)).toBeLessThan(600_000);
      const found = await files.read(entry.path);
      expect(found).toMatchObject({ version: entry.version, size: 5 });
    });

    it('lists more than a page, names a large directory once, and may be left early', async () => {
      const { parts, close } = await openTenant({ ...site.options, tenant, rootKey });
      if (site.shared) await close();
      const writer = site.shared ? files : parts.openMemory(close).files;
      const reader = writer;
      for (let start = 0; start < site.many; start += 50) {
        const batch = Array.from({ length: Math.min(50, site.many - start) }, (_, index) => start + index);
        await Promise.all(batch.map((index) => writer.write(`/memories/many/${index}`, 'x')));
      }
      for (const path of ['/memories/a', '/memories/zz/b', '/memories/many0/c'])
        await writer.write(path, 'y');
      const all = await collect(reader.list('/memories', { recursive: true }));
      expect(new Set(all.map(({ path }) => path)).size).toBe(site.many + 3);
      expect(all).toHaveLength(site.many + 3);
      const after = all[site.many - 5]?.path ?? '';
      const rest = await collect(reader.list('/memories', { recursive: true, after }));
      expect(rest).toEqual(all.slice(site.many - 4));
      const top = await collect(reader.list());
      expect(top.map(({ path }) => path).sort()).toEqual(
        ['/memories/a', '/memories/many', '/memories/many0', '/memories/zz'].sort(),
      );
      for await (const entry of reader.list('/memories/many')) {
        // The caller may change what it goes through.
        await reader.remove(entry.path);
        break;
      }
      expect(await collect(reader.list('/memories/many'))).toHaveLength(site.many - 1);
      await expect(collect(reader.list('/memories', { signal: AbortSignal.abort() }))).rejects.toMatchObject({
        code: 'aborted',
      });
      if (!site.shared) await close();
    });

    it('lists from behind a path on, also when its file is gone', async () => {
      for (const path of ['a', 'd/b', 'd/e/c', 'd/e/f', 'z/g']) await files.write(`/memories/${path}`, path);
      for (const directory of ['/memories', '/memories/d']) {
        const all = await list(directory, { recursive: true });
        for (const [index, { path: after }] of all.entries()) {
          expect(await list(directory, { recursive: true, after })).toEqual(all.slice(index + 1));
        }
      }
      const after = '/memories/d/e/c';
      const behind = await list('/memories', { recursive: true, after });
      await files.remove(after);
      expect(await list('/memories', { recursive: true, after })).toEqual(behind);
      const invalid = expect.objectContaining({ code: 'invalid_command' });
      expect(() => files.list('/memories', { after: '/memories/a' })).toThrow(invalid);
      for (const after of ['/memories/a', '/memories/d']) {
        expect(() => files.list('/memories/d', { recursive: true, after })).toThrow(invalid);
      }
    });

    it('removes one version of a file and no other', async () => {
      const { version } = await files.write('/memories/a', 'one');
      await files.write('/memories/a', 'two');
      await files.write('/memories/d/e', 'e');
      const conflict = { code: 'version_conflict' };
      const remove = (path: string, ifUnchanged: string) => files.remove(path, { ifUnchanged });
      await expect(remove('/memories/a', version)).rejects.toMatchObject(conflict);
      await expect(remove('/memories/d', version)).rejects.toMatchObject(conflict);
      await expect(remove('/memories/none', version)).rejects.toMatchObject({ code: 'not_found' });
      await expect(remove('/memories/a', '*')).rejects.toMatchObject({ code: 'invalid_command' });
      expect([await text('/memories/a'), await text('/memories/d/e')]).toEqual(['two', 'e']);
      await remove('/memories/a', (await files.read('/memories/a'))?.version ?? '');
      expect(await paths()).toEqual(['/memories/d/']);
    });

    it('copies into a new file under a key of its own, renames and removes files and directories', async () => {
      await files.write('/memories/d/a', 'text');
      await files.copy('/memories/d/a', '/memories/d/b');
      await expect(files.copy('/memories/d/a', '/memories/d/b')).rejects.toMatchObject({
        code: 'already_exists',
      });
      await files.append('/memories/d/b', '!');
      expect(await text('/memories/d/a')).toBe('text');
      await files.copy('/memories/d/a', '/memories/d/b', { mode: 'replace' });
      expect(await text('/memories/d/b')).toBe('text');
      await expect(files.copy('/memories/d', '/memories/e')).rejects.toMatchObject({ code: 'is_directory' });
      await expect(files.copy('/memories/no', '/memories/e')).rejects.toMatchObject({ code: 'not_found' });
      await files.rename('/memories/d', '/memories/e');
      expect(await paths('/memories', { recursive: true })).toEqual(['/memories/e/a', '/memories/e/b']);
      await files.remove('/memories/e/a');
      expect(await files.exists('/memories/e')).toBe(true);
      await files.remove('/memories/e');
      expect(await files.exists('/memories/e')).toBe(false);
    });

    it('refuses what cannot be, by code, and changes nothing', async () => {
      await files.write('/memories/d/a', 'text');
      const code = (expected: string) => ({ code: expected });
      await expect(files.write('/memories/d', 'x')).rejects.toMatchObject(code('is_directory'));
      await expect(files.append('/memories/d', 'x')).rejects.toMatchObject(code('is_directory'));
      await expect(files.append('/memories/d/a/b', 'x')).rejects.toMatchObject(code('already_exists'));
      await expect(files.write('/memories/d/a/b', 'x')).rejects.toMatchObject(code('already_exists'));
      await expect(files.rename('/memories/no', '/memories/x')).rejects.toMatchObject(code('not_found'));
      for (const path of ['/etc/passwd', '/memories/../x', '']) {
        await expect(files.read(path)).rejects.toMatchObject(code('invalid_path'));
        expect(() => files.list(path)).toThrow(expect.objectContaining(code('invalid_path')));
      }
      const invalid = code('invalid_command');
      await expect(files.remove('/memories')).rejects.toMatchObject(invalid);
      await expect(files.read(5 as unknown as string)).rejects.toMatchObject(invalid);
      await expect(files.write('/memories/x', 5 as unknown as string)).rejects.toMatchObject(invalid);
      await expect(files.write('/memories/x', 'half \ud83c')).rejects.toMatchObject(invalid);
      for (const mode of [
        'append',
        { ifUnchanged: '*' },
        { ifUnchanged: '' },
        { ifUnchanged: 'a\nb' },
        {},
        null,
      ]) {
        await expect(files.write('/memories/d/a', 'x', { mode } as object)).rejects.toMatchObject(invalid);
      }
      const tooLarge = { code: 'limit_exceeded', details: { limit: 'file_bytes', max: LIMIT } };
      await expect(files.write('/memories/x', 'x'.repeat(LIMIT + 1))).rejects.toMatchObject(tooLarge);
      await expect(files.write('/memories/x', 'é'.repeat(LIMIT / 2 + 1))).rejects.toMatchObject(tooLarge);
      await files.write('/memories/full', 'x'.repeat(LIMIT));
      await expect(files.append('/memories/full', 'x')).rejects.toMatchObject({
        ...tooLarge,
        details: { ...tooLarge.details, value: LIMIT + 1 },
      });
      expect(await paths('/memories', { recursive: true })).toEqual(['/memories/d/a', '/memories/full']);
      expect(await text('/memories/d/a')).toBe('text');
    });

    it('obeys a signal, and is closed with its memory', async () => {
      await files.write('/memories/a', 'text');
      const options = { signal: AbortSignal.abort() };
      const aborted = { code: 'aborted' };
      const calls = (): readonly Promise<unknown>[] => [
        files.read('/memories/a', options),
        files.write('/memories/a', 'x', options),
        files.append('/memories/a', 'x', options),
        files.stat('/memories/a', options),
        files.exists('/memories/a', options),
        files.copy('/memories/a', '/memories/b', options),
        files.rename('/memories/a', '/memories/b', options),
        files.remove('/memories/a', options),
        collect(files.list('/memories', options)),
      ];
      for (const call of calls()) await expect(call).rejects.toMatchObject(aborted);
      expect(await text('/memories/a')).toBe('text');
      expect(await paths()).toEqual(['/memories/a']);
      await memory.close();
      for (const call of calls()) await expect(call).rejects.toMatchObject(aborted);
    });
  });
}
