import { expect, it, vi } from 'vitest';
import { runRedact } from '../../../../src/cli/history/redact.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { invocationOf } from '../../../stage/invocation.ts';
import { openKeptMemory } from '../../../stage/kept-memory.ts';

const PATH = '/memories/card.md';

const ids = vi.hoisted(() => ({ beginAlike: false }));
vi.mock('../../../../src/store/os-random.ts', async (load) => {
  const { osRandom } = await load<typeof import('../../../../src/store/os-random.ts')>();
  return {
    osRandom: (length: number) => (ids.beginAlike ? osRandom(length).fill(7, 0, 3) : osRandom(length)),
  };
});

it('redact destroys the text that it showed, and no other whose version begins alike', async () => {
  const kept = await openKeptMemory();
  const { files, history } = kept.memory;
  const writeAlike = async (content: string): Promise<void> => {
    ids.beginAlike = true;
    await files.write(PATH, content);
    ids.beginAlike = false;
    await files.write(PATH, 'no number\n');
  };
  const expire = async (): Promise<void> => {
    await using store = openSqliteObjectStore({ path: kept.flags.store.slice('sqlite:'.length) });
    for await (const { objects } of store.list({ prefix: 'tenants/acme/history/' }))
      await store.delete(objects.map(({ key }) => ({ key })));
  };
  await files.write(PATH, 'no number\n');
  await writeAlike('shown\n');
  const version = ((await history.list(PATH))[1]?.version ?? '').slice(0, 4);
  const typed = async (): Promise<string> => {
    await expire();
    await writeAlike('another\n');
    return 'yes\n';
  };
  const { invocation, shown } = invocationOf({ flags: kept.flags, isForEyes: true, typed });
  await expect(runRedact({ path: PATH, version }, invocation)).rejects.toMatchObject({ code: 'not_found' });
  expect(shown.join('')).toContain('  shown\n');
  const another = (await history.list(PATH))[1];
  expect(another?.version.slice(0, 4)).toBe(version);
  expect((await history.read(another ?? expect.unreachable())).text()).toBe('another\n');
  await kept.remove();
});
