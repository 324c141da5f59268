import { describe, expect, it } from 'vitest';
import type { NameMode } from '../../../../src/format/names.ts';
import { fileKey, logicalName } from '../../../../src/format/object-keys.ts';
import { createMountedTree } from '../../../../src/open/mounted-tree.ts';
import { confirmedPut } from '../../../../src/tree/confirmed-put.ts';
import { bindVersion, readFile } from '../../../../src/tree/read-file.ts';
import { createRenameRegister } from '../../../../src/tree/rename/finish-renames.ts';
import type { RenameLease } from '../../../../src/tree/rename/lease.ts';
import { readRegister } from '../../../../src/tree/rename/register.ts';
import type { Tree } from '../../../../src/tree/tree.ts';
import { historyOf } from '../../../stage/history-site.ts';
import { putUnchecked } from '../../../stage/rare-writes.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds, openSite, type TestClient } from '../../../stage/test-tree.ts';

const MOST_SEGMENTS = 20;
const LONGEST_SEGMENT = 143;
const MOST_KEY_BYTES = 1_024;

const segments = (count: number, segment = 's'): string => `/${segment}`.repeat(count);

/** A limit of a path: a target that keeps it, and one that is just beyond it. */
interface Limit {
  readonly rule: string;
  /** Below the directory that is renamed. */
  readonly inside: string;
  readonly keeps: string;
  readonly breaks: string;
}

const NAME_MODES: readonly NameMode[] = ['plain', 'encrypted'];

function segmentLimit(): Limit {
  const inside = segments(MOST_SEGMENTS - 2);
  return { rule: 'too_many_segments', inside, keeps: '/x/y', breaks: '/x/y/z' };
}

/** With names that are encrypted a key grows by steps of several bytes, so the last that fits is looked for. */
async function keyLimit(client: TestClient): Promise<Limit> {
  const { tenant, keyring } = await client.open();
  const inside = segments(2, 'x'.repeat(LONGEST_SEGMENT));
  const keyLength = (directory: string): number => {
    try {
      const key = fileKey(tenant.layout, keyring.names, at(`/memories${directory}${inside}`));
      return new TextEncoder().encode(key).length;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  };
  const directories = Array.from({ length: 8 * LONGEST_SEGMENT }, (_, index) => {
    const whole = Math.floor(index / LONGEST_SEGMENT);
    return `${segments(whole, 'y'.repeat(LONGEST_SEGMENT))}/${'z'.repeat(1 + (index % LONGEST_SEGMENT))}`;
  });
  const beyond = directories.findIndex((directory) => keyLength(directory) > MOST_KEY_BYTES);
  const [keeps, breaks] = [directories[beyond - 1], directories[beyond]];
  if (keeps === undefined || breaks === undefined) throw new Error('no directory is at the limit');
  return { rule: 'key_too_long', inside, keeps, breaks };
}

/** A tree as it is seen, and the client that sends its requests. */
interface Place {
  readonly client: TestClient;
  readonly tree: Tree;
  readonly root: string;
}

async function placeOf(
  options: { readonly names: NameMode; readonly keepsHistory: boolean },
  mounted: 'mounted' | 'own',
): Promise<Place> {
  const site = await openSite();
  const client = await site.client(options);
  if (mounted === 'own') return { client, tree: client.tree, root: '/memories' };
  const base = await site.client({ tenant: 'base' });
  const mounts = [{ at: at('/memories/org'), tree: client.tree }];
  return { client, tree: createMountedTree(base.tree, mounts), root: '/memories/org' };
}

const PLACES = NAME_MODES.flatMap((names) =>
  [false, true].flatMap((keepsHistory) =>
    (['own', 'mounted'] as const).map((mounted) => ({ names, keepsHistory, mounted })),
  ),
);

describe.each(PLACES)('a rename, with $names names, history: $keepsHistory, $mounted', (place) => {
  const open = (): Promise<Place> => placeOf(place, place.mounted);
  const below = place.mounted === 'own' ? {} : { below: '/memories/org' };

  for (const name of ['segments', 'key'] as const) {
    const limitOf = ({ client }: Place): Limit | Promise<Limit> =>
      name === 'segments' ? segmentLimit() : keyLimit(client);

    it(`of a directory keeps its files within the limit of the ${name}, or copies nothing`, async () => {
      const here = await open();
      const { client, tree, root } = here;
      const { inside, keeps, breaks, rule } = await limitOf(here);
      await tree.create(at(`${root}/d${inside}`), bytes('text'));
      await tree.create(at(`${root}/d/near`), bytes('text'));
      client.calls.length = 0;
      await expect(tree.rename({ from: at(`${root}/d`), to: at(`${root}${breaks}`) })).rejects.toMatchObject({
        code: 'invalid_path',
        details: {
          rule,
          role: 'target',
          paths: [`${root}${breaks}${inside}`],
          ...(name === 'segments' && below),
        },
      });
      expect(countCalls(client.calls)['put']).toBeUndefined();
      await tree.rename({ from: at(`${root}/d`), to: at(`${root}${keeps}`) });
      const { files } = await tree.list(at(root));
      expect(files.map(({ path }) => path).sort()).toEqual(
        [`${root}${keeps}/near`, `${root}${keeps}${inside}`].sort(),
      );
    });

    it(`of a file keeps it within the limit of the ${name}, or copies nothing`, async () => {
      const here = await open();
      const { client, tree, root } = here;
      const { inside, keeps, breaks, rule } = await limitOf(here);
      await tree.create(at(`${root}/f`), bytes('text'));
      client.calls.length = 0;
      const to = at(`${root}${breaks}${inside}`);
      const refused = tree.rename({ from: at(`${root}/f`), to });
      await expect(refused).rejects.toMatchObject({
        code: 'invalid_path',
        details: { rule, role: 'target' },
      });
      await expect(refused).rejects.not.toHaveProperty('details.paths');
      expect(countCalls(client.calls)['put']).toBeUndefined();
      await tree.rename({ from: at(`${root}/f`), to: at(`${root}${keeps}${inside}`) });
      expect(await tree.read(at(`${root}${keeps}${inside}`))).toEqual(bytes('text'));
    });
  }

  it('may give a file and a directory the longest segment, and no longer one', async () => {
    const { tree, root } = await open();
    await tree.create(at(`${root}/d/f`), bytes('text'));
    const longest = `${root}/${'n'.repeat(LONGEST_SEGMENT)}`;
    await tree.rename({ from: at(`${root}/d`), to: at(longest) });
    await tree.rename({ from: at(`${longest}/f`), to: at(`${longest}/${'m'.repeat(LONGEST_SEGMENT)}`) });
    expect((await tree.list(at(root))).files).toMatchObject([
      { path: `${longest}/${'m'.repeat(LONGEST_SEGMENT)}` },
    ]);
    expect(() => at(`${longest}n`)).toThrow(expect.objectContaining({ code: 'invalid_path' }));
  });
});

/** As deep as a key with encrypted names can be; writers that did not count have made such files. */
const DEEP = `/memories/d${segments(21)}`;

describe.each(PLACES.filter(({ mounted }) => mounted === 'own'))(
  'a file that lies too deep, with $names names, history: $keepsHistory',
  ({ names, keepsHistory }) => {
    async function planted() {
      const site = await openSite();
      const clock = (): number => Math.floor(site.time.clock());
      const client = await site.client({ names, keepsHistory, clock });
      client.intercept(async (_, proceed) => {
        await site.time.pause(2);
        return proceed();
      });
      await client.create('/memories/near', 'text');
      const path = await putUnchecked(client, DEEP, 'one');
      return { client, path };
    }
    const nothing = { code: 'invalid_path', details: { rule: 'too_many_segments', value: 22, max: 20 } };

    it('is read, found and listed', async () => {
      const { client, path } = await planted();
      expect(await client.text(DEEP)).toBe('one');
      expect(await client.tree.stat(path)).toMatchObject({ path, size: 3 });
      expect(await client.tree.stat(at('/memories/d'))).toBe('directory');
      expect(await client.paths()).toEqual([DEEP, '/memories/near']);
      expect(await client.paths(DEEP.slice(0, -2))).toEqual([DEEP]);
      const walked: unknown[] = [];
      for await (const page of client.tree.walk(at('/memories'), { recursive: true })) walked.push(...page);
      expect(walked).toHaveLength(2);
    });

    it('is edited, replaced and deleted, and never made', async () => {
      const { client, path } = await planted();
      const { tree } = client;
      await client.append(DEEP, ' two');
      await tree.overwrite(path, bytes('three'));
      const version = await tree.readVersion(path);
      if (version === undefined) throw new Error('nothing is there');
      await tree.replace(path, { content: bytes('four'), version: version.etag });
      expect(await client.text(DEEP)).toBe('four');
      await client.remove(DEEP);
      expect(await client.paths()).toEqual(['/memories/near']);
      client.calls.length = 0;
      await expect(tree.create(path, bytes('new'))).rejects.toMatchObject(nothing);
      await expect(tree.overwrite(path, bytes('new'))).rejects.toMatchObject(nothing);
      await expect(client.append(DEEP, 'new')).rejects.toMatchObject(nothing);
      await expect(client.remove(DEEP)).rejects.toMatchObject(nothing);
      await expect(tree.list(path)).rejects.toMatchObject(nothing);
      await expect(client.rename(DEEP, '/memories/new')).rejects.toMatchObject({
        ...nothing,
        details: { ...nothing.details, role: 'source' },
      });
      expect(await tree.read(path)).toBeUndefined();
      expect(await tree.stat(path)).toBeUndefined();
      expect(countCalls(client.calls)['put']).toBeUndefined();
    });

    it('may be renamed to a path that is no deeper, alone and with its directory', async () => {
      const { client } = await planted();
      await expect(client.rename(DEEP, `${DEEP}/deeper`)).rejects.toMatchObject({ code: 'already_exists' });
      await expect(client.rename('/memories/d', '/memories/x/d')).rejects.toMatchObject({
        code: 'invalid_path',
      });
      await client.rename('/memories/d', '/memories/e');
      const moved = DEEP.replace('/d/', '/e/');
      expect(await client.paths()).toEqual([moved, '/memories/near']);
      await client.rename(moved, `${moved.slice(0, -2)}/t`);
      await client.rename(`/memories/e${segments(20)}/t`, '/memories/up');
      expect(await client.paths()).toEqual(['/memories/near', '/memories/up']);
      expect(await client.text('/memories/up')).toBe('one');
    });

    if (!keepsHistory) return;
    it('has a history that is told, restored, taken back and redacted', async () => {
      const { client, path } = await planted();
      const history = historyOf(client);
      const carol = { actor: 'carol' };
      const before = new Date(client.tenant.clock());
      await client.append(DEEP, ' two');
      await client.remove(DEEP);
      const versions = (await history.list(DEEP)).flatMap((entry) =>
        entry.kind === 'written' ? [entry.version] : [],
      );
      expect(versions).toHaveLength(2);
      expect((await history.list()).map((entry) => entry.path)).toContain(DEEP);
      const [second = '', first = ''] = versions;
      await history.restore({ path: DEEP, version: second });
      expect(await client.text(DEEP)).toBe('one two');
      await history.restore({ path: DEEP, version: first });
      expect(await client.text(DEEP)).toBe('one');

      await client.remove(DEEP);
      await history.restoreAt(before);
      expect(await client.text(DEEP)).toBe('one');

      await client.tree.rename({ from: path, to: at('/memories/up') }, carol);
      expect(await client.paths()).toEqual(['/memories/near', '/memories/up']);
      expect((await history.undo({ writer: 'carol' })).left).toEqual([]);
      expect(await client.paths()).toEqual([DEEP, '/memories/near']);

      await history.redact({ path: DEEP, version: second });
      await expect(history.read({ path: DEEP, version: second })).rejects.toMatchObject({
        details: { reason: 'redacted' },
      });
    });
  },
);

describeOnBothKinds('a rename of a directory', (newSite) => {
  const TO = '/memories/x/y';
  const LONG = segments(4, 'x'.repeat(LONGEST_SEGMENT));
  /** Files that others create while it runs, and that fit where it began and not where it goes. */
  const LATE: Readonly<Record<string, { readonly file: string; readonly to: string }>> = {
    'a file that would lie too deep': { file: `/memories/d${segments(19)}`, to: TO },
    'a file whose key would be too long': {
      file: `/memories/d${LONG}`,
      to: `/memories${segments(3, 'y'.repeat(LONGEST_SEGMENT))}`,
    },
  };

  it.each(Object.entries(LATE))('leaves %s where it was created meanwhile', async (_, { file, to }) => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/d/near', 'near');
    let met = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'delete' && !met) {
        met = true;
        await other.create(file, 'late');
      }
      return proceed();
    });
    await expect(client.rename('/memories/d', to)).rejects.toMatchObject({
      code: 'version_conflict',
      details: { reason: 'left_behind', files: 1, paths: [file] },
    });
    expect(await other.paths()).toEqual([file, `${to}/near`].sort());
    expect(await readRegister(await other.open())).toMatchObject({ entry: undefined });
    await other.rename('/memories/d', '/memories/e');
    expect(await other.text(file.replace('/d/', '/e/'))).toBe('late');
  });

  it.each(Object.entries(LATE))(
    'that another process finishes is taken back for %s',
    async (_, { file, to }) => {
      const site = await newSite();
      const [client, gone] = [await site.client(), await site.client()];
      await client.create('/memories/d/near', 'near');
      const rename = { from: at('/memories/d'), to: at(to) };
      await createRenameRegister().begin(await gone.open(), rename);
      await client.create(file, 'late');
      await site.time.pause(10_001);
      const next = await site.client();
      expect(await next.paths()).toEqual([file, '/memories/d/near'].sort());
      // Each file is judged before the first copy.
      expect(next.calls.filter((call) => call.verb === 'put' && call.key.includes('/data/'))).toEqual([]);
      expect(await readRegister(await next.open())).toMatchObject({ entry: undefined });
      expect(next.logged).toContainEqual(
        expect.objectContaining({ fields: expect.objectContaining({ code: 'invalid_path' }) }),
      );
    },
  );

  it.each(['copying', 'moving'] as const)(
    'that a process left in its phase %s which counted no segments ends with the file at one place',
    async (phase) => {
      const site = await newSite();
      const client = await site.client();
      const [near, deep] = ['/memories/d/near', `/memories/d${segments(19)}`];
      for (const path of [near, deep]) await client.create(path, path);
      const moved = deep.replace('/d/', '/x/y/');
      const work = await client.open();
      const lease = await createRenameRegister().begin(work, { from: at('/memories/d'), to: at(TO) });
      await copyUncounted(lease, { [deep]: moved, [near]: `${TO}/near` });
      if (phase === 'moving') await lease.enter('moving');
      await site.time.pause(10_001);
      const next = await site.client();
      expect(await next.paths()).toEqual(
        phase === 'copying' ? [deep, near].sort() : [`${TO}/near`, moved].sort(),
      );
      expect(await next.text(phase === 'copying' ? deep : moved)).toBe(deep);
      expect(await readRegister(work)).toMatchObject({ entry: undefined });
    },
  );
});

/** Copies files as a process does that knows no limit of segments. */
async function copyUncounted({ work, rename }: RenameLease, copies: Readonly<Record<string, string>>) {
  for (const [from, to] of Object.entries(copies)) {
    const source = await readFile(work, at(from));
    if (source === undefined) throw new Error('there is no source');
    const names = { from: logicalName(at(from)), to: logicalName(at(to)) };
    const key = fileKey(work.tenant.layout, work.keyring.names, at(to));
    await confirmedPut(work, {
      key,
      seal: (stamp) => bindVersion(work, source, { ...stamp, ...names, origin: rename.id }),
      after: source.bound,
      mode: 'create',
    });
  }
}
