import { expect, it } from 'vitest';
import type { MigrationReport } from '../../src/admin/keys/migrate.ts';
import { toBase64url } from '../../src/format/encoding.ts';
import { commitmentOf, readHeader } from '../../src/format/header.ts';
import { open } from '../../src/format/object.ts';
import { logicalName, type ObjectKey, parseFileKey } from '../../src/format/object-keys.ts';
import { equalBytes } from '../../src/format/sodium.ts';
import type { SealingKeys } from '../../src/format/wrap.ts';
import type { ETag } from '../../src/store/port.ts';
import { type Death, dieAt, everyDeath } from '../kills/killed-run.ts';
import { drawsOf } from '../runner/draws.ts';
import { amount } from '../runner/thorough.ts';
import { createOperator, type KeyOperator, storedObjects } from '../stage/key-operator.ts';
import { type Around, atFirst } from '../stage/store-wrappers.ts';
import { describeOnBothKinds, type TestClient, type TestSite } from '../stage/test-tree.ts';

/** Old enough for a migration, and long enough for every process to have read the keyring again. */
const SOME_TIME_MS = 1_000_000;
/** For so long a process stands still: its lease runs out, and what it wrote counts as settled. */
const FROZEN_MS = 61_000;

const MIGRATIONS = [{ reencrypt: false }, { reencrypt: true }] as const;
type Migration = (typeof MIGRATIONS)[number];

/** The source and the target of a rename, and the files with their texts before and afterwards. */
interface Renaming {
  readonly from: string;
  readonly to: string;
  readonly before: Readonly<Record<string, string>>;
}

const ONE_FILE: Renaming = {
  from: '/memories/from',
  to: '/memories/to',
  before: { '/memories/from': 'one text' },
};
const DIRECTORY: Renaming = {
  from: '/memories/from',
  to: '/memories/to',
  before: { '/memories/from/a': 'one text', '/memories/from/b': 'another', '/memories/from/deep/c': 'third' },
};

function renamed({ from, to, before }: Renaming): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(before).map(([path, text]) => [path.replace(from, to), text]));
}

interface Scene {
  readonly site: TestSite;
  /** Knows the active key. */
  readonly client: TestClient;
  readonly operator: KeyOperator;
  /** The names of the data keys of everything that was sealed before the rotation. */
  readonly old: ReadonlySet<string>;
  /** One more process, whose writes are watched as well. */
  another(): Promise<TestClient>;
  readonly writes: readonly Write[];
  /** Copies of the keys, which outlive a retirement. */
  readonly keys: SealingKeys;
}

/** A file as it was written. */
interface Write {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
  readonly etag: ETag;
  readonly replaced: ETag | undefined;
}

/** Clocks that are off by up to half an hour. */
const fraction = drawsOf('rename beside migration');
function someMs(): number {
  return Math.round((fraction() - 0.5) * 3_600_000);
}

/** Files from before a rotation, of which every process has heard. The clocks of all processes are off. */
async function rotated(
  site: TestSite,
  { before }: Renaming,
  { delayMs }: { readonly delayMs?: number } = {},
): Promise<Scene> {
  const writes: Write[] = [];
  const beneath: Around = async (call, proceed) => {
    const answer = await proceed();
    if (call.verb !== 'put' || !call.key.includes('/data/') || readHeader(call.body) === undefined)
      return answer;
    const { key, body, mode } = call;
    const { etag } = answer as { readonly etag?: ETag };
    if (etag !== undefined) {
      writes.push({ key, body, etag, replaced: typeof mode === 'object' ? mode.ifMatch : undefined });
    }
    return answer;
  };
  const another = (): Promise<TestClient> => {
    const offMs = someMs();
    return site.client({ beneath, clock: () => site.time.clock() + offMs, ...(delayMs && { delayMs }) });
  };
  const client = await another();
  for (const [path, text] of Object.entries(before)) await client.create(path, text);
  const operator = await createOperator(site, await another());
  await site.time.pause(SOME_TIME_MS);
  await operator.rotate();
  await site.time.pause(SOME_TIME_MS);
  const keys = copiesOf((await client.open()).keyring.keys, writes);
  return { site, client, operator, old: await dataKeysOf(site), another, writes, keys };
}

function copiesOf(keys: SealingKeys, writes: readonly Write[]): SealingKeys {
  const copyOf = <K extends SealingKeys['active']>(key: K): K => ({
    ...key,
    keyId: key.keyId.slice(),
    wrapKey: key.wrapKey.slice(),
  });
  const old = writes.flatMap(({ body }) => keys.find(readHeader(body)?.keyId ?? new Uint8Array()) ?? []);
  const all = [...old, keys.active].map(copyOf);
  return {
    tenant: keys.tenant,
    keyringId: keys.keyringId.slice(),
    active: copyOf(keys.active),
    find: (keyId) => all.find((key) => toBase64url(key.keyId) === toBase64url(keyId)),
  };
}

/**
 * A file is bound later than what it replaces, and what lies there in the end is bound later than all else that was
 * ever bound of its version.
 */
async function expectBoundsToGrow({ site, writes, keys }: Scene, told: string): Promise<void> {
  const { tenant, keyring } = await (await site.client()).open();
  const bound = ({ key, body }: Pick<Write, 'key' | 'body'>): bigint => {
    const path = parseFileKey(tenant.layout, keyring.names, key);
    if (path === undefined) throw new Error(`${key} is the key of no file`);
    return open({ keys, name: logicalName(path), object: body }).bound;
  };
  const idOf = (object: Uint8Array): string => toBase64url(readHeader(object)?.id ?? new Uint8Array());
  const boundAs = new Map(writes.map((write) => [write.etag, bound(write)]));
  for (const { etag, replaced } of writes) {
    const earlier = replaced === undefined ? undefined : boundAs.get(replaced);
    if (earlier !== undefined) expect(boundAs.get(etag), told).toBeGreaterThan(earlier);
  }
  for (const [key, body] of await storedObjects({ store: site.base }, tenant.layout.data)) {
    if (readHeader(body) === undefined) continue;
    const others = writes.filter((write) => idOf(write.body) === idOf(body) && !equalBytes(write.body, body));
    for (const write of others) expect(bound({ key, body }), told).toBeGreaterThan(bound(write));
  }
}

async function dataKeysOf({ base }: TestSite): Promise<ReadonlySet<string>> {
  const objects = [...(await storedObjects({ store: base })).values()];
  const sealed = objects.filter((object) => readHeader(object) !== undefined);
  return new Set(sealed.map((object) => toBase64url(commitmentOf(object))));
}

async function oldKeysOf({ site, old }: Scene): Promise<readonly string[]> {
  return [...(await dataKeysOf(site))].filter((key) => old.has(key));
}

async function filesOf(client: TestClient): Promise<Readonly<Record<string, string | undefined>>> {
  const paths = await client.paths();
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [path, await client.text(path)])));
}

/** Lets `meet` happen before the request of that number, from 0; `met` tells whether there was one. */
function before(number: number, meet: () => Promise<unknown>): { readonly around: Around; met(): boolean } {
  let requests = 0;
  return {
    around: async (_, proceed) => {
      if (requests++ === number) await meet();
      return proceed();
    },
    met: () => requests > number,
  };
}

/** Answers what the caller of a rename hears. */
async function outcomeOf(renaming: Promise<void>): Promise<string> {
  return renaming.then(
    () => 'renamed',
    (error: { readonly code: string; readonly details?: { readonly reason?: string } }) =>
      error.details?.reason ?? error.code,
  );
}

/** A migration as an operator runs it, who knows of no process with a shorter time to live. */
function migrate({ operator }: Scene, { reencrypt }: Migration): Promise<MigrationReport> {
  return operator.migrate({ reencrypt, ttlMs: undefined });
}

/** The report that tells of nothing left to do. */
const NOTHING_LEFT = { busy: 0, young: 0, problems: [] };

function isAllDone(report: MigrationReport | undefined): boolean {
  return report !== undefined && report.busy + report.young + report.problems.length === 0;
}

/**
 * Once both have ended: where the report told of nothing left, no data key is older than the re-encryption already; the
 * next run leaves none in any case, and every file lies at one place, whole.
 */
async function expectBothDone(
  scene: Scene,
  renaming: Renaming,
  ended: {
    readonly migration: Migration;
    readonly report: MigrationReport | undefined;
    readonly outcome: string;
    readonly where: unknown;
  },
): Promise<void> {
  const { migration, report, outcome, where } = ended;
  const { site } = scene;
  const told = `${JSON.stringify(where)}, ${outcome}`;
  await site.time.pause(SOME_TIME_MS);
  const reader = await scene.another();
  // Finishes a rename that was left to the next process.
  await reader.paths();
  if (migration.reencrypt && isAllDone(report)) expect(await oldKeysOf(scene), told).toEqual([]);
  await expectBoundsToGrow(scene, told);
  const next = await createOperator(site, await scene.another());
  expect(await migrate({ ...scene, operator: next }, migration), told).toMatchObject(NOTHING_LEFT);
  await expectBoundsToGrow(scene, told);
  if (migration.reencrypt) expect(await oldKeysOf(scene), told).toEqual([]);
  const files = await filesOf(reader);
  if (outcome === 'renamed') expect(files, told).toEqual(renamed(renaming));
  else expect([renamed(renaming), renaming.before], told).toContainEqual(files);
}

describeOnBothKinds('a rename beside a migration', (newSite) => {
  it.each([
    ['a file', ONE_FILE],
    ['a directory', DIRECTORY],
  ] as const)('of %s ends well with a migration before any of its requests', async (_, renaming) => {
    for (const migration of MIGRATIONS) {
      for (const frozenMs of [0, FROZEN_MS]) {
        for (let request = 0, met = true; met; request++) {
          const scene = await rotated(await newSite(), renaming);
          const { site, client } = scene;
          let report: MigrationReport | undefined;
          const meeting = before(request, async () => {
            await site.time.pause(frozenMs);
            report = await migrate(scene, migration);
          });
          client.intercept(meeting.around);
          const outcome = await outcomeOf(client.rename(renaming.from, renaming.to));
          met = meeting.met();
          const where = { ...migration, frozenMs, request };
          if (met) await expectBothDone(scene, renaming, { migration, report, outcome, where });
        }
      }
    }
  });

  it.each([
    ['a file', ONE_FILE],
    ['a directory', DIRECTORY],
  ] as const)('of %s ends well before any request of a migration', async (_, renaming) => {
    for (const migration of MIGRATIONS) {
      for (let request = 0, met = true; met; request++) {
        const scene = await rotated(await newSite(), renaming);
        const { client, operator } = scene;
        let outcome = '';
        const meeting = before(request, async () => {
          outcome = await outcomeOf(client.rename(renaming.from, renaming.to));
        });
        operator.client.intercept(meeting.around);
        const report = await migrate(scene, migration);
        met = meeting.met();
        const where = { ...migration, request };
        if (met) await expectBothDone(scene, renaming, { migration, report, outcome, where });
      }
    }
  });

  it('of a directory, cut off anywhere, is finished well with a migration before any request of that', {
    timeout: 300_000,
  }, async () => {
    const step = amount({ usual: 9, thorough: 3 });
    const deaths = everyDeath(await requestsOf(newSite, DIRECTORY)).filter((_, index) => index % step === 0);
    for (const death of deaths) {
      for (const migration of MIGRATIONS) {
        for (let request = 0, met = true; met; request++) {
          met = await resumeBeside(await rotated(await newSite(), DIRECTORY), { migration, death, request });
        }
      }
    }
  });

  it('goes on from where a migration was killed', async () => {
    for (const renaming of [ONE_FILE, DIRECTORY]) {
      for (const migration of MIGRATIONS) {
        for (let request = 0, isKilled = true; isKilled; request++) {
          const scene = await rotated(await newSite(), renaming);
          const { client, operator, site } = scene;
          operator.client.intercept(dieAt({ after: request, reaches: request % 2 === 0 }));
          isKilled = await migrate(scene, migration).then(
            () => false,
            () => true,
          );
          const outcome = await outcomeOf(client.rename(renaming.from, renaming.to));
          await site.time.pause(FROZEN_MS);
          const report = await migrate(
            { ...scene, operator: await createOperator(site, await scene.another()) },
            migration,
          );
          const where = { ...migration, request };
          await expectBothDone(scene, renaming, { migration, report, outcome, where });
        }
      }
    }
  });

  it('of a file leaves no data key from before where its process dies behind a migration', async () => {
    const deaths = everyDeath(await requestsOf(newSite, ONE_FILE));
    for (const death of deaths) {
      const scene = await rotated(await newSite(), ONE_FILE);
      const { client, site } = scene;
      let report: MigrationReport | undefined;
      const meeting = before(death.after, async () => {
        report = await migrate(scene, { reencrypt: true });
      });
      const die = dieAt(death);
      client.intercept((call, proceed) => meeting.around(call, () => die(call, proceed)));
      await outcomeOf(client.rename(ONE_FILE.from, ONE_FILE.to));
      const told = JSON.stringify(death);
      const files = await filesOf(await site.client());
      expect(new Set(Object.values(files)), told).toEqual(new Set(Object.values(ONE_FILE.before)));
      if (isAllDone(report)) expect(await oldKeysOf(scene), told).toEqual([]);
    }
  });

  it('loses no edit that others make meanwhile, and leaves no data key from before', async () => {
    for (let run = 0; run < amount({ usual: 8, thorough: 50 }); run++) {
      const renaming = run % 2 === 0 ? ONE_FILE : DIRECTORY;
      const scene = await rotated(await newSite(), renaming, { delayMs: 20 });
      const { client, site } = scene;
      const editor = await scene.another();
      const lines: string[] = [];
      const edit = async (): Promise<void> => {
        for (let nth = 0; nth < 6; nth++) {
          const line = `\nline ${nth}`;
          const paths = Object.keys(fraction() < 0.5 ? renaming.before : renamed(renaming));
          const path = paths[Math.floor(fraction() * paths.length)] ?? renaming.from;
          await site.time.pause(fraction() * 60);
          await editor.append(path, line).then(
            () => lines.push(line),
            () => undefined,
          );
        }
      };
      const later = async (): Promise<MigrationReport> => {
        await site.time.pause(fraction() * 200);
        return migrate(scene, { reencrypt: true });
      };
      const [outcome, report] = await Promise.all([
        outcomeOf(client.rename(renaming.from, renaming.to)),
        later(),
        edit(),
      ]);
      const told = `run ${run}, ${outcome}`;
      await site.time.pause(SOME_TIME_MS);
      const reader = await scene.another();
      const files = await filesOf(reader);
      const texts = Object.values(files).join();
      for (const text of [...Object.values(renaming.before), ...lines]) expect(texts, told).toContain(text);
      if (outcome === 'renamed') expect(Object.keys(files), told).toEqual(Object.keys(renamed(renaming)));
      if (isAllDone(report)) expect(await oldKeysOf(scene), told).toEqual([]);
      await migrate(
        { ...scene, operator: await createOperator(site, await scene.another()) },
        { reencrypt: true },
      );
      expect(await oldKeysOf(scene), told).toEqual([]);
      await expectBoundsToGrow(scene, told);
    }
  });

  it('leaves no copy with a data key from before, though the copy comes behind all passes', async () => {
    const scene = await rotated(await newSite(), ONE_FILE);
    const { client } = scene;
    client.intercept(
      atFirst('put', async (proceed) => {
        expect(await migrate(scene, { reencrypt: true })).toMatchObject({ rebound: 1, ...NOTHING_LEFT });
        return proceed();
      }),
    );
    await client.rename(ONE_FILE.from, ONE_FILE.to);
    expect(await filesOf(client)).toEqual(renamed(ONE_FILE));
    expect(await oldKeysOf(scene)).toEqual([]);
  });
});

async function requestsOf(newSite: () => Promise<TestSite>, renaming: Renaming): Promise<number> {
  const { client } = await rotated(await newSite(), renaming);
  client.calls.length = 0;
  await client.rename(renaming.from, renaming.to);
  return client.calls.length;
}

/**
 * Another process finishes the rename of a directory, and a migration runs before one of its requests. False: there
 * were fewer.
 */
async function resumeBeside(
  scene: Scene,
  {
    migration,
    death,
    request,
  }: { readonly migration: Migration; readonly death: Death; readonly request: number },
): Promise<boolean> {
  const { site, client } = scene;
  client.intercept(dieAt(death));
  const cutOff = await outcomeOf(client.rename(DIRECTORY.from, DIRECTORY.to));
  await site.time.pause(FROZEN_MS);
  let report: MigrationReport | undefined;
  const meeting = before(request, async () => {
    report = await migrate(scene, migration);
  });
  const other = await scene.another();
  other.intercept(meeting.around);
  await other.paths();
  const where = { ...migration, death, request };
  if (meeting.met()) {
    await expectBothDone(scene, DIRECTORY, { migration, report, outcome: cutOff, where });
  }
  return meeting.met();
}
