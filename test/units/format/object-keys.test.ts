import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { createNames, type Names } from '../../../src/format/names.ts';
import {
  classKey,
  createLayout,
  directoryPrefix,
  fileKey,
  isScratchKey,
  keyringPrefix,
  type Layout,
  OBJECT_CLASSES,
  type ObjectClass,
  parseClassKey,
  parseFileKey,
  parseTenantId,
} from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { joinPath, MEMORY_ROOT, type MemoryPath, parseMemoryPath } from '../../../src/language/path.ts';
import { encodeText } from '../../../src/language/text.ts';
import { added, digestOf, expand, format1, input } from '../../format/format-vectors.ts';

beforeAll(loadSodium);

const layoutOf = (prefix: string, tenant = 'acme'): Layout =>
  createLayout({ prefix, tenant: parseTenantId(tenant) });
const namesOf = (mode: number): Names =>
  createNames({ mode: mode === 0 ? 'plain' : 'encrypted', nameKey: input('NK') });
const misconfigured = expect.objectContaining({ code: 'misconfigured' });

describe('fileKey', () => {
  const files = format1.objectKeys.filter(({ path }) => !path.startsWith('/receipts/'));

  it.each(files.filter(({ length }) => length !== undefined))(
    'of $path below $prefix has $length bytes',
    ({ mode, prefix, tenant, path, length, key, blake2b256 }) => {
      const made = fileKey(layoutOf(prefix, tenant), namesOf(mode), describedPath(path));
      expect(encodeText(made)).toHaveLength(length ?? 0);
      if (key !== undefined) expect(made).toBe(key);
      if (blake2b256 !== undefined) expect(digestOf(encodeText(made)).blake2b256).toBe(blake2b256);
    },
  );

  it.each(files.filter(({ tooMany }) => tooMany !== undefined))(
    'of $path below $prefix is $tooMany bytes too long, and says so',
    ({ mode, prefix, tenant, path, tooMany }) => {
      const layout = layoutOf(prefix, tenant);
      const refusal = expect.objectContaining({
        code: 'invalid_path',
        details: { rule: 'key_too_long', tooMany },
      });
      expect(() => fileKey(layout, namesOf(mode), describedPath(path))).toThrow(refusal);
      expect(() => directoryPrefix(layout, namesOf(mode), describedPath(path))).toThrow(refusal);
    },
  );

  it('counts the bytes of plain names, not their characters', () => {
    const layout = layoutOf('');
    const path = joinPath(MEMORY_ROOT, ...Array.from({ length: 12 }, () => '日'.repeat(53)));
    expect(() => fileKey(layout, namesOf(0), path)).toThrow(
      expect.objectContaining({ code: 'invalid_path' }),
    );
  });

  it('is not made for the root', () => {
    expect(() => fileKey(layoutOf('p'), namesOf(1), MEMORY_ROOT)).toThrow(
      expect.objectContaining({ code: 'is_directory', details: { reason: 'root' } }),
    );
  });

  it('fits for four segments of 143 bytes and 20 of 15 bytes below the longest prefix', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 63 }), (tenantLength) => {
        const layout = layoutOf('p'.repeat(66 - tenantLength), 't'.repeat(tenantLength));
        const four = joinPath(MEMORY_ROOT, ...Array.from({ length: 4 }, () => 'y'.repeat(143)));
        const twenty = joinPath(MEMORY_ROOT, ...Array.from({ length: 20 }, () => 'z'.repeat(15)));
        for (const path of [four, twenty]) {
          expect(encodeText(fileKey(layout, namesOf(1), path)).length).toBeLessThanOrEqual(1_024);
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('directoryPrefix', () => {
  it('stands before every key below the directory and no other', () => {
    const [layout, names] = [layoutOf('p/q'), namesOf(1)];
    const notes = '/memories/notes' as MemoryPath;
    const prefix = directoryPrefix(layout, names, notes);
    expect(fileKey(layout, names, notes)).toBe(`${prefix.slice(0, -1)}.sealed`);
    expect(fileKey(layout, names, '/memories/notes/a.txt' as MemoryPath).startsWith(prefix)).toBe(true);
    expect(fileKey(layout, names, '/memories/notes2/a.txt' as MemoryPath).startsWith(prefix)).toBe(false);
    expect(directoryPrefix(layout, names, MEMORY_ROOT)).toBe(layout.data);
  });
});

describe('classKey', () => {
  const classes = format1.objectKeys.filter(({ path }) => path.startsWith('/receipts/'));

  it.each(classes)('of $path is $key', ({ prefix, tenant, path, key }) => {
    const [, cls, id = ''] = path.split('/');
    expect(classKey(layoutOf(prefix, tenant), cls as ObjectClass, id)).toBe(key);
  });

  it.each(['', 'a/b', '../a', 'a.b', 'é', 'x'.repeat(65), 'a\n'])('refuses the id %j', (id) => {
    expect(() => classKey(layoutOf(''), 'journal', id)).toThrow(misconfigured);
  });
});

describe('a path that no file can have', () => {
  it.each(added.invalidPaths)('is refused: $segments in mode $mode', ({ mode, segments }) => {
    const make = () =>
      fileKey(
        layoutOf('p'),
        namesOf(mode),
        parseMemoryPath(['/memories', ...segments.map(expand)].join('/')),
      );
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_path' }));
  });
});

describe('parseFileKey', () => {
  it('takes back what fileKey makes, and nothing beside the files', () => {
    const [layout, names] = [layoutOf('p'), namesOf(1)];
    const key = fileKey(layout, names, '/memories/notes/a.txt' as MemoryPath);
    expect(parseFileKey(layout, names, key)).toBe('/memories/notes/a.txt');
    const ofAnother = key.replace('acme', 'acmf');
    for (const other of [
      `x${key}`,
      ofAnother,
      key.replace('/data/', '/answers/'),
      layout.data,
      layout.probe,
    ]) {
      expect(parseFileKey(layout, names, other)).toBeUndefined();
    }
  });
});

describe('parseClassKey', () => {
  const [layout, prefix] = [layoutOf('p'), 'p/tenants/acme/'];

  it.each(added.recordKeys.accept)('finds $class and $id in $key', ({ class: cls, id, key }) => {
    expect(parseClassKey(layout, prefix + key)).toEqual({ cls, id });
    expect(classKey(layout, cls as ObjectClass, id)).toBe(prefix + key);
  });

  it.each(added.recordKeys.refuse)('finds nothing in %j', (key) => {
    expect(parseClassKey(layout, prefix + key)).toBeUndefined();
  });

  it.each(OBJECT_CLASSES)('takes back what classKey makes of the class %s', (cls) => {
    expect(parseClassKey(layout, classKey(layout, cls, 'A-z_9'))).toEqual({ cls, id: 'A-z_9' });
  });

  it.each([
    ...[
      'journal',
      'journal/',
      'journal/a/b',
      'journal/a.b',
      `journal/${'x'.repeat(65)}`,
      'data/a',
      'probe',
      '',
    ],
    ...['Journal/a', '/journal/a'],
  ])('knows no class of %j', (tail) => {
    expect(parseClassKey(layout, prefix + tail)).toBeUndefined();
  });

  it('knows no class below another tenant', () => {
    expect(parseClassKey(layout, 'p/tenants/acme2/journal/a')).toBeUndefined();
    expect(parseClassKey(layout, 'p/tenants/acmf/journal/a')).toBeUndefined();
    expect(parseClassKey(layout, 'tenants/acme/journal/a')).toBeUndefined();
  });
});

describe('isScratchKey', () => {
  it('is true of the probe and of what stands beside it alone', () => {
    const layout = layoutOf('p');
    for (const tail of ['', '-1a-create', '-1a-both/below']) {
      expect(isScratchKey(layout, layout.probe + tail)).toBe(true);
    }
    for (const tail of ['/a', 's', '_']) expect(isScratchKey(layout, layout.probe + tail)).toBe(false);
  });
});

describe('createLayout', () => {
  it('puts everything of a tenant but its keyring below one prefix', () => {
    expect(layoutOf('p/q')).toEqual({
      prefix: 'p/q',
      tenant: 'acme',
      keyring: 'p/q/keyrings/acme',
      tenantPrefix: 'p/q/tenants/acme/',
      data: 'p/q/tenants/acme/data/',
      probe: 'p/q/tenants/acme/probe',
    });
  });

  it('starts without a slash below an empty prefix', () => {
    expect(layoutOf('')).toMatchObject({ keyring: 'keyrings/acme', data: 'tenants/acme/data/' });
  });

  it.each(format1.objectKeys.filter(({ expect: outcome }) => outcome !== undefined))(
    'refuses $prefix with the tenant $tenant: $comment',
    ({ prefix, tenant }) => {
      expect(() => layoutOf(prefix, tenant)).toThrow(misconfigured);
      expect(layoutOf(prefix.slice(1), tenant).prefix).toBe(prefix.slice(1));
    },
  );

  it('tells by how much a prefix and a tenant id are too long together, in bytes', () => {
    expect(layoutOf('é'.repeat(31), 'acme').prefix).toHaveLength(31);
    expect(() => layoutOf('é'.repeat(31), 'acmes')).toThrow(
      expect.objectContaining({ code: 'misconfigured', details: { value: 67, max: 66 } }),
    );
  });

  it.each(added.prefixes.accept)('accepts the prefix %j', (prefix) => {
    expect(layoutOf(prefix).prefix).toBe(prefix);
  });

  it.each(['\ud800', 'p/a\udc00'])('refuses the prefix %j, which is no text', (prefix) => {
    expect(() => createLayout({ prefix, tenant: parseTenantId('a') })).toThrow(misconfigured);
  });

  it.each(added.prefixes.refuse)('refuses the prefix %j', (prefix) => {
    expect(() => layoutOf(prefix)).toThrow(misconfigured);
  });
});

describe('parseTenantId', () => {
  it.each(added.tenantIds.accept)('accepts %j', (text) => {
    expect(parseTenantId(text)).toBe(text);
  });

  it.each(added.tenantIds.refuse)('refuses %j', (text) => {
    expect(() => parseTenantId(text)).toThrow(misconfigured);
  });

  it.each([undefined, null, 7, ['acme']])('refuses %j, which is no text', (text) => {
    expect(() => parseTenantId(text as never)).toThrow(misconfigured);
  });
});

/** A path as it stands, or `4 segments y*150`. */
function describedPath(text: string): MemoryPath {
  const described = /^(\d+) segments (.)\*(\d+)$/.exec(text);
  if (described === null) return text as MemoryPath;
  const [, count, character = '', length] = described;
  return joinPath(
    MEMORY_ROOT,
    ...Array.from({ length: Number(count) }, () => character.repeat(Number(length))),
  );
}

describe('keyringPrefix', () => {
  it('begins the key of every keyring', () => {
    expect([keyringPrefix(''), keyringPrefix('a/b')]).toEqual(['keyrings/', 'a/b/keyrings/']);
    for (const prefix of ['', 'a/b']) {
      expect(layoutOf(prefix, 'acme').keyring).toMatch(new RegExp(`^${keyringPrefix(prefix)}acme`));
    }
  });
});
