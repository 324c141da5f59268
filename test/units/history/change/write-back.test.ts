import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import type { HistoryEntry } from '../../../../src/history/past/entries.ts';
import { keyOf } from '../../../stage/bucket.ts';
import { historyOf, keepingClient, textsOf } from '../../../stage/history-site.ts';
import { at, bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const [PATH, NEXT] = ['/memories/a', '/memories/b'];
const SECRET = 'the card is 4929 1838';

interface Scene {
  readonly site: TestSite;
  /** The process that restores the secret. */
  readonly client: TestClient;
  readonly other: TestClient;
  readonly version: string;
}

/** A file of which an earlier version has the secret; it is there with a clean text, or was deleted. */
async function newScene(site: TestSite, now: 'clean' | 'deleted'): Promise<Scene> {
  const client = await keepingClient(site);
  await client.create(PATH, SECRET);
  if (now === 'clean') await client.tree.overwrite(at(PATH), bytes('clean'));
  else await client.remove(PATH);
  const secret = (await historyOf(client).list(PATH)).findLast(({ kind }) => kind === 'written');
  if (secret === undefined) throw new Error('there is no version');
  return { site, client, other: await keepingClient(site), version: secret.version };
}

/** Runs something before the first PUT of the file, which is that of the restore, and something behind it. */
async function beforeWrite(
  { client }: Scene,
  act: () => Promise<unknown>,
  behind: (put: number) => Promise<unknown> = async () => {},
): Promise<void> {
  const key = await keyOf(client, PATH);
  let puts = 0;
  client.intercept(async (call, proceed) => {
    if (call.verb !== 'put' || call.key !== key) return proceed();
    const put = ++puts;
    if (put === 1) await act();
    const result = await proceed();
    await behind(put);
    return result;
  });
}

const restored = ({ client, version }: Scene) =>
  historyOf(client).restore({ path: PATH, version }, { actor: 'ann' });

/** The versions that had the secret, and whether it can be read still. */
async function secretsOf({ other }: Scene): Promise<readonly string[]> {
  const entries: readonly HistoryEntry[] = await historyOf(other).list();
  return entries.flatMap((entry) =>
    entry.kind === 'written' && entry.size === SECRET.length ? [`${entry.text} ${entry.end}`] : [],
  );
}

const TAKEN_OUT = { code: 'not_found', details: { reason: 'redacted' } };

describeOnBothKinds('a text that is written back', (newSite) => {
  it.each(['clean', 'deleted'] as const)('stays where nobody takes it out: the file is %s', async (now) => {
    const scene = await newScene(await newSite(), now);
    expect(await restored(scene)).toEqual({ path: PATH, version: scene.version, restored: true });
    expect(await textsOf(scene.other)).toEqual({ [PATH]: SECRET });
  });

  it.each([
    ['clean', { [PATH]: 'clean' }],
    ['deleted', {}],
  ] as const)(
    'goes again where another process redacts it before the write: the file is %s',
    async (now, texts) => {
      const scene = await newScene(await newSite(), now);
      const { other, version } = scene;
      await beforeWrite(scene, () => historyOf(other).redact({ path: PATH, version }));
      await expect(restored(scene)).rejects.toMatchObject(TAKEN_OUT);
      expect(await textsOf(other)).toEqual(texts);
      const secrets = await secretsOf(scene);
      expect(secrets.map((each) => each.split(' ')[0])).toEqual(['redacted', 'redacted']);
    },
  );

  it('goes again from the path to which another process has renamed the file meanwhile', async () => {
    const scene = await newScene(await newSite(), 'clean');
    const { other, version } = scene;
    await beforeWrite(
      scene,
      () => historyOf(other).redact({ path: PATH, version }),
      async (put) => put === 1 && other.rename(PATH, NEXT),
    );
    await expect(restored(scene)).rejects.toMatchObject(TAKEN_OUT);
    expect(Object.values(await textsOf(other))).toEqual(['clean']);
    for (const secret of await secretsOf(scene)) expect(secret).toMatch(/^redacted /);
  });

  it('may stay where it cannot be taken back, which says where', async () => {
    const scene = await newScene(await newSite(), 'clean');
    const { client, other, version } = scene;
    const key = await keyOf(client, PATH);
    let puts = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'put' || call.key !== key) return proceed();
      if (++puts === 1) await historyOf(other).redact({ path: PATH, version });
      else throw new MemoryError('access_denied', 'no more');
      return proceed();
    });
    await expect(restored(scene)).rejects.toMatchObject({
      code: 'outcome_unknown',
      details: { reason: 'redacted', paths: [PATH], versions: [] },
      cause: { code: 'access_denied' },
    });
    expect(await textsOf(other)).toEqual({ [PATH]: SECRET });
  });

  it('tells its caller which version was written', async () => {
    const { client, version } = await newScene(await newSite(), 'clean');
    const touched: string[] = [];
    await historyOf(client).restore(
      { path: PATH, version },
      { onTouch: (touch) => void touched.push(`${touch.kind} ${touch.path}`) },
    );
    expect(touched).toContain(`written ${PATH}`);
  });
});
