import { beforeAll, describe, expect, it } from 'vitest';
import { parseKeyringHead } from '../../../src/format/keyring-bytes.ts';
import { createNames } from '../../../src/format/names.ts';
import { open } from '../../../src/format/object.ts';
import { type LogicalName, OBJECT_CLASSES } from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { isTombstone } from '../../../src/format/tombstone.ts';
import type { SealingKeys } from '../../../src/format/wrap.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { openKeyring } from '../../../src/keys/keyring.ts';
import { MEMORY_ROOT, parseMemoryPath } from '../../../src/language/path.ts';
import { openTenant } from '../../../src/open/open-memory.ts';
import { toHex } from '../../format/format-vectors.ts';
import {
  contentOfGolden,
  fillGolden,
  GOLDEN,
  GOLDEN_HISTORY,
  type GoldenStore,
  goldenBytes,
} from '../../format/golden.ts';

beforeAll(loadSodium);

const sets = GOLDEN.flatMap(({ format, stores }) => stores.map((store) => ({ format, store, ...store })));
const withHistory = [...sets, { ...GOLDEN_HISTORY, store: GOLDEN_HISTORY }];

async function openGolden({ objects, tenant, rootKey }: GoldenStore) {
  const bytes = goldenBytes(objects[`keyrings/${tenant}`]);
  const keyring = await openKeyring({ bytes, tenant, rootKeys: [envRootKey(rootKey)] });
  const active = keyring.tenantKeys.at(-1);
  if (active === undefined) throw new Error('there is no tenant key');
  const keys: SealingKeys = {
    tenant,
    keyringId: keyring.keyringId,
    active,
    find: (keyId) => keyring.tenantKeys.find((key) => toHex(key.keyId) === toHex(keyId)),
  };
  return { keyring, keys, names: createNames({ mode: keyring.nameMode, nameKey: keyring.nameKey }) };
}

/** The class of records that came to the format when the stores were kept already. */
const ADDED_LATER = 'checkpoints';

describe('the golden sets', () => {
  it('are of every version of the format, in both name modes', () => {
    expect(GOLDEN.map(({ format }) => format)).toEqual([1]);
    for (const { stores } of GOLDEN) {
      expect(stores.map(({ names }) => names).sort()).toEqual(['encrypted', 'plain']);
      for (const { files, records } of stores) {
        const all = Object.values(files);
        expect(new Set([...all, ...Object.values(records)].map(({ version }) => version))).toEqual(
          new Set([1, 2]),
        );
        for (const field of ['origin', 'previous'] as const) {
          expect(all.some((file) => !/^0+$/.test(file[field]))).toBe(true);
        }
        const classes = new Set(Object.keys(records).map((name) => name.split('/')[1]));
        expect(classes).toEqual(new Set(OBJECT_CLASSES.filter((cls) => cls !== ADDED_LATER)));
        expect(all.some(({ size }) => size === 0)).toBe(true);
      }
    }
    expect(sets.some(({ files }) => Object.values(files).some(({ size }) => size > 65_536))).toBe(true);
  });
});

describe.each(GOLDEN)('the marks of format $format', ({ shredMarker, tombstone }) => {
  it('are what they were', () => {
    expect(isTombstone(goldenBytes(tombstone))).toBe(true);
    expect(() => parseKeyringHead(goldenBytes(shredMarker))).toThrow(
      expect.objectContaining({ code: 'key_unavailable' }),
    );
  });
});

describe.each(withHistory)('the store $tenant of format $format with $names names', ({ store: golden }) => {
  const { files, records, objects, tenant, rootKey } = golden;

  it('has a keyring that opens', async () => {
    const { keyring } = await openGolden(golden);
    expect(keyring.nameMode).toBe(golden.names);
    expect(keyring.epoch).toBe(golden.keyring.epoch);
    expect(keyring.tenantKeys.map(({ version }) => version)).toEqual(golden.keyring.versions);
  });

  it.each(Object.entries(files))('holds %s', async (path, file) => {
    const { keys, names } = await openGolden(golden);
    const object = goldenBytes(objects[file.key]);
    const opened = open({ keys, name: path as LogicalName, object });
    expect(Buffer.compare(opened.content, contentOfGolden(file))).toBe(0);
    expect({
      mtime: opened.mtime,
      bound: String(opened.bound),
      previous: toHex(opened.previous),
      writer: toHex(opened.writer),
      origin: toHex(opened.origin),
      versionId: toHex(opened.id),
      drawnUnder: opened.drawnUnder,
      size: opened.content.length,
      version: keys.find(object.slice(60, 76))?.version,
    }).toEqual({
      mtime: file.mtime,
      bound: file.bound,
      previous: file.previous,
      writer: file.writer,
      origin: file.origin,
      versionId: file.versionId,
      drawnUnder: file.drawnUnder,
      size: file.size,
      version: file.version,
    });
    const segments = path.split('/').slice(2);
    const text = file.key.replace(`tenants/${tenant}/data/`, '');
    expect(names.encodeFile(segments)).toBe(text);
    expect(names.decodeFile([], text)).toEqual(segments);
  });

  it('holds its records, and nothing that is not told', async () => {
    const { keys } = await openGolden(golden);
    for (const [name, record] of Object.entries(records)) {
      const object = goldenBytes(objects[`tenants/${tenant}${name}`]);
      const { content, mtime, bound } = open({ keys, name: name as LogicalName, object });
      const read = { content: Buffer.from(content).toString('base64'), mtime, bound: String(bound) };
      expect({ ...record, ...read }).toEqual(record);
    }
    const told = [
      `keyrings/${tenant}`,
      ...Object.values(files).map(({ key }) => key as string),
      ...Object.keys(records).map((name) => `tenants/${tenant}${name}`),
    ];
    expect(Object.keys(objects).sort()).toEqual(told.sort());
  });

  it('is read, listed, changed and renamed by a memory of today', async () => {
    await using store = await fillGolden(golden);
    const { parts, close } = await openTenant({ store, tenant, rootKey });
    const { tree } = parts;
    const listing = await tree.list(MEMORY_ROOT);
    expect(listing.foreign).toBe(0);
    expect(listing.files.map(({ path, size }) => [path, size] as const).sort()).toEqual(
      Object.entries(files)
        .map(([path, { size }]) => [path, size] as const)
        .sort(),
    );
    for (const [path, file] of Object.entries(files)) {
      const content = await tree.read(parseMemoryPath(path));
      expect(content && Buffer.compare(content, contentOfGolden(file))).toBe(0);
      await tree.edit(parseMemoryPath(path), (before) => ({
        content: Uint8Array.of(...new TextEncoder().encode('+ '), ...before),
        result: undefined,
      }));
    }
    await tree.rename({ from: parseMemoryPath('/memories/notes'), to: parseMemoryPath('/memories/kept') });
    const moved = await tree.read(parseMemoryPath('/memories/kept/today.md'));
    expect(new TextDecoder().decode(moved)).toBe('+ one line\nanother line\n');
    await close();
  });
});
