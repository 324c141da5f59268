import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { runCat } from '../../src/cli/files/cat.ts';
import { runCp } from '../../src/cli/files/cp.ts';
import { runGrep } from '../../src/cli/files/grep.ts';
import { runDu, runLs, runStat, runTree } from '../../src/cli/files/list.ts';
import { runMv } from '../../src/cli/files/mv.ts';
import { runRm } from '../../src/cli/files/rm.ts';
import { runLog } from '../../src/cli/history/log.ts';
import { runTrace } from '../../src/cli/history/trace.ts';
import { runEncodeName } from '../../src/cli/keys/names.ts';
import type { Invocation } from '../../src/cli/run/invocation.ts';
import { typedPath } from '../../src/cli/run/typed.ts';
import { createMemoryServer } from '../../src/mcp/index.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { TenantAdmin } from '../../src/open/tenant-admin.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { invocationOf } from '../stage/invocation.ts';
import { silentLogger } from '../stage/silent-logger.ts';

/*
 * One file has one answer, however its path is spelled: each spelling that the parser takes answers as the shortest
 * one, and each that it refuses is refused alike, wherever a path is taken.
 */

const [NFC, NFD] = ['caf\u00e9', 'cafe\u0301'];
const TEXT = 'one\ntwo\n';

interface Site {
  readonly memory: Memory;
  readonly admin: TenantAdmin;
  readonly cli: (verb: (invocation: Invocation) => Promise<number> | number) => Promise<unknown>;
  readonly mcp: (input: Record<string, unknown>) => Promise<unknown>;
  /** A new name beside the file. */
  readonly other: string;
}

type Ask = (site: Site, path: string) => Promise<unknown>;

const command =
  (input: (path: string, site: Site) => Record<string, unknown>): Ask =>
  async (site, path) => {
    const { isError, content } = await site.memory.execute(input(path, site));
    return { isError, content };
  };

const ASKED: Readonly<Record<string, Ask>> = {
  view: command((path) => ({ command: 'view', path })),
  create: command((path) => ({ command: 'create', path, file_text: 'new' })),
  str_replace: command((path) => ({ command: 'str_replace', path, old_str: 'one', new_str: 'three' })),
  insert: command((path) => ({ command: 'insert', path, insert_line: 1, insert_text: 'three\n' })),
  delete: command((path) => ({ command: 'delete', path })),
  rename: command((path, { other }) => ({ command: 'rename', old_path: path, new_path: other })),
  'rename to itself': command((path) => ({ command: 'rename', old_path: path, new_path: path })),
  'files.read': async ({ memory }, path) => (await memory.files.read(path))?.text(),
  'files.stat': async ({ memory }, path) => (await memory.files.stat(path))?.path,
  'files.exists': ({ memory }, path) => memory.files.exists(path),
  'files.write': async ({ memory }, path) => (await memory.files.write(path, 'new')).path,
  'files.append': ({ memory }, path) => memory.files.append(path, 'three\n'),
  'files.copy': async ({ memory, other }, path) => (await memory.files.copy(path, other)).path,
  'files.rename': ({ memory, other }, path) => memory.files.rename(path, other),
  'files.remove': ({ memory }, path) => memory.files.remove(path),
  'history.list': async ({ memory }, path) =>
    (await memory.history.list(path)).map(({ kind, path }) => [kind, path]),
  'history.trace': async ({ memory }, path) => (await memory.history.trace({ path })).versions.length,
  'admin.encodeName': async ({ admin }, path) => admin.decodeName(await admin.encodeName(path)),
  'mcp view': ({ mcp }, path) => mcp({ command: 'view', path }),
  'mcp str_replace': ({ mcp }, path) =>
    mcp({ command: 'str_replace', path, old_str: 'one', new_str: 'three' }),
  'cli ls': ({ cli }, path) => cli((call) => runLs(typedPath(path), {}, call)),
  'cli tree': ({ cli }, path) => cli((call) => runTree(typedPath(path), call)),
  'cli du': ({ cli }, path) => cli((call) => runDu(typedPath(path), call)),
  'cli stat': ({ cli }, path) => cli((call) => runStat(typedPath(path), call)),
  'cli cat': ({ cli }, path) => cli((call) => runCat([typedPath(path)], {}, call)),
  'cli grep': ({ cli }, path) => cli((call) => runGrep({ pattern: 'one', path: typedPath(path) }, {}, call)),
  'cli cp': ({ cli, other }, path) => cli((call) => runCp({ from: typedPath(path), to: other }, {}, call)),
  'cli mv': ({ cli, other }, path) => cli((call) => runMv({ from: typedPath(path), to: other }, call)),
  'cli rm': ({ cli }, path) => cli((call) => runRm([typedPath(path)], {}, call)),
  'cli log': ({ cli }, path) => cli((call) => runLog(typedPath(path), {}, call)),
  'cli trace': ({ cli }, path) =>
    cli((call) => runTrace({ path: typedPath(path), version: undefined }, call)),
  'cli encode-name': ({ cli }, path) => cli((call) => runEncodeName(typedPath(path), call)),
};

/** The directories in which the file lies: in the memory itself, or in one that is mounted. */
const PLACES = { 'a file': '/memories/dir', 'a file below a mount': '/memories/shared/dir' } as const;

const TAKEN: Readonly<Record<string, (directory: string, name: string) => string>> = {
  'a slash behind it': (directory, name) => `${directory}/${name}/`,
  'slashes behind it': (directory, name) => `${directory}/${name}///`,
  'two slashes': (directory, name) => `${directory}//${name}`,
  'slashes behind the root': (directory, name) =>
    `${directory.replace('/memories/', '/memories///')}/${name}`,
  'the other form of Unicode': (directory, name) => `${directory}/${name === NFC ? NFD : NFC}`,
  'the other form, and slashes': (directory, name) => `${directory}//${name === NFC ? NFD : NFC}/`,
};
const REFUSED: Readonly<Record<string, (directory: string, name: string) => string>> = {
  'a dot': (directory, name) => `${directory}/./${name}`,
  'a dot behind it': (directory, name) => `${directory}/${name}/.`,
  'two dots': (directory, name) => `${directory}/x/../${name}`,
  'two dots above the root': (directory, name) => `${directory}/../../../memories/dir/${name}`,
  'an encoded slash': (directory, name) => `${directory}%2F${name}`,
  'an encoded dot': (directory, name) => `${directory}/%2e/${name}`,
  'a letter encoded beside an encoded dot': (directory, name) => `${directory}/%2e%2E/${name}`,
  'a backslash': (directory, name) => `${directory}\\${name}`,
  'another case of the root': (directory, name) => `${directory.replace('/m', '/M')}/${name}`,
  'no slash before it': (directory, name) => `${directory.slice(1)}/${name}`,
  'two slashes before it': (directory, name) => `/${directory}/${name}`,
  'a space before it': (directory, name) => ` ${directory}/${name}`,
  'a null': (directory, name) => `${directory}/${name}\u0000`,
  'a mark of order': (directory, name) => `${directory}/${name}\u200e`,
};

interface Place {
  readonly directory: string;
  readonly name: string;
}

interface Outcome {
  readonly answer: string;
  readonly stored: unknown;
}

type Asking = (ask: Ask, path: string) => Promise<Outcome>;

/** Opens a tenant with one file at the place, for as long as `work` asks about it. */
async function withFile<T>({ directory, name }: Place, work: (asking: Asking) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'spellings-'));
  const rootKey = Buffer.alloc(32, 7);
  const store = `sqlite:${join(folder, 'store.sqlite')}`;
  writeFileSync(join(folder, 'key'), rootKey.toString('base64'), { mode: 0o600 });
  const own = { store, rootKey, tenant: 'acme', history: { days: 30 }, logger: silentLogger };
  const mounts = [{ tenant: 'shared', at: '/memories/shared' }];
  const isMounted = directory.startsWith('/memories/shared/');
  try {
    await using owner = await openMemory({ ...own, tenant: isMounted ? 'shared' : 'acme' });
    await owner.files.write(`/memories/dir/${name}`, TEXT);
    await using memory = await openMemory({ ...own, mounts });
    await using admin = await openAdmin(own);
    const [near, far] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'test', version: '1' });
    await createMemoryServer(memory).connect(far);
    await client.connect(near);
    const site: Site = {
      memory,
      admin,
      other: `${directory}/other`,
      mcp: (input) => client.callTool({ name: 'memory', arguments: { ...input } }),
      async cli(verb) {
        const flags = { store, tenant: 'acme', json: true, rootKeyFile: join(folder, 'key') };
        const { invocation, shown, complaints } = invocationOf({ flags });
        const code = await verb(invocation);
        return { code, shown: shown.join('').split('\n').map(parsed), complaints };
      },
    };
    const storedNow = async (): Promise<unknown> => {
      const stored: string[] = [];
      for await (const { type, path } of owner.files.list('/memories', { recursive: true })) {
        if (type === 'file') stored.push(`${path}: ${(await owner.files.read(path))?.text()}`);
      }
      return stored.sort();
    };
    const result = await work(async (ask, path) => {
      const answer = await ask(site, path).catch((error: unknown) => {
        const { code, details } = Object(error);
        return { code, details };
      });
      return { answer: plain(answer, { directory, path }), stored: await storedNow() };
    });
    await client.close();
    return result;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
}

const DIFFERING: readonly string[] = ['version', 'key', 'modified', 'time'];

/** The answer without what differs from call to call: how the path was typed, times, keys and names of versions. */
function plain(
  answer: unknown,
  { directory, path }: { readonly directory: string; readonly path: string },
): string {
  const typed = [path, `${directory}/${NFC}`, `${directory}/${NFD}`].toSorted((a, b) => b.length - a.length);
  const json =
    JSON.stringify(answer, (key, value) => (DIFFERING.includes(key) ? 'X' : (value as unknown))) ?? '';
  return typed.reduce((text, each) => text.replaceAll(JSON.stringify(each).slice(1, -1), 'PATH'), json);
}

const askedIn = (directory: string): readonly string[] =>
  Object.keys(ASKED).filter((name) => directory === PLACES['a file'] || !/^(cli|admin)/.test(name));

describe.each([
  ['a file', PLACES['a file'], NFC],
  ['a file below a mount', PLACES['a file below a mount'], NFC],
] as const)('%s', (_, directory, name) => {
  it.each(askedIn(directory))('has one answer for %s, however it is spelled', async (asked) => {
    const ask = ASKED[asked] ?? (async () => {});
    const asking = (path: string) => withFile({ directory, name }, (onFile) => onFile(ask, path));
    const shortest = await asking(`${directory}/${name}`);
    for (const [spelling, spell] of Object.entries(TAKEN)) {
      expect(await asking(spell(directory, name)), spelling).toEqual(shortest);
    }
  });
});

describe('a spelling that is none', () => {
  // A person may type a path in more ways, which the command line brings to the shortest.
  const asked = askedIn(PLACES['a file']).filter((name) => !name.startsWith('cli'));

  it.each(asked)('is refused by %s, and changes nothing', async (asked) => {
    const ask = ASKED[asked] ?? (async () => {});
    const at = { directory: PLACES['a file'], name: NFC };
    await withFile(at, async (asking) => {
      for (const [spelling, spell] of Object.entries(REFUSED)) {
        const { answer, stored } = await asking(ask, spell(at.directory, at.name));
        expect(answer, spelling).toMatch(/invalid_path|Error: Path |"isError":true/);
        expect(stored, spelling).toEqual([`${at.directory}/${at.name}: ${TEXT}`]);
      }
    });
  });
});
