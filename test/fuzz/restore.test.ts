import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExportReport, exportTree } from '../../src/admin/export/export-tree.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { openTenant } from '../../src/open/open-memory.ts';
import { openFolderObjectStore } from '../../src/store/folder.ts';
import { contentOfGolden, GOLDEN, type GoldenStore, goldenBytes } from '../format/golden.ts';
import { textsIn } from '../stage/object-folder.ts';
import { asyncVerdictOf, fuzz } from './fuzz.ts';
import { mutatedTexts, mutations } from './mutation.ts';

const CANARY = 'what lies beside the folder';
const base = mkdtempSync(join(tmpdir(), 'sealed-memory-fuzz-restore-'));
afterAll(() => rmSync(base, { recursive: true }));

const STORES = GOLDEN.flatMap(({ stores }) => stores);
const pieces = fc.constantFrom(
  ...[
    '/',
    '//',
    '.',
    '..',
    '../',
    '/../',
    '\\',
    '\0',
    '%2e%2e',
    '~',
    'link',
    'x'.repeat(300),
    '\ud800',
    ' ',
    '',
  ],
);

function lay(folder: string, key: string, body: Uint8Array | string): void {
  mkdirSync(dirname(join(folder, key)), { recursive: true });
  writeFileSync(join(folder, key), body);
}

describe('a key of a folder of objects', () => {
  const home = join(base, 'keys');
  const folder = join(home, 'objects');
  const files = ['keyrings/acme', 'tenants/acme/data/x', 'tenants/acme/data/directory/y'];
  beforeAll(() => {
    lay(home, 'outside', CANARY);
    lay(home, 'objects-beside/outside', CANARY);
    for (const key of files) lay(folder, key, key);
    symlinkSync('../outside', join(folder, 'link'));
    symlinkSync('..', join(folder, 'tenants/up'));
  });
  const keys = mutatedTexts(
    [
      ...files,
      'link',
      '../outside',
      'tenants/up/outside',
      'tenants/../../outside',
      '../objects-beside/outside',
    ],
    pieces,
  );

  fuzz('never leads out of it', {
    runs: 3_000,
    inputs: [fc.oneof(keys, fc.string({ unit: 'binary', maxLength: 20 }))],
    async check(key) {
      const store = openFolderObjectStore({ path: folder });
      const got = await asyncVerdictOf(() => store.get(key as ObjectKey));
      const head = await asyncVerdictOf(() => store.head(key as ObjectKey));
      if ('code' in got) {
        expect([got.code, head]).toEqual(['access_denied', { code: 'access_denied' }]);
        return;
      }
      const body = typeof got.value === 'object' ? Buffer.from(got.value.body).toString() : undefined;
      expect(body).toBe(files.includes(key) ? key : undefined);
      expect('value' in head && head.value?.size).toBe(body?.length);
      const listed = await asyncVerdictOf(async () => {
        const found: string[] = [];
        for await (const { objects } of store.list({ prefix: key })) {
          found.push(...objects.map((object) => object.key));
        }
        return found;
      });
      if ('code' in listed) {
        expect([listed.code, /^(link|tenants\/up)\//.test(key)]).toEqual(['access_denied', true]);
        return;
      }
      const all = ['link', 'tenants/up', ...files];
      expect(listed.value.toSorted()).toEqual(all.filter((each) => each.startsWith(key)).toSorted());
    },
  });
});

describe.each(STORES)('a folder of objects with $names names that was tampered with', (golden) => {
  const keys = Object.keys(golden.objects);
  const bodies = keys.map((key) => goldenBytes(golden.objects[key]));
  const texts = Object.fromEntries(
    Object.entries(golden.files).map(([path, file]) => [
      path.slice('/memories/'.length),
      Buffer.from(contentOfGolden(file)).toString(),
    ]),
  );
  const below = `tenants/${golden.tenant}/data/`;
  /** Another body at a key, or none. Keys are those of the store or made from them. */
  const change = fc.record({
    key: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...keys) },
      mutatedTexts(keys, pieces).map((key) => key.replaceAll(/[\0\\]|\.\.|^\/+/g, '-')),
      fc.constantFrom('tenants', 'keyrings', `${below}planted.sealed`, `${below}notes`, `${below}..-.sealed`),
    ),
    body: fc.oneof(
      mutations(bodies),
      fc.constantFrom(...bodies),
      fc.constant(undefined),
      fc.constant('link' as const),
    ),
  });

  it('is restored as it is when it was not', async () => {
    const { verdict, restored } = await restoreChanged(golden, []);
    expect(verdict).toMatchObject({ value: { files: Object.keys(texts).length, findings: [] } });
    expect(restored).toEqual(texts);
  });

  fuzz('gives back what was sealed, tells what it does not, and makes nothing else', {
    runs: 25,
    inputs: [fc.array(change, { minLength: 1, maxLength: 4 })],
    async check(changes) {
      const { verdict, restored, left } = await restoreChanged(golden, changes);
      if ('code' in verdict) {
        expect([
          'integrity',
          'key_unavailable',
          'unsupported_format',
          'access_denied',
          'misconfigured',
        ]).toContain(verdict.code);
        expect(left).toEqual(['objects', 'outside']);
        return;
      }
      expect(left).toEqual(['objects', 'outside', 'restored']);
      const { files, findings } = verdict.value;
      expect(Object.keys(restored)).toHaveLength(files);
      const told = findings.map((finding) => ('path' in finding ? finding.path : ''));
      for (const [path, text] of Object.entries(restored)) {
        expect([path, texts[path]]).toEqual([path, text]);
        expect(told).not.toContain(`/memories/${path}`);
      }
      const removed = changes.map(({ key }) => key);
      for (const [path, { key }] of Object.entries(golden.files)) {
        const isBack = path.slice('/memories/'.length) in restored;
        const isMoved = removed.some((other) => other === key || key.startsWith(`${other}/`));
        expect([path, isBack || isMoved || told.includes(path as never)]).toEqual([path, true]);
      }
    },
  });
});

let count = 0;

/** Lays the golden store down with the changes, and restores it. */
async function restoreChanged(
  golden: GoldenStore,
  changes: readonly { readonly key: string; readonly body: Uint8Array | 'link' | undefined }[],
) {
  const home = join(base, `${count++}`);
  const [folder, to] = [join(home, 'objects'), join(home, 'restored')];
  for (const [key, body] of Object.entries(golden.objects)) lay(folder, key, goldenBytes(body));
  lay(home, 'outside', CANARY);
  for (const { key, body } of changes) {
    try {
      rmSync(join(folder, key), { recursive: true, force: true });
      if (body === 'link') symlinkSync(join(home, 'outside'), join(folder, key));
      else if (body !== undefined) lay(folder, key, body);
    } catch {
      // The file system has no such name, or a file lies where a folder would have to: nothing was changed then.
    }
  }
  mkdirSync(folder, { recursive: true });
  const { tenant, rootKey } = golden;
  const { parts, close } = await openTenant({
    store: openFolderObjectStore({ path: folder }),
    tenant,
    rootKey,
  });
  const verdict = await asyncVerdictOf<ExportReport>(() => exportTree(parts.context, { to }));
  await close();
  const restored = 'value' in verdict ? await textsIn(to) : {};
  const left = readdirSync(home).sort();
  rmSync(home, { recursive: true });
  return { verdict, restored, left };
}
