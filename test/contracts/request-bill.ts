import { beforeAll, describe, expect, it } from 'vitest';
import type { Memory } from '../../src/tool/memory-tool.ts';

/** A lease of the register is renewed once in so much time. */
export const RENEWAL_MS = 3_000;

/** Requests by the port's verbs, whatever they are called below. */
export interface Bill {
  readonly get?: number;
  readonly head?: number;
  readonly put?: number;
  readonly list?: number;
  readonly delete?: number;
  /** Listings of the versions that a bucket keeps. */
  readonly versions?: number;
}

/** A memory whose requests are counted. */
interface MeteredMemory {
  readonly memory: Memory;
  /** The requests since the last call. */
  bill(): Bill;
}

export interface Metering {
  /**
   * True where the store honours the condition of a delete; otherwise each delete costs a PUT and its share of a
   * DELETE.
   */
  readonly guarded: boolean;
  /** True where the first write of a process proves the store's conditional writes. */
  readonly probes: boolean;
  /** How many files the large directory holds. */
  readonly many: number;
  /** One more process of the same tenant, which has no caller before the first one. */
  open(): Promise<MeteredMemory>;
}

/**
 * Describes what each command may cost, counted request by request. Only the keyring and the register are cached,
 * unless a case says what its process has read or written before.
 */
export function describeRequestBill(title: string, start: () => Promise<Metering>): void {
  describe(`the requests of a command on ${title}`, { timeout: 120_000 }, () => {
    let metering: Metering;
    let metered: MeteredMemory;
    let other: Memory;
    let [firstOpened, firstUse]: readonly Bill[] = [];

    beforeAll(async () => {
      metering = await start();
      metered = await metering.open();
      firstOpened = metered.bill();
      await run(metered.memory, create('/memories/first'));
      firstUse = metered.bill();
      other = (await metering.open()).memory;
    });

    const write = (path: string): Promise<string> => run(other, create(path));
    const cost = async (input: unknown): Promise<Bill> => {
      metered.bill();
      await run(metered.memory, input);
      return metered.bill();
    };
    const burials = (files: number): number => (metering.guarded ? 0 : files);

    it('that opens a memory: look for the keyring and, where there is none, for data', async () => {
      expect(firstOpened).toEqual({ get: 1, list: 1 });
      const { memory, bill } = await metering.open();
      expect(bill()).toEqual({ get: 1 });
      await memory.close();
    });

    it('that is the very first of a tenant: look for keyring, data and register, write the keyring, try a probe with four requests', () => {
      const probing = metering.probes ? { put: 3, delete: 1 } : { put: 0 };
      expect(firstUse).toEqual({ get: 2, list: 2, ...probing, put: 2 + probing.put });
    });

    it('that is the first of a process: the register, and three requests for the probe at the first write', async () => {
      const probing = metering.probes ? { put: 2, delete: 1 } : { put: 0 };
      const firstWrite = { ...probing, put: 1 + probing.put };
      const reader = await metering.open();
      expect(reader.bill()).toEqual({ get: 1 });
      await run(reader.memory, { command: 'view', path: '/memories/first' });
      expect(reader.bill()).toEqual({ get: 2 });
      await run(reader.memory, create('/memories/p1'));
      expect(reader.bill()).toEqual({ ...firstWrite, list: 1 });
      const writer = await metering.open();
      await run(writer.memory, create('/memories/p2'));
      expect(writer.bill()).toEqual({ get: 2, ...firstWrite, list: 1 }); // the keyring, by opening, and the register
      await run(writer.memory, create('/memories/p3'));
      expect(writer.bill()).toEqual({ put: 1, list: 1 });
    });

    it('view: a file 1, the root 1, another directory a GET that misses and its LIST', async () => {
      await write('/memories/a/b/file');
      expect(await cost({ command: 'view', path: '/memories/a/b/file' })).toEqual({ get: 1 });
      expect(await cost({ command: 'view', path: '/memories/a' })).toEqual({ get: 1, list: 1 });
      expect(await cost({ command: 'view', path: '/memories' })).toEqual({ list: 1 });
    });

    it('view again: a file one GET without its bytes, a directory that a listing has shown its LIST alone', async () => {
      await write('/memories/w/b/file');
      await cost({ command: 'view', path: '/memories/w/b/file' });
      expect(await cost({ command: 'view', path: '/memories/w/b/file' })).toEqual({ get: 1 });
      expect(await cost({ command: 'view', path: '/memories/w' })).toEqual({ get: 1, list: 1 });
      expect(await cost({ command: 'view', path: '/memories/w' })).toEqual({ list: 1 });
      expect(await cost({ command: 'view', path: '/memories/w/b' })).toEqual({ list: 1 });
      await run(other, { command: 'delete', path: '/memories/w' });
      await write('/memories/w');
      expect(await cost({ command: 'view', path: '/memories/w' })).toEqual({ list: 1, get: 1 });
    });

    it('create in a known directory: no less than one PUT and the checks', async () => {
      await run(metered.memory, create('/memories/k/one'));
      await run(metered.memory, { command: 'view', path: '/memories/k' });
      expect(await cost(create('/memories/k/two'))).toEqual({ put: 1, list: 1, head: 1 });
    });

    it('str_replace and insert of a file that was read or written before: one PUT; after a conflict a GET and a PUT more', async () => {
      const path = '/memories/warm';
      const replace = (old_str: string, new_str: string) => ({
        command: 'str_replace',
        path,
        old_str,
        new_str,
      });
      await write(path);
      await run(other, replace('text', 'old'));
      await run(metered.memory, { command: 'view', path });
      expect(await cost(replace('old', 'new'))).toEqual({ put: 1 });
      expect(await cost({ command: 'insert', path, insert_line: 0, insert_text: 'x' })).toEqual({ put: 1 });
      await run(other, replace('new', 'newer'));
      expect(await cost(replace('newer', 'old'))).toEqual({ get: 1, put: 1 });
      await run(other, replace('old', 'older'));
      expect(await cost({ command: 'insert', path, insert_line: 0, insert_text: 'y' })).toEqual({
        get: 1,
        put: 2,
      });
      expect(await cost(replace('older', 'done'))).toEqual({ put: 1 });
    });

    it('create: one PUT and as many checks as the path is deep', async () => {
      expect(await cost(create('/memories/d1'))).toEqual({ put: 1, list: 1 });
      expect(await cost(create('/memories/d2/x'))).toEqual({ put: 1, list: 1, head: 1 });
      expect(await cost(create('/memories/d5/x/y/z/file'))).toEqual({ put: 1, list: 1, head: 4 });
    });

    it('str_replace and insert: a GET and a PUT, and the checks of a create where another process has just created it', async () => {
      await write('/memories/edited-1');
      const replace = { command: 'str_replace', path: '/memories/edited-1', old_str: 'text', new_str: 'new' };
      await run(other, { ...replace, new_str: 'text text' });
      await run(other, { ...replace, old_str: ' text', new_str: '' });
      expect(await cost(replace)).toEqual({ get: 1, put: 1 });
      await write('/memories/edited-2');
      const insert = { command: 'insert', path: '/memories/edited-2', insert_line: 0, insert_text: 'x' };
      expect(await cost(insert)).toEqual({ get: 1, put: 1, list: 1 });
      expect(await cost(insert)).toEqual({ put: 1 });
      await write('/memories/edited/3');
      const below = await cost({ ...insert, path: '/memories/edited/3' });
      expect(below).toEqual({ get: 1, put: 1, list: 1, head: 1 });
    });

    it('delete of a file: 2, or 3 where the store does not guard it', async () => {
      await write('/memories/deleted');
      const bill = await cost({ command: 'delete', path: '/memories/deleted' });
      expect(bill).toEqual({ list: 1, delete: 1, ...(metering.guarded ? {} : { put: 1 }) });
    });

    it('rename of a file: 3, or 4, and one LIST and a HEAD for each ancestor that the target has alone', async () => {
      const moving = { get: 1, put: 1 + burials(1), delete: 1, list: 1 };
      await run(metered.memory, create('/memories/r/s/own'));
      expect(await cost(rename('/memories/r/s/own', '/memories/r/s/to'))).toEqual(moving);
      const further = await cost(rename('/memories/r/s/to', '/memories/r/t/u/to'));
      expect(further).toEqual({ ...moving, head: 2 });
      await write('/memories/r/s/from');
      const young = await cost(rename('/memories/r/s/from', '/memories/r/s/again'));
      expect(young).toEqual({ ...moving, list: 2, head: 2 });
    });

    it('rename and delete of a directory: 2 or 3 for each file moved, 0 or 1 for each deleted, and the register', async () => {
      const { many } = metering;
      for (let i = 0; i < many; i += 25) {
        const batch = Array.from({ length: Math.min(25, many - i) }, (_, j) => i + j);
        await Promise.all(batch.map((n) => write(`/memories/many/${n % 5}/${n}`)));
      }
      const pages = Math.ceil(many / 1_000);
      const begun = performance.now();
      const { list = 0, put = 0, ...moving } = await cost(rename('/memories/many', '/memories/moved/here'));
      expect(moving).toEqual({ get: many + 1, delete: pages, head: 2 });
      const ofTheRegister = put - many - burials(many);
      expect(ofTheRegister).toBeGreaterThanOrEqual(3);
      expect(ofTheRegister).toBeLessThanOrEqual(3 + (performance.now() - begun) / RENEWAL_MS);
      expect(list).toBeLessThanOrEqual(2 * pages + 2);
      const deleting = await cost({ command: 'delete', path: '/memories/moved' });
      const graves = metering.guarded ? {} : { put: many };
      expect(deleting).toEqual({ get: 1, list: pages, delete: pages, ...graves });
    });
  });
}

function create(path: string): unknown {
  return { command: 'create', path, file_text: 'text' };
}

function rename(from: string, to: string): unknown {
  return { command: 'rename', old_path: from, new_path: to };
}

async function run(memory: Memory, input: unknown): Promise<string> {
  const result = await memory.execute(input);
  if (result.isError) throw result.error;
  return String(result.content);
}
