import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createNames, type NameMode } from '../../src/format/names.ts';
import { open } from '../../src/format/object.ts';
import {
  createLayout,
  fileKey,
  logicalName,
  type ObjectKey,
  parseTenantId,
} from '../../src/format/object-keys.ts';
import { deriveKey, hash, loadSodium, openBox, sealBox } from '../../src/format/sodium.ts';
import { createTombstone } from '../../src/format/tombstone.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyring, openKeyring, rotateKeyring, sealKeyring } from '../../src/keys/keyring.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { openTenant } from '../../src/open/open-memory.ts';
import { osRandom as random } from '../../src/store/os-random.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { forgeKeyring, forgeObject } from '../format/forge.ts';
import { applyOps, contentOf, format1, input } from '../format/format-vectors.ts';
import {
  drawnUnderOf,
  keyringFields,
  objectFields,
  sealingKeys,
  vectorBytes,
} from '../format/vector-parts.ts';
import { verdictOf } from '../fuzz/fuzz.ts';
import { mutatedTexts, mutations } from '../fuzz/mutation.ts';
import { isNotRun } from '../runner/not-run.ts';
import { findPython, type PythonAnswer, type PythonRequest } from './python.ts';

await loadSodium();
const python = await findPython(process.env);
const isMissing = isNotRun('The second implementation of the format', python);

const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-python-'));
afterAll(() => rmSync(directory, { recursive: true }));

const MODES: readonly NameMode[] = ['encrypted', 'plain'];
const TENANT = 'acme';
const sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073];
const FILES: ReadonlyMap<string, Uint8Array> = new Map([
  ...sizes.map((size) => [`/memories/sizes/${size}`, random(size)] as const),
  ['/memories/notes/Größe 日本.md', Buffer.from('text\n')],
  ['/memories/notes/👩\u200d💻', Buffer.from('emoji')],
  ['/memories/%41 & +?#~', Buffer.from('percent')],
  [`/memories/${'é'.repeat(71)}/${'x'.repeat(15)}/${'x'.repeat(16)}`, Buffer.from('long')],
  [`/memories${'/d'.repeat(19)}/deep`, Buffer.from('deep')],
]);

/** Sends requests to the second implementation; without it every test fails with the reason. */
async function ask(requests: readonly PythonRequest[]): Promise<readonly PythonAnswer[]> {
  if ('reason' in python) throw new Error(python.reason);
  return python.ask(requests);
}

async function result<T>(request: PythonRequest): Promise<T> {
  const [answer] = await ask([request]);
  if (answer === undefined || answer.code !== undefined) throw new Error(`refused: ${answer?.code}`);
  return answer.result as T;
}

const b64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const fromB64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
/** A result whose bytes are wanted, or the code of a refusal. */
const outcome = ({ result: value, code }: PythonAnswer): unknown => code ?? value;

interface PythonObject {
  readonly content: string;
  readonly mtime: number;
  /** Decimal. */
  readonly bound: string;
  readonly previous: string;
  readonly writer: string;
  readonly origin: string;
  readonly versionId: string;
  readonly drawnUnder: number;
}

interface PythonStore {
  readonly keyring: { readonly epoch: number; readonly mode: number };
  readonly files: Readonly<Record<string, PythonObject>>;
  readonly records: Readonly<Record<string, PythonObject>>;
  readonly foreign: readonly string[];
}

/** An empty store in a file of its own, as a reader of the file sees it and as the library does. */
function newSite(rootKey: Uint8Array, names?: NameMode) {
  const path = join(directory, `${randomBytes(8).toString('hex')}.db`);
  return {
    open: () => openTenant({ store: `sqlite:${path}`, tenant: TENANT, rootKey, names }),
    async dump(): Promise<Readonly<Record<string, string>>> {
      await using store = openSqliteObjectStore({ path });
      const objects: Record<string, string> = {};
      for await (const page of store.list({ prefix: '' })) {
        for (const { key } of page.objects) {
          const stored = await store.get(key);
          if (typeof stored === 'object') objects[key] = b64(stored.body);
        }
      }
      return objects;
    },
    async fill(objects: Readonly<Record<string, string>>): Promise<void> {
      await using store = openSqliteObjectStore({ path });
      for (const [key, body] of Object.entries(objects)) {
        await store.put(key as ObjectKey, fromB64(body), { mode: 'create' });
      }
    },
    async read(): Promise<PythonStore> {
      return result({
        action: 'readStore',
        objects: await this.dump(),
        root: b64(rootKey),
        tenant: TENANT,
        prefix: '',
      });
    },
  };
}

function contentsOf({ files }: PythonStore): ReadonlyMap<string, string> {
  return new Map(Object.entries(files).map(([path, { content }]) => [path, content]));
}

describe.skipIf(isMissing)('a second implementation of the format', { timeout: 60_000 }, () => {
  describe.each(MODES)('with %s names', (names) => {
    it('opens what this one wrote, renamed and deleted', async () => {
      const before = Date.now();
      const site = newSite(random(32), names);
      const { parts, close } = await site.open();
      for (const [path, content] of FILES) await parts.tree.create(parseMemoryPath(path), content);
      await parts.tree.create(parseMemoryPath('/memories/gone'), random(10));
      await parts.tree.remove(parseMemoryPath('/memories/gone'));
      const rename = (from: string, to: string) =>
        parts.tree.rename({ from: parseMemoryPath(from), to: parseMemoryPath(to) });
      await rename('/memories/sizes', '/memories/moved/sizes');
      await rename('/memories/%41 & +?#~', '/memories/other');
      await close();

      const store = await site.read();
      const moved = new Map(
        [...FILES].map(([path, content]) => [
          path.replace(/^\/memories\/sizes/, '/memories/moved/sizes').replace(/%41.*/, 'other'),
          b64(content),
        ]),
      );
      expect(contentsOf(store)).toEqual(moved);
      expect(store).toMatchObject({ keyring: { epoch: 1, mode: names === 'plain' ? 0 : 1 }, foreign: [] });
      const zeros = b64(new Uint8Array(16));
      for (const [path, { mtime, origin }] of Object.entries(store.files)) {
        expect(mtime).toBeGreaterThanOrEqual(before);
        expect(mtime).toBeLessThanOrEqual(Date.now());
        expect(origin === zeros).toBe(!/^\/memories\/(?:moved\/|other$)/.test(path));
      }
      const register = store.records['/journal/register']?.content ?? '';
      expect(JSON.parse(Buffer.from(register, 'base64').toString())).toEqual({ phase: 'idle' });
    });

    it('writes what this one opens, verifies and goes on with', async () => {
      const rootKey = random(32);
      const site = newSite(rootKey);
      const written = [...FILES].map(([path, content]) => [path, b64(content)] as const);
      const request = {
        action: 'writeStore',
        root: b64(rootKey),
        tenant: TENANT,
        nameMode: names,
        prefix: '',
      };
      await site.fill(
        await result({ ...request, created: 1_700_000_000_000, files: Object.fromEntries(written) }),
      );

      const { parts, close } = await site.open();
      const keyring = await parts.context.keyrings.load();
      expect(keyring?.names.mode).toBe(names);
      const { files } = await parts.tree.list(parseMemoryPath('/memories'));
      expect(files.map(({ path }) => String(path)).sort()).toEqual([...FILES.keys()].sort());
      for (const [path, content] of FILES) {
        const read = await parts.tree.read(parseMemoryPath(path));
        expect(read && Buffer.compare(read, content)).toBe(0);
      }
      await parts.tree.rename({
        from: parseMemoryPath('/memories/notes'),
        to: parseMemoryPath('/memories/kept'),
      });
      await parts.tree.overwrite(parseMemoryPath('/memories/sizes/0'), Buffer.from('more'));
      expect((await parts.verify()).findings).toEqual([]);
      await close();

      const expected = new Map(written.map(([path, text]) => [path.replace('/notes/', '/kept/'), text]));
      expected.set('/memories/sizes/0', b64(Buffer.from('more')));
      expect(contentsOf(await site.read())).toEqual(expected);
    });

    it('writes below a prefix what this one finds there', async () => {
      const [root, prefix] = [random(32), 'team/größe'];
      const files = Object.fromEntries([...FILES].map(([path, content]) => [path, b64(content)]));
      const request = {
        action: 'writeStore',
        root: b64(root),
        tenant: TENANT,
        nameMode: names,
        created: 5,
      };
      const objects = await result<Record<string, string>>({ ...request, prefix, files });
      const layout = createLayout({ prefix, tenant: parseTenantId(TENANT) });
      const found = (key: string): Uint8Array => fromB64(objects[key] ?? '');
      const { keyringId, nameKey, nameMode, tenantKeys } = await openKeyring({
        bytes: found(layout.keyring),
        tenant: TENANT,
        rootKeys: [envRootKey(root)],
      });
      const [active] = tenantKeys;
      if (active === undefined) throw new Error('a keyring has a key');
      const keys = { tenant: TENANT, keyringId, active, find: () => active };
      for (const [given, content] of FILES) {
        const path = parseMemoryPath(given);
        const key = fileKey(layout, createNames({ mode: nameMode, nameKey }), path);
        const opened = open({ keys, name: logicalName(path), object: found(key) });
        expect([Buffer.compare(opened.content, content), opened.mtime]).toEqual([0, 5]);
      }
      expect(Object.keys(objects)).toHaveLength(FILES.size + 1);
      const others = {
        [`${layout.data}not-ours`]: b64(Buffer.from('x')),
        [`${layout.data}`]: '',
        [layout.probe]: b64(Buffer.from('scratch')),
        [`${layout.data}gone`]: b64(createTombstone(random)),
        [`${prefix}/tenants/another/data/x`]: b64(Buffer.from('of another tenant')),
      };
      const store = await result<PythonStore>({
        action: 'readStore',
        objects: names === 'plain' ? objects : { ...objects, ...others },
        root: b64(root),
        tenant: TENANT,
        prefix,
      });
      expect(contentsOf(store)).toEqual(new Map(Object.entries(files)));
      expect(store.foreign.toSorted()).toEqual(
        names === 'plain' ? [] : [layout.data, `${layout.data}not-ours`],
      );
    });
  });

  it('opens a keyring that was rotated, with any of the configured roots', async () => {
    const [first, second] = [random(32), random(32)];
    let keyring = createKeyring({ nameMode: 'encrypted', random, created: 1 });
    for (let created = 2; created <= 64; created++) keyring = rotateKeyring(keyring, { random, created });
    const bytes = await sealKeyring({ keyring, tenant: TENANT, rootKey: envRootKey(second), random });
    const roots = [first, second].map(b64);
    const opened = await result({ action: 'openKeyring', keyring: b64(bytes), roots, tenant: TENANT });
    expect(opened).toEqual({
      epoch: 64,
      id: b64(keyring.keyringId),
      mode: 1,
      flags: 0,
      since: null,
      NK: b64(keyring.nameKey),
      keys: keyring.tenantKeys.map(({ version, created, secret }) => [version, created, b64(secret)]),
    });
    const [refused] = await ask([
      { action: 'openKeyring', keyring: b64(bytes), roots: [b64(first)], tenant: TENANT },
    ]);
    expect(refused).toEqual({ code: 'key_unavailable' });
  });
});

describe.skipIf(isMissing)('both implementations of the format', { timeout: 60_000 }, () => {
  const openObject = (object: Uint8Array, keyring: string, name: string): PythonRequest => {
    const fields = keyringFields(keyring);
    const [roots, bytes] = [[b64(input(fields.root))], b64(vectorBytes(keyring))];
    return {
      action: 'openObject',
      object: b64(object),
      keyring: bytes,
      roots,
      tenant: fields.tenant,
      name,
    };
  };

  it('open every object of the vectors and refuse the same ones', async () => {
    const { defaults, cases } = format1.refuseObjects;
    const valid = [...format1.objects.cases, ...format1.forgedObjects].map(({ id }) => ({
      fields: objectFields(id),
      object: vectorBytes(id),
    }));
    const opened = await ask(
      valid.map(({ fields, object }) => openObject(object, fields.keyring, fields.name)),
    );
    expect(opened.map(outcome)).toEqual(
      valid.map(({ fields }) => ({
        content: b64(contentOf(fields)),
        drawnUnder: drawnUnderOf(fields),
        mtime: Number(fields.mtime),
        bound: String(fields.bound),
        previous: b64(input(fields.previous)),
        writer: b64(input(fields.writer)),
        origin: b64(input(fields.origin)),
        versionId: b64(input(fields.versionId)),
      })),
    );
    const refused = cases.map(
      ({ base = defaults.base, keyring = defaults.keyring, name = defaults.name, ops, forge }) => {
        if (forge === undefined)
          return openObject(applyOps(vectorBytes(base), ops ?? [], vectorBytes), keyring, name);
        const fields = objectFields(base);
        return openObject(forgeObject({ ...fields, ...forge }, keyringFields(fields.keyring)), keyring, name);
      },
    );
    expect((await ask(refused)).map(outcome)).toEqual(cases.map(() => 'integrity'));
  });

  it('open every keyring of the vectors and refuse the others with the same code', async () => {
    const { defaults, cases } = format1.refuseKeyrings;
    const request = (bytes: Uint8Array, roots: readonly string[], tenant: string): PythonRequest => ({
      action: 'openKeyring',
      keyring: b64(bytes),
      roots: roots.map((root) => b64(input(root))),
      tenant,
    });
    const known = format1.keyrings.cases.filter(({ rootId }) => rootId === undefined);
    const opened = await ask(
      known.map(({ id }) => request(vectorBytes(id), ['root2', 'root'], keyringFields(id).tenant)),
    );
    const epochs = opened.map(({ result: ring }) => (ring as { readonly epoch: number }).epoch);
    expect(epochs).toEqual(known.map(({ id }) => keyringFields(id).epoch));
    const refused = cases.map(
      ({ base = defaults.base, roots = defaults.roots, tenant = defaults.tenant, ops, forge }) => {
        const bytes = ops
          ? applyOps(vectorBytes(base), ops, vectorBytes)
          : forge
            ? forgeKeyring({ ...keyringFields(base), ...forge })
            : vectorBytes(base);
        return request(bytes, roots, tenant);
      },
    );
    const codes = (await ask(refused)).map(outcome);
    expect(codes).toEqual(cases.map(({ expect: code = defaults.expect }) => code));
  });

  it('say the same of names, of valid and of foreign ones', async () => {
    const foreign = format1.foreign.map(({ dir, text }) => ({ base: dir, text }));
    const pieces = fc.constantFrom(
      '/',
      '.',
      '..',
      '%2e',
      '%25',
      '2',
      'e',
      '\\',
      '\0',
      '\ufeff',
      '\u0301',
      'A',
      '_',
      '=',
    );
    const paths = [...FILES.keys()].map((path) => path.split('/').slice(2));
    const nameKey = input('NK');
    for (const mode of MODES) {
      const names = createNames({ mode, nameKey });
      const encoded = paths.map((path) => names.encodeFile(path));
      const name = { nameMode: mode, nameKey: b64(nameKey) };
      const theirs = await ask(paths.map((segments) => ({ action: 'encodeFile', ...name, segments })));
      expect(theirs.map(outcome)).toEqual(encoded);
      const texts = fc.sample(mutatedTexts(encoded, pieces), 500).map((text) => ({ base: [], text }));
      const all = [...texts, ...foreign];
      const decoded = await ask(all.map((each) => ({ action: 'decodeFile', ...name, ...each })));
      expect(decoded.map(outcome)).toEqual(all.map(({ base, text }) => names.decodeFile(base, text) ?? null));
    }
  });

  it('say the same of objects and keyrings after random changes', async () => {
    const objects = ['hello', 'rebound'].map(vectorBytes);
    const keyring = vectorBytes('two');
    const [keys, name] = [sealingKeys('two'), logicalName(parseMemoryPath(format1.objects.defaults.name))];
    const changed = fc.sample(mutations(objects), 300);
    const opened = (await ask(changed.map((object) => openObject(object, 'two', name)))).map(
      (answer) => answer.code ?? (answer.result as PythonObject).content,
    );
    const ours = changed.map((object) => {
      const verdict = verdictOf(() => b64(open({ keys, name, object }).content));
      return 'code' in verdict ? verdict.code : verdict.value;
    });
    expect(opened).toEqual(ours);

    const rings = fc.sample(mutations([keyring]), 300);
    const roots = [b64(input('root'))];
    const theirs = await ask(
      rings.map((bytes) => ({ action: 'openKeyring', keyring: b64(bytes), roots, tenant: TENANT })),
    );
    const rootKeys = [envRootKey(input('root'))];
    const codes = await Promise.all(
      rings.map((bytes) =>
        openKeyring({ bytes, tenant: TENANT, rootKeys }).then(
          ({ epoch }) => epoch,
          (error: { readonly code: string }) => error.code,
        ),
      ),
    );
    expect(
      theirs.map(({ code, result: ring }) => code ?? (ring as { readonly epoch: number }).epoch),
    ).toEqual(codes);
  });
});

describe.skipIf(isMissing)('the primitives of both', { timeout: 60_000 }, () => {
  const bytes = (minLength: number, maxLength = minLength) => fc.uint8Array({ minLength, maxLength });

  it('hash and derive the same', async () => {
    const inputs = fc.sample(
      fc.record({
        length: fc.integer({ min: 16, max: 64 }),
        key: bytes(16, 64),
        message: bytes(0, 300),
        index: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
        context: fc.string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 8 }),
        secret: bytes(32),
      }),
      300,
    );
    const hashes = await ask(
      inputs.map(({ length, key, message }) => ({
        action: 'hash',
        length,
        key: b64(key),
        message: b64(message),
      })),
    );
    expect(hashes.map(outcome)).toEqual(
      inputs.map(({ length, key, message }) => b64(hash(length, key, message))),
    );
    const derived = await ask(
      inputs.map(({ secret, index, context }) => ({ action: 'deriveKey', key: b64(secret), index, context })),
    );
    expect(derived.map(outcome)).toEqual(
      inputs.map(({ secret, index, context }) => b64(deriveKey(secret, index, context))),
    );
  });

  it("seal the same boxes, open each other's and refuse changed ones", async () => {
    const inputs = fc.sample(
      fc.record({
        key: bytes(32),
        nonce: bytes(24),
        additional: bytes(0, 100),
        message: bytes(0, 300),
        at: fc.nat(),
      }),
      300,
    );
    const boxes = inputs.map(({ message, ...parameters }) => sealBox(message, parameters));
    const common = inputs.map(({ key, nonce, additional }) => ({
      key: b64(key),
      nonce: b64(nonce),
      additional: b64(additional),
    }));
    const sealed = await ask(
      inputs.map(({ message }, index) => ({ action: 'sealBox', ...common[index], message: b64(message) })),
    );
    expect(sealed.map(outcome)).toEqual(boxes.map(b64));
    const openAll = (all: readonly Uint8Array[]) =>
      ask(all.map((box, index) => ({ action: 'openBox', ...common[index], box: b64(box) })));
    expect((await openAll(boxes)).map(outcome)).toEqual(inputs.map(({ message }) => b64(message)));
    const changed = boxes.map((box, index) => {
      const at = (inputs[index]?.at ?? 0) % box.length;
      return box.with(at, (box[at] ?? 0) ^ 1);
    });
    expect((await openAll(changed)).map(outcome)).toEqual(changed.map(() => 'integrity'));
    for (const [index, box] of changed.entries()) {
      const parameters = inputs[index];
      if (parameters !== undefined) expect(openBox(box, parameters)).toBeUndefined();
    }
  });
});
