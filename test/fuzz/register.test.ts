import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toBase64url } from '../../src/format/encoding.ts';
import { seal } from '../../src/format/object.ts';
import { classKey, classLogicalName } from '../../src/format/object-keys.ts';
import { newVersion } from '../../src/format/version.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { type RenameEntry, readRegister } from '../../src/tree/rename/register.ts';
import { createSite } from '../stage/test-tree.ts';
import { asyncVerdictOf, fuzz, type Verdict } from './fuzz.ts';
import { beginningLike, mutations } from './mutation.ts';

const ENTRY = {
  phase: 'moving',
  id: toBase64url(new Uint8Array(16).fill(5)),
  from: '/memories/a/b',
  to: '/memories/c',
  owner: 'somebody',
};
const contents = [
  ENTRY,
  { ...ENTRY, phase: 'aborting' },
  { phase: 'idle' },
  { phase: 'idle', more: 1 },
  [ENTRY],
].map((value) => new TextEncoder().encode(JSON.stringify(value)));

const client = await (await createSite()).client();
const work = await client.open();

/** Answers what a process takes the register for that was sealed with this content. */
async function read(content: Uint8Array): Promise<Verdict<RenameEntry | undefined>> {
  const name = classLogicalName('journal', 'register');
  const body = seal({
    keys: work.keyring.keys,
    name,
    content,
    version: newVersion({ mtime: 1, random: work.tenant.random }),
    random: work.tenant.random,
  });
  await work.tenant.store.put(classKey(work.tenant.layout, 'journal', 'register'), body, {
    mode: 'overwrite',
  });
  return asyncVerdictOf(async () => (await readRegister(work)).entry);
}

function judge(verdict: Verdict<RenameEntry | undefined>): void {
  if ('code' in verdict) {
    expect(verdict.code).toBe('integrity');
    return;
  }
  const entry = verdict.value;
  if (entry === undefined) return;
  expect(['copying', 'moving', 'aborting']).toContain(entry.phase);
  expect(entry.id).toHaveLength(16);
  for (const path of [entry.from, entry.to]) expect(parseMemoryPath(path)).toBe(path);
}

describe('the content of the register', () => {
  it('is told from these', async () => {
    expect(await read(contents[0] ?? new Uint8Array(0))).toMatchObject({
      value: { phase: 'moving', to: ENTRY.to },
    });
    expect(await read(contents[2] ?? new Uint8Array(0))).toEqual({ value: undefined });
  });

  it('is refused with a path that is none', async () => {
    const content = new TextEncoder().encode(JSON.stringify({ ...ENTRY, from: '/elsewhere' }));
    expect(await read(content)).toEqual({ code: 'integrity' });
  });

  fuzz('is an entry, none, or refused', {
    runs: 1_000,
    inputs: [fc.oneof(mutations(contents), beginningLike(contents))],
    check: async (content) => judge(await read(content)),
  });

  fuzz('is refused with a field of another kind', {
    runs: 1_000,
    inputs: [fc.constantFrom(...Object.keys(ENTRY), '__proto__'), fc.jsonValue()],
    check: async (field, value) =>
      judge(
        await read(
          new TextEncoder().encode(
            JSON.stringify(Object.fromEntries([...Object.entries(ENTRY), [field, value]])),
          ),
        ),
      ),
  });
});
