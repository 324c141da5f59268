import { describe, expect, it } from 'vitest';
import { type Memory, type MemoryOptions, openMemory } from '../../../src/index.ts';

const PATH = '/memories/a.md';
const TEXT = 'ada@example.org, bob@example.org\n4111 1111 1111 1111\n';
const REDACTED = [
  { rule: 'email', findings: 2 },
  { rule: 'card', findings: 1 },
];
const WRITTEN = '[redacted: email], [redacted: email]\n[redacted: card]\n';

function open(more: Partial<MemoryOptions> = {}): Promise<Memory> {
  const rootKey = Buffer.alloc(32, 7).toString('base64');
  return openMemory({ store: 'memory:', tenant: 'acme', rootKey, policy: 'email,card,redact', ...more });
}

describe('what a policy has redacted', () => {
  it('is told by rule and number in the result of each write, and never the text', async () => {
    await using memory = await open();
    const { files } = memory;
    const created = await files.write(PATH, TEXT, { mode: 'create' });
    expect(created).toEqual({
      path: PATH,
      size: WRITTEN.length,
      version: created.version,
      redacted: REDACTED,
    });
    expect((await files.write(PATH, TEXT)).redacted).toEqual(REDACTED);
    const { version } = await files.write(PATH, 'one\n');
    const replaced = await files.write(PATH, TEXT, { mode: { ifUnchanged: version } });
    expect(replaced.redacted).toEqual(REDACTED);
    expect((await files.read(PATH))?.text()).toBe(WRITTEN);

    const email = { redacted: [{ rule: 'email', findings: 1 }] };
    expect(await files.append('/memories/new.md', 'ada@example.org')).toEqual({
      path: '/memories/new.md',
      ...email,
    });
    expect(await files.append('/memories/new.md', ' bob@example.org')).toMatchObject(email);
    const told = JSON.stringify([created, replaced]);
    expect(told).not.toContain('example.org');
  });

  it('is told where a file is copied that was written without the policy', async () => {
    const { openSqliteObjectStore } = await import('../../../src/store/sqlite/sqlite-store.ts');
    await using store = openSqliteObjectStore({ path: ':memory:' });
    await using free = await open({ store, policy: undefined });
    await free.files.write(PATH, TEXT);
    await using memory = await open({ store });
    expect((await memory.files.copy(PATH, '/memories/b.md')).redacted).toEqual(REDACTED);
  });

  it('is absent where nothing was replaced', async () => {
    await using memory = await open();
    expect(await memory.files.write(PATH, 'one\n')).not.toHaveProperty('redacted');
    expect(await memory.files.append(PATH, 'two\n')).toEqual({ path: PATH });
  });
});

describe('bytes that are no text, where findings are redacted', () => {
  const bytes = Uint8Array.from([...new TextEncoder().encode('ada@example.org '), 0xff, 0x00]);

  it('are refused, and the refusal says why', async () => {
    await using memory = await open();
    await expect(memory.files.write(PATH, bytes)).rejects.toMatchObject({
      code: 'policy_refused',
      message: expect.stringContaining('it is not UTF-8 text'),
      details: { rules: ['email'], reason: 'not_text' },
    });
    expect(await memory.files.exists(PATH)).toBe(false);
  });

  it('are refused without that where the policy refuses findings in text as well', async () => {
    await using memory = await open({ policy: 'email' });
    const refusal: unknown = await memory.files.write(PATH, bytes).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ message: expect.not.stringContaining('UTF-8') });
  });
});
