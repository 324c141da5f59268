import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkpointTree } from '../../../src/admin/checkpoints/checkpoint.ts';
import { exportTree } from '../../../src/admin/export/export-tree.ts';
import { verifyTree } from '../../../src/admin/verify/verify.ts';
import { hasReason } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { HistoryEntry } from '../../../src/history/past/entries.ts';
import { keyOf } from '../../stage/bucket.ts';
import { historyOf, keepingClient } from '../../stage/history-site.ts';
import { createOperator, type KeyOperator } from '../../stage/key-operator.ts';
import { createSite, type TestClient, type TestSite } from '../../stage/test-tree.ts';
import { contentEtags } from './content-etags.ts';

const PATH = '/memories/b';
const HOUR = 3_600_000;

/** A process that has seen a file's newer version, and one who kept what lay there before. */
interface Scene {
  readonly site: TestSite;
  readonly client: TestClient;
  /** The line of a checkpoint that has an entry of the older version. */
  readonly line: string;
  readonly key: ObjectKey;
  /** The entry of the older version. */
  readonly older: HistoryEntry;
  rollBack(): Promise<void>;
}

async function begin(): Promise<Scene> {
  const site = await createSite('guarded', 1, contentEtags);
  const client = await keepingClient(site);
  for (const name of ['a', 'b', 'c']) await client.create(`/memories/${name}`, name);
  await site.time.pause(HOUR);
  const { line } = await checkpointTree(client.tenant);
  if (line === undefined) throw new Error('no checkpoint was taken');
  const key = await keyOf(client, PATH);
  const rollBack = await keepObject(site, key);
  await client.append(PATH, ', second');
  await client.append('/memories/c', ', second');
  await site.time.pause(HOUR);
  const [, older] = await historyOf(client).list(PATH);
  if (older === undefined) throw new Error('the version is not known');
  return { site, client, line, key, older, rollBack };
}

/** Puts back what lies there now. */
async function keepObject({ base }: TestSite, key: ObjectKey): Promise<() => Promise<void>> {
  const kept = await base.get(key);
  if (typeof kept !== 'object') throw new Error('there is nothing to keep');
  return async () => void (await base.put(key, kept.body, { mode: 'overwrite' }));
}

type Verb = (scene: Scene) => Promise<unknown>;

const intoFolder: Verb = async ({ client: { tenant } }) => {
  const folder = await mkdtemp(join(tmpdir(), 'rolled-back-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return exportTree(tenant, { to: join(folder, 'to') });
};

/** As `export` does: each file of a listing, whole. */
const exported: Verb = async ({ client }) => {
  for (const path of await client.paths()) await client.text(path);
};

const migrating =
  (reencrypt: boolean): Verb =>
  async ({ site, client }) => {
    const operator = await createOperator(site, client);
    await operator.rotate();
    return operator.migrate({ reencrypt });
  };

const VERBS: Readonly<Record<string, Verb>> = {
  checkpoint: ({ client }) => checkpointTree(client.tenant),
  'checkpoint --since': ({ client, line }) => checkpointTree(client.tenant, { since: line }),
  verify: ({ client }) => verifyTree(client.tenant),
  'verify --repair': ({ client }) => verifyTree(client.tenant, { repair: true }),
  'verify --since': ({ client, line }) => verifyTree(client.tenant, { since: line }),
  'verify --since, which finds something and looks again': async ({ site, client, line }) => {
    await site.base.delete([{ key: await keyOf(client, '/memories/a') }]);
    return verifyTree(client.tenant, { since: line });
  },
  'keys migrate': migrating(false),
  'keys migrate --reencrypt': migrating(true),
  'export --from': intoFolder,
  export: exported,
  redact: ({ client, older }) => historyOf(client).redact(older),
  'restore of a version': ({ client, older }) => historyOf(client).restore(older),
  'restore-at': ({ client, older }) => historyOf(client).restoreAt(older.time),
};

/** The parts of a report that name what is wrong with a file. */
interface Told {
  readonly findings?: readonly object[];
  readonly problems?: readonly object[];
  readonly left?: readonly object[];
  readonly unread?: readonly string[];
}

function tells({ findings = [], problems = [], left = [], unread = [] }: Told): boolean {
  const named = [...findings, ...problems, ...left].map((each) => 'path' in each && each.path);
  return [...named, ...unread].includes(PATH);
}

/**
 * Rolls the file back at a request of the verb. `looked`: the verb asked for the file, or listed the files, after that.
 */
async function runWith(verb: Verb, moment: number) {
  const scene = await begin();
  const { site, client, key } = scene;
  let [requests, rolledBack, looked] = [0, false, false];
  client.intercept(async (call, proceed) => {
    await site.time.pause(2);
    if (requests++ === moment) {
      rolledBack = true;
      await scene.rollBack();
    }
    const isLook =
      call.verb === 'list'
        ? call.page === 1 && key.startsWith(call.prefix)
        : call.verb === 'get' && call.key === key;
    looked ||= rolledBack && isLook;
    return proceed();
  });
  const told = await verb(scene).then(
    (report) => tells(Object(report)),
    (error: unknown) => hasReason(error, 'put_back'),
  );
  return { told, looked, rolledBack };
}

describe('an older version that is put back while a verb of the operator runs', () => {
  it.each(Object.entries(VERBS))(
    'is told by %s, at each of its requests behind which it looks at the file',
    async (_, verb) => {
      const untold: number[] = [];
      let looks = 0;
      for (let moment = 0; ; moment++) {
        const { told, looked, rolledBack } = await runWith(verb, moment);
        if (!rolledBack) break;
        if (looked) looks++;
        if (looked && !told) untold.push(moment);
      }
      expect(untold).toEqual([]);
      expect(looks).toBeGreaterThan(1);
    },
  );

  it.each([
    ['a checkpoint', ({ client }: KeyOperator) => checkpointTree(client.tenant)],
    ['a migration', (operator: KeyOperator) => operator.migrate()],
  ])('is told by %s also where an earlier look of the run has seen it in its place', async (_, verb) => {
    const { site, client, key } = await begin();
    const operator = await createOperator(site, client);
    await operator.rotate();
    let looks = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && call.page === 1 && key.startsWith(call.prefix) && ++looks === 2) {
        const rollBack = await keepObject(site, key);
        await client.append(PATH, ', third');
        await rollBack();
      }
      return proceed();
    });
    expect(tells(await verb(operator))).toBe(true);
    expect(looks).toBeGreaterThan(1);
  });

  it('is in no checkpoint, whose line would vouch for it', async () => {
    const { client, rollBack } = await begin();
    await rollBack();
    const { line, ...taken } = await checkpointTree(client.tenant);
    expect([line !== undefined, taken]).toEqual([
      true,
      expect.objectContaining({ files: 2, unread: [PATH] }),
    ]);
  });
});
