import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { succeed } from '../stage/succeed.ts';
import { findTraces } from '../stage/traces.ts';

/** The store as a party sees and changes it that reaches it without the library. */
export interface RawStore {
  keys(): Promise<readonly string[]>;
  read(key: string): Promise<Uint8Array>;
  write(key: string, bytes: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
}

export interface SealedSite {
  readonly raw: RawStore;
  /** As a new process: nothing is cached. */
  open(tenant: string, rootKey: Uint8Array): Promise<Memory>;
  /** Another empty store of the same kind. */
  another(): Promise<SealedSite>;
  /** Everything that is stored, as its bytes lie there. */
  everything(): Promise<readonly Uint8Array[]>;
}

const NAMES = ['projekt-aurora', 'Geheimakte.md', '\u0433\u043e\u0441\u0442\u044c-42'];
const WORDS = ['correct-horse-battery', 'Zugangskennung', '\u5bc6\u7801\u662f\u7ea2\u8272\u7684\u82f9\u679c'];
const OTHER_WORDS = ['staple-overwritten', 'inserted-later-on'];
const FILE = `/memories/${NAMES[0]}/${NAMES[1]}`;
const TENANT = 'acme';

/**
 * Describes what a reader and a writer of the bucket must not be able to do (docs/security.md, "Attacker by attacker").
 * `step` 1 changes every byte; the store does not decide whether a changed byte is noticed, so the other stores take
 * wider steps.
 */
export function describeSealedStore(
  title: string,
  { start, step }: { readonly start: () => Promise<SealedSite>; readonly step: number },
): void {
  const tried = step === 1 ? '' : ` (every ${step}th byte and length is tried)`;
  describe(`what ${title} holds${tried}`, { timeout: 120_000 }, () => {
    let site: SealedSite;
    const rootKey = randomBytes(32);
    const openAgain = (): Promise<Memory> => site.open(TENANT, rootKey);

    beforeAll(async () => {
      site = await start();
    });

    it('shows neither a name nor a word of the content, in no form', async () => {
      const memory = await openAgain();
      await succeed(memory, create(FILE, `${WORDS.join('\n')}\n`));
      await succeed(memory, create(`/memories/${NAMES[2]}`, 'x'.repeat(70_000) + WORDS[0]));
      await succeed(memory, create('/memories/empty', ''));
      await succeed(memory, {
        command: 'str_replace',
        path: FILE,
        old_str: WORDS[1],
        new_str: OTHER_WORDS[0],
      });
      await succeed(memory, { command: 'insert', path: FILE, insert_line: 1, insert_text: OTHER_WORDS[1] });
      await succeed(memory, {
        command: 'rename',
        old_path: `/memories/${NAMES[0]}`,
        new_path: `/memories/${NAMES[2]}-${NAMES[0]}`,
      });
      await succeed(memory, create(FILE, WORDS.join(' ')));
      await memory.close();

      const secrets = [...NAMES, ...WORDS, ...OTHER_WORDS, '/memories', rootKey];
      const keys = await site.raw.keys();
      expect(keys.filter((key) => key.includes('/data/'))).toHaveLength(4);
      for (const key of keys) {
        expect(findTraces(Buffer.from(key), secrets)).toEqual([]);
        expect(findTraces(await site.raw.read(key), secrets)).toEqual([]);
        expect(findTraces(await site.raw.read(key), ['sealed-memory'])).toEqual([]);
      }
      const stored = Buffer.concat(await site.everything());
      expect(findTraces(stored, secrets)).toEqual([]);
      // The search itself works: the tenant's id is visible, by design.
      expect(findTraces(Buffer.concat([stored, Buffer.from(keys.join())]), ['tenants/acme'])).toContain(
        'tenants/acme as bytes',
      );
    });

    it('refuses a file in which any single byte is changed, and says nothing about it', async () => {
      const path = '/memories/tampered.md';
      const memory = await openAgain();
      const key = await keyOfNew(site.raw, () => succeed(memory, create(path, 'Small but precious.')));
      const original = await site.raw.read(key);
      for (let offset = 0; offset < original.length; offset += step) {
        await site.raw.write(key, flipped(original, offset, 1 << (offset % 8)));
        const result = await memory.execute({ command: 'view', path });
        expect({ offset, ...summary(result) }).toEqual({
          offset,
          code: 'integrity',
          content: `Error: The path ${path} could not be read`,
        });
      }
      await site.raw.write(key, original);
      expect(await succeed(memory, { command: 'view', path })).toContain('Small but precious.');
      await memory.close();
    });

    it('refuses a file that was cut, lengthened, emptied or made up', async () => {
      const path = '/memories/cut.md';
      const memory = await openAgain();
      const key = await keyOfNew(site.raw, () => succeed(memory, create(path, 'Small but precious.')));
      const original = await site.raw.read(key);
      const forgeries = [
        ...Array.from({ length: original.length }, (_, length) => original.subarray(0, length)).filter(
          (_, length) => length % step === 0,
        ),
        Buffer.concat([original, Buffer.of(0)]),
        Buffer.concat([original, original]),
        randomBytes(original.length),
        new Uint8Array(original.length),
      ];
      for (const forgery of forgeries) {
        await site.raw.write(key, forgery);
        expect({
          length: forgery.length,
          ...summary(await memory.execute({ command: 'view', path })),
        }).toEqual({
          length: forgery.length,
          code: 'integrity',
          content: `Error: The path ${path} could not be read`,
        });
      }
      await site.raw.write(key, original);
      expect(await succeed(memory, { command: 'view', path })).toContain('Small but precious.');
      await memory.close();
    });

    it('refuses every command on a tampered file and changes nothing', async () => {
      const path = '/memories/touched/file.md';
      const memory = await openAgain();
      const key = await keyOfNew(site.raw, () => succeed(memory, create(path, 'Small but precious.')));
      const original = await site.raw.read(key);
      const tampered = flipped(original, original.length - 1, 1);
      await site.raw.write(key, tampered);
      const before = await site.raw.keys();
      for (const input of [
        { command: 'str_replace', path, old_str: 'Small', new_str: 'Large' },
        { command: 'insert', path, insert_line: 0, insert_text: 'more' },
        { command: 'rename', old_path: path, new_path: '/memories/elsewhere.md' },
        { command: 'rename', old_path: '/memories/touched', new_path: '/memories/elsewhere' },
      ]) {
        expect(summary(await memory.execute(input)).code).toBe('integrity');
      }
      expect(await site.raw.keys()).toEqual(before);
      expect(Buffer.from(await site.raw.read(key)).equals(tampered)).toBe(true);
      await site.raw.write(key, original);
      expect(await succeed(memory, { command: 'view', path })).toContain('Small but precious.');
      await memory.close();
    });

    it('refuses objects that were swapped, put at another path or taken from another tenant', async () => {
      const memory = await openAgain();
      const other = await site.open('other', rootKey);
      const text = { one: 'The text of one.', two: 'The text of two.' };
      const one = await keyOfNew(site.raw, () => succeed(memory, create('/memories/s/one', text.one)));
      const two = await keyOfNew(site.raw, () => succeed(memory, create('/memories/s/two', text.two)));
      const theirs = await keyOfNew(site.raw, () => succeed(other, create('/memories/s/one', text.one)));
      const [first, second] = [await site.raw.read(one), await site.raw.read(two)];
      await site.raw.write(one, second);
      await site.raw.write(two, first);
      for (const path of ['/memories/s/one', '/memories/s/two']) {
        expect(summary(await memory.execute({ command: 'view', path })).code).toBe('integrity');
      }
      await site.raw.write(two, second);
      await site.raw.write(one, await site.raw.read(theirs));
      expect(summary(await memory.execute({ command: 'view', path: '/memories/s/one' })).code).toBe(
        'integrity',
      );
      await site.raw.write(one, first);
      await site.raw.write(theirs, first);
      expect(summary(await other.execute({ command: 'view', path: '/memories/s/one' })).code).toBe(
        'integrity',
      );
      expect(await succeed(memory, { command: 'view', path: '/memories/s/one' })).toContain(text.one);
      expect(await succeed(memory, { command: 'view', path: '/memories/s/two' })).toContain(text.two);
      await Promise.all([memory.close(), other.close()]);
    });

    it('refuses a keyring in which any single byte is changed, and loses nothing', async () => {
      const before = await viewed(await openAgain());
      const key = `keyrings/${TENANT}`;
      const original = await site.raw.read(key);
      const keys = await site.raw.keys();
      for (const mask of [0x01, 0x80]) {
        for (let offset = 0; offset < original.length; offset += step) {
          await site.raw.write(key, flipped(original, offset, mask));
          const memory = await openAgain();
          const result = await memory.execute({ command: 'view', path: FILE });
          expect({ offset, mask, ...summary(result) }).toEqual({
            offset,
            mask,
            code: refusalOfKeyring(original, offset, mask),
            content: `Error: The path ${FILE} could not be read`,
          });
          if (offset % 16 === 0) {
            const writing = await memory.execute(create('/memories/new', 'never written'));
            expect(summary(writing).code).toBe(refusalOfKeyring(original, offset, mask));
          }
          await memory.close();
        }
      }
      expect(await site.raw.keys()).toEqual(keys);
      await site.raw.write(key, original);
      expect(await viewed(await openAgain())).toBe(before);
    });

    it('refuses the keyring of another tenant, and data without a keyring', async () => {
      const [key, theirs] = [`keyrings/${TENANT}`, 'keyrings/other'];
      const original = await site.raw.read(key);
      await site.raw.write(key, await site.raw.read(theirs));
      let memory = await openAgain();
      expect(summary(await memory.execute({ command: 'view', path: FILE })).code).toBe('integrity');
      await memory.close();
      await site.raw.remove(key);
      memory = await openAgain();
      for (const input of [{ command: 'view', path: FILE }, create('/memories/new', 'never written')]) {
        expect(summary(await memory.execute(input)).code).toBe('key_unavailable');
      }
      await memory.close();
      expect(await site.raw.keys()).not.toContain(key);
      await site.raw.write(key, original);
      memory = await openAgain();
      expect(await succeed(memory, { command: 'view', path: FILE })).toContain(WORDS[0]);
      await memory.close();
    });

    it('is whole after a plain copy of its objects into another store', async () => {
      const copy = await site.another();
      for (const key of await site.raw.keys()) await copy.raw.write(key, await site.raw.read(key));
      expect(await viewed(await copy.open(TENANT, rootKey))).toBe(await viewed(await openAgain()));
      const memory = await copy.open(TENANT, rootKey);
      expect(await succeed(memory, { command: 'view', path: FILE })).toContain(WORDS[0]);
      await memory.close();
    });
  });
}

/** The code that docs/format.md names for a keyring with one changed byte; h is 36 + the length of the root id. */
function refusalOfKeyring(original: Uint8Array, offset: number, mask: number): string {
  if (offset >= 8 && offset < 12) return 'unsupported_format';
  const rootIdLength = new DataView(original.buffer, original.byteOffset).getUint32(32);
  if (offset >= 36 && offset < 36 + rootIdLength) {
    const character = (original[offset] ?? 0) ^ mask;
    return character >= 0x21 && character <= 0x7e ? 'key_unavailable' : 'integrity';
  }
  return 'integrity';
}

function flipped(bytes: Uint8Array, offset: number, mask: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[offset] = (changed[offset] ?? 0) ^ mask;
  return changed;
}

function create(path: string, text: string): unknown {
  return { command: 'create', path, file_text: text };
}

/** The key that `write` adds. */
async function keyOfNew(raw: RawStore, write: () => Promise<unknown>): Promise<string> {
  const before = new Set(await raw.keys());
  await write();
  const added = (await raw.keys()).filter((key) => !before.has(key) && key.includes('/data/'));
  expect(added).toHaveLength(1);
  return added[0] ?? '';
}

/** The whole tree as a model sees it; closes the memory. */
async function viewed(memory: Memory): Promise<string> {
  const text = await succeed(memory, { command: 'view', path: '/memories' });
  await memory.close();
  return text;
}

function summary(result: Awaited<ReturnType<Memory['execute']>>): { code: string; content: unknown } {
  return { code: result.isError ? result.error.code : 'none', content: result.content };
}
