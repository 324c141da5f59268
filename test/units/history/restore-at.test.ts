import { expect, it } from 'vitest';
import { turnTenantHistory } from '../../../src/admin/keys/turn-history.ts';
import { MemoryError } from '../../../src/errors.ts';
import { classKey } from '../../../src/format/object-keys.ts';
import { createHistory } from '../../../src/history/history.ts';
import { readWholePast } from '../../../src/history/past/read.ts';
import { readHistoryRecord } from '../../../src/history/past/records.ts';
import { encodeHistoryRecord } from '../../../src/history/save/history-record.ts';
import { writeRecord } from '../../../src/tree/records/sealed-record.ts';
import { dieAt, everyDeath } from '../../kills/killed-run.ts';
import { historyOf, keepingClient, textsOf } from '../../stage/history-site.ts';
import { createOperator } from '../../stage/key-operator.ts';
import { MIGRATIONS, migrateFile } from '../../stage/rare-writes.ts';
import {
  at,
  bytes,
  describeOnBothKinds,
  inTime,
  type TestClient,
  type TestSite,
} from '../../stage/test-tree.ts';

const [A, B, C] = ['/memories/d/a', '/memories/d/b', '/memories/c'];

/** The moment of a call, with time on both sides of it. */
async function moment(site: TestSite): Promise<Date> {
  await site.time.pause(10);
  const time = new Date(site.time.clock());
  await site.time.pause(10);
  return time;
}

/** Files that are edited, renamed, deleted and created behind the moment. */
async function changed(site: TestSite): Promise<{ client: TestClient; then: Date }> {
  const client = await keepingClient(site);
  await client.create(A, 'a');
  await client.create(B, 'b');
  await client.create(C, 'c');
  const then = await moment(site);
  await client.append(A, ' edited');
  await client.rename(B, '/memories/e/b');
  await client.append('/memories/e/b', ' edited');
  await client.remove(C);
  await client.create('/memories/c/new', 'new');
  return { client, then };
}

const THEN = { [C]: 'c', [A]: 'a', [B]: 'b' };

/** Puts what redacts a version in the place of what was saved of it. */
async function redact(client: TestClient, version: string): Promise<void> {
  const work = await client.open();
  const id = (await readWholePast(work)).versions.get(version)?.record ?? '';
  const record = await readHistoryRecord(work, id);
  if (record?.kind !== 'replaced') throw new Error('there is no such record');
  const { text: _, ...rest } = record;
  const content = encodeHistoryRecord({ ...rest, kind: 'redacted' });
  await client.tenant.store.delete([{ key: classKey(client.layout, 'history', id) }]);
  await writeRecord(work, { cls: 'history', id }, { content, base: undefined });
}

describeOnBothKinds('the files of a moment', (newSite) => {
  it('come back as new versions, edits, renames, deletes and what was new', async () => {
    const site = await newSite();
    const { client, then } = await changed(site);
    const { outcome, changes, left } = await historyOf(client).restoreAt(then, { actor: 'ann' });
    expect(await textsOf(client)).toEqual(THEN);
    expect({ outcome, left }).toEqual({ outcome: 'written', left: [] });
    expect(changes.map(({ path, what }) => `${what} ${path}`)).toEqual([
      `create ${C}`,
      'delete /memories/c/new',
      `replace ${A}`,
      `create ${B}`,
      'delete /memories/e/b',
    ]);
    const log = await historyOf(client).list();
    const written = log.filter((entry) => entry.writer === 'ann').map(({ kind, path }) => `${kind} ${path}`);
    expect(written.sort()).toEqual([
      'deleted /memories/c/new',
      'deleted /memories/e/b',
      `written ${C}`,
      `written ${A}`,
      `written ${B}`,
    ]);
    expect(await historyOf(client).restoreAt(then)).toEqual({ outcome: 'nothing', changes: [], left: [] });
  });

  it('name a version that a rename of which nothing tells has brought to where another one lay', async () => {
    for (const death of everyDeath(16)) {
      const site = await newSite();
      const client = await keepingClient(site);
      await client.create(A, 'a');
      await client.create(B, 'b');
      const then = await moment(site);
      await client.rename(A, C);
      const renamer = await keepingClient(site);
      renamer.intercept(dieAt(death));
      await renamer.rename(B, A).catch(() => undefined);
      await site.time.pause(60_000);
      const { left } = await historyOf(await keepingClient(site)).restoreAt(then);
      if (left.length === 0)
        expect(await textsOf(client), JSON.stringify(death)).toEqual({ [A]: 'a', [B]: 'b' });
    }
  });

  it('lack what was written at that very moment, and have what was deleted then', async () => {
    const site = await newSite();
    let now = site.time.clock();
    const client = await site.client({ keepsHistory: true, clock: () => now });
    await client.create(A, 'a');
    now += 60_000;
    await client.create(B, 'b');
    await client.remove(A);
    await historyOf(client).restoreAt(new Date(now));
    expect(await textsOf(client)).toEqual({ [A]: 'a' });
  });

  it('are planned without a write, each change with its versions', async () => {
    const site = await newSite();
    const { client, then } = await changed(site);
    const [now, before] = (await historyOf(client).list(A)).map(({ version }) => version);
    const texts = await textsOf(client);
    client.calls.length = 0;
    const plan = await historyOf(client).restoreAt(then.toISOString(), { dryRun: true, below: A });
    expect(plan).toEqual({
      outcome: 'planned',
      changes: [{ path: A, what: 'replace', fromVersion: now, toVersion: before }],
      left: [],
      digest: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(client.calls.filter(({ verb }) => verb === 'put' || verb === 'delete')).toEqual([]);
    expect(await textsOf(client)).toEqual(texts);
  });

  it('are restored below one path alone', async () => {
    const site = await newSite();
    const { client, then } = await changed(site);
    await historyOf(client).restoreAt(then, { below: '/memories/d' });
    expect(await textsOf(client)).toEqual({
      '/memories/c/new': 'new',
      [A]: 'a',
      [B]: 'b',
      '/memories/e/b': 'b edited',
    });
  });

  it('are left where one cannot be had, unless parts are asked for', async () => {
    const site = await newSite();
    const { client, then } = await changed(site);
    const version = (await historyOf(client).list(A)).at(-1)?.version ?? '';
    await redact(client, version);
    const texts = await textsOf(client);
    const left = [{ path: A, reason: 'redacted', version }];
    const withheld = await historyOf(client).restoreAt(then);
    expect(withheld).toMatchObject({ outcome: 'withheld', left });
    expect(withheld.changes).toHaveLength(4);
    expect(await textsOf(client)).toEqual(texts);
    expect(await historyOf(client).restoreAt(then, { partial: true })).toMatchObject({
      outcome: 'written',
      left,
    });
    expect(await textsOf(client)).toEqual({ ...THEN, [A]: 'a edited' });
  });

  it('name versions that expired, files that are damaged, and a time from which nothing is kept', async () => {
    const site = await newSite();
    const { client, then } = await changed(site);
    for await (const { objects } of site.base.list({ prefix: `${client.layout.tenantPrefix}history/` }))
      await site.base.delete(objects.map(({ key }) => ({ key })));
    const plan = await historyOf(client).restoreAt(then, { dryRun: true });
    expect(plan.left).toContainEqual({ path: A, reason: 'expired', version: expect.any(String) });
    expect(plan.left).toContainEqual({
      path: '/memories/e/b',
      reason: 'expired',
      version: expect.any(String),
    });
    const { tenant, tree } = client;
    await site.time.pause(3 * 86_400_000);
    const late = await createHistory(tenant, tree, { retentionDays: 2 }).restoreAt(then, {
      below: '/memories/x',
    });
    expect(late).toEqual({
      outcome: 'withheld',
      changes: [],
      left: [{ path: '/memories/x', reason: 'too_early' }],
      begins: expect.any(Date),
    });
    for await (const { objects } of site.base.list({ prefix: client.layout.data }))
      for (const { key } of objects) await site.base.put(key, bytes('x'.repeat(300)), { mode: 'overwrite' });
    const damaged = await historyOf(await keepingClient(site)).restoreAt(then, { partial: true });
    expect(damaged.left).toContainEqual({ path: A, reason: 'damaged' });
  });

  it('are judged again where another process writes meanwhile', async () => {
    const site = await newSite();
    const { client, then } = await changed(site);
    const other = await keepingClient(site);
    let isFirst = true;
    client.intercept(async (call, proceed) => {
      await site.time.pause(2);
      if (call.verb === 'put' && isFirst) {
        isFirst = false;
        await other.append(A, ' meanwhile');
      }
      return proceed();
    });
    expect(await historyOf(client).restoreAt(then)).toMatchObject({ outcome: 'written' });
    expect(await textsOf(client)).toEqual(THEN);
    const texts = await Promise.all(
      (await historyOf(client).list(A))
        .filter(({ kind }) => kind === 'written')
        .map(async (entry) => (await historyOf(client).read(entry)).text()),
    );
    expect(texts).toContain('a edited meanwhile');
  });

  it('are not written where what is replaced would be lost', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create(A, 'a');
    const then = await moment(site);
    await client.create(B, 'b');
    await expect(historyOf(client).restoreAt(then)).rejects.toMatchObject({ code: 'misconfigured' });
    expect(await client.text(B)).toBe('b');
  });

  it('are told how far they have come', async () => {
    const site = await newSite();
    const { client, then } = await changed(site);
    const seen: number[] = [];
    await historyOf(client).restoreAt(then, {
      onProgress: ({ done, total }) => {
        expect(total).toBe(5);
        seen.push(done);
      },
    });
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    const controller = new AbortController();
    controller.abort();
    await expect(historyOf(client).restoreAt(then, { signal: controller.signal })).rejects.toMatchObject({
      code: 'aborted',
    });
  });
});

describeOnBothKinds('a moment of which the history does not tell all', (newSite) => {
  const NEW = '/memories/new';

  /** A file that was overwritten before history was turned on, renamed and edited behind that. */
  async function turned(site: TestSite) {
    const early = await site.client();
    await early.create(A, 'one');
    const before = await moment(site);
    await early.tree.overwrite(at(A), bytes('two'));
    const { clock, pause } = site.time;
    await pause(10);
    const { editor } = await createOperator(site);
    await turnTenantHistory({ editor, stamps: inTime(clock) }, 'on');
    // Every writer keeps it by then.
    await pause(3_600_000);
    const client = await keepingClient(site);
    const then = await moment(site);
    await client.create(NEW, 'new');
    await client.append(NEW, ' edited');
    await client.rename(A, B);
    await client.append(B, ' edited');
    return { client, before, then };
  }

  it('leaves the file that may have been there then, and deletes the one that was created since', async () => {
    const { client, before, then } = await turned(await newSite());
    const deleted = { path: NEW, what: 'delete' };
    const sure = await historyOf(client).restoreAt(then, { dryRun: true });
    expect(sure.changes).toMatchObject([{ what: 'create', path: A }, { what: 'delete', path: B }, deleted]);
    expect(sure.left).toEqual([]);
    const version = (await historyOf(client).list(B)).at(-1)?.version;
    const unsure = await historyOf(client).restoreAt(before, { dryRun: true });
    expect(unsure.changes).toMatchObject([deleted]);
    // It was overwritten then, and nothing tells what it had held.
    const unknown = { reason: 'too_early', version };
    expect(unsure.left).toEqual([
      { path: '/memories', reason: 'too_early' },
      { path: A, ...unknown },
      { path: B, ...unknown },
    ]);
  });

  it('says when the history begins, and withholds what would delete all', async () => {
    const site = await newSite();
    const early = new Date(site.time.clock());
    await site.time.pause(10);
    const { client } = await changed(site);
    const entries = await historyOf(client).list();
    const begins = new Date(Math.min(...entries.map(({ time }) => time.getTime())));
    const texts = await textsOf(client);
    const left = [{ path: '/memories', reason: 'too_early' }];
    const withheld = await historyOf(client).restoreAt(early);
    expect(withheld).toMatchObject({ outcome: 'withheld', left, begins });
    expect(await textsOf(client)).toEqual(texts);
    expect(await historyOf(client).restoreAt(begins, { dryRun: true })).toMatchObject({ left: [] });
    const partial = await historyOf(client).restoreAt(early, { partial: true });
    expect(partial).toMatchObject({ outcome: 'written', left, begins });
    expect(await textsOf(client)).toEqual({});
  });

  it('takes for created what names a writer, or was written since history was turned on', async () => {
    const site = await newSite();
    await turned(site);
    const then = await moment(site);
    const { editor } = await createOperator(site);
    for (const to of ['off', 'on'] as const)
      await turnTenantHistory({ editor, stamps: inTime(site.time.clock) }, to);
    const client = await keepingClient(site);
    await client.create('/memories/during', 'written before all writers keep it');
    const [late, named] = [at('/memories/late'), at('/memories/named')];
    const planned = async (time: Date) => {
      const { changes, left } = await historyOf(client).restoreAt(time, { dryRun: true });
      return { deleted: changes.map(({ path }) => path), left: left.map(({ path }) => path) };
    };
    const since = await moment(site);
    await client.create(late, 'late');
    await client.tree.create(named, bytes('named'), { actor: 'ann' });
    expect(await planned(then)).toEqual({ deleted: [named], left: ['/memories/during', late] });
    expect(await planned(since)).toEqual({ deleted: [late, named], left: [] });
  });
});

describeOnBothKinds('a file that a rename was cut off with', (newSite) => {
  /** Another process was about to rename A to B, and died behind its copy; a moment since. */
  async function cutOff(site: TestSite, client: TestClient): Promise<Date> {
    const dying = await keepingClient(site);
    await dying.text(A);
    let isCopied = false;
    dying.intercept(async (call, proceed) => {
      if (isCopied && call.verb !== 'head' && call.verb !== 'list')
        throw new MemoryError('aborted', 'the process is dead');
      isCopied ||= call.verb === 'put' && call.key.startsWith(client.layout.data);
      return proceed();
    });
    await expect(dying.rename(A, B)).rejects.toThrow();
    expect(await client.paths()).toEqual([A, B]);
    return moment(site);
  }

  async function forked(site: TestSite) {
    const client = await keepingClient(site);
    await client.create(A, 'text');
    const before = await moment(site);
    const between = await cutOff(site, client);
    return { client, before, between };
  }

  const EDITS = [[A], [B], [A, B]].flatMap((edited) =>
    [undefined, ...MIGRATIONS].map((again) => ({ edited, again })),
  );
  it.each(EDITS)(
    'is kept where it lay, or may have: edited at $edited, written again: $again',
    async (what) => {
      const { edited, again } = what;
      for (const when of ['between', 'before'] as const) {
        const site = await newSite();
        const { client, ...moments } = await forked(site);
        for (const path of [A, B]) if (again !== undefined) await migrateFile(client, path, again);
        for (const path of edited) await client.append(path, ' edited');
        const { left } = await historyOf(client).restoreAt(moments[when], { partial: true });
        const unsure = new Set(left.map(({ path }) => path));
        const texts = await textsOf(client);
        expect(texts[A], when).toBe(unsure.has(A) && edited.includes(A) ? 'text edited' : 'text');
        const wasCopied = when === 'between' || unsure.has(B);
        if (wasCopied)
          expect(texts[B], when).toBe(unsure.has(B) && edited.includes(B) ? 'text edited' : 'text');
        // If it was edited at one place alone, it is known to have been written at the other or at that one.
        if (edited.length === 1) expect(unsure.has(A), when).toBe(false);
      }
    },
  );

  it.each(MIGRATIONS)(
    'is kept at both where it had come from the one to the other before, %s',
    async (how) => {
      const site = await newSite();
      const client = await keepingClient(site);
      await client.create(B, 'text');
      await client.rename(B, A);
      const then = await cutOff(site, client);
      for (const path of [A, B]) await migrateFile(client, path, how);
      await client.text(A);
      const { changes } = await historyOf(client).restoreAt(then, { dryRun: true });
      expect(changes).toEqual([]);
    },
  );
});
