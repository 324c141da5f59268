import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RedactArguments, runRedact } from '../../../../src/cli/history/redact.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { invocationOf } from '../../../stage/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../../../stage/kept-memory.ts';

const PATH = '/memories/card.md';

const ids = vi.hoisted(() => ({ beginAlike: false }));
vi.mock('../../../../src/store/os-random.ts', async (load) => {
  const { osRandom } = await load<typeof import('../../../../src/store/os-random.ts')>();
  return {
    osRandom: (length: number) => (ids.beginAlike ? osRandom(length).fill(7, 0, 3) : osRandom(length)),
  };
});

describe('redact', () => {
  let kept: KeptMemory;
  let version: string;
  beforeEach(async () => {
    kept = await openKeptMemory();
    await kept.memory.files.write(PATH, `4929\n${'x'.repeat(100)}\nthree\nfour\n`, { actor: 'ann' });
    await kept.memory.files.write(PATH, 'no number\n');
    version = (await kept.memory.history.list(PATH)).at(-1)?.version ?? '';
  });
  afterEach(() => kept.remove());

  const redact = async (
    options: Partial<RedactArguments>,
    {
      typed = '',
      isForEyes = true,
      json = false,
    }: { typed?: string | (() => Promise<string>); isForEyes?: boolean; json?: boolean } = {},
  ) => {
    const { invocation, shown } = invocationOf({ flags: { ...kept.flags, json }, isForEyes, typed });
    const asked = { path: PATH, version: version.slice(0, 8), ...options };
    const code = await runRedact(asked, invocation).catch((error: unknown) => error);
    return { code, text: shown.join('') };
  };
  const text = () => kept.memory.history.read({ path: PATH, version }).then((found) => found.text());
  const shown = () =>
    expect.stringMatching(
      new RegExp(
        `^redact  ${PATH}  v${version.slice(0, 8)}  \\S+Z  117 bytes  by ann\\n  4929\\n  x{77}…\\n  three\\n  …\\n`,
      ),
    );

  it('asks behind the same, and destroys the text after a yes', async () => {
    const refused = await redact({}, { typed: 'no\n' });
    expect(refused).toEqual({ code: expect.objectContaining({ code: 'misconfigured' }), text: shown() });
    expect(await text()).toContain('4929');
    const { code, text: said } = await redact({}, { typed: 'yes\n' });
    expect([code, said]).toEqual([0, shown()]);
    expect(said).toContain('Type yes to go on: ok    the text is out of 1 record');
    await expect(text()).rejects.toMatchObject({ details: { reason: 'redacted' } });
    expect((await redact({ dryRun: true })).text).toContain('the text is out already');
  });

  it('shows no text but on a screen', async () => {
    for (const json of [false, true]) {
      const { text: said } = await redact({ dryRun: true }, { isForEyes: false, json });
      expect(said).toContain(PATH);
      expect(said).not.toContain('4929');
    }
  });

  it('does not ask for a version that is unknown, or that the file has now', async () => {
    const unknown = await redact({ version: 'AAAAAAAA' }, { typed: 'yes\n' });
    expect(unknown).toEqual({ code: expect.objectContaining({ code: 'not_found' }), text: '' });
    const now = (await kept.memory.history.list(PATH))[0]?.version ?? '';
    const current = await redact({ version: now }, { typed: 'yes\n' });
    expect(current).toEqual({
      code: expect.objectContaining({
        code: 'invalid_command',
        details: { reason: 'current', paths: [PATH], versions: [now] },
      }),
      text: expect.stringMatching(/^holds .*\n$/),
    });
  });

  it.each([true, false])(
    'names the file that holds the text, and what to do first (yes: %s)',
    async (yes) => {
      const now = (await kept.memory.history.list(PATH))[0]?.version ?? '';
      const { code, text: said } = await redact({ version: now, yes });
      expect(code).toMatchObject({ code: 'invalid_command', details: { reason: 'current' } });
      const toDo = `edit or delete the file, run this again, then "redact" ${PATH} v${now.slice(0, 8)}`;
      expect(said).toBe(`holds    ${PATH}  v${now.slice(0, 8)}: ${toDo}\n`);
      const { text: lines } = await redact({ version: now, yes }, { json: true });
      expect(JSON.parse(lines)).toEqual({ event: 'entry', what: 'holds', path: PATH, version: now, toDo });
    },
  );

  it('destroys the text that it showed, and no other whose version begins alike', async () => {
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
    await writeAlike('shown\n');
    version = (await history.list(PATH))[1]?.version ?? '';
    const typed = async (): Promise<string> => {
      await expire();
      await writeAlike('another\n');
      return 'yes\n';
    };
    const { code, text: said } = await redact({ version: version.slice(0, 4) }, { typed });
    expect(said).toContain('  shown\n');
    expect(code).toMatchObject({ code: 'not_found' });
    const another = (await history.list(PATH))[1];
    expect(another?.version.slice(0, 4)).toBe(version.slice(0, 4));
    expect((await history.read(another ?? expect.unreachable())).text()).toBe('another\n');
  });
});
