import { expect, it } from 'vitest';
import { seal } from '../../../../src/format/object.ts';
import { classKey, classLogicalName } from '../../../../src/format/object-keys.ts';
import { newVersion } from '../../../../src/format/version.ts';
import { encodeText } from '../../../../src/language/text.ts';
import type { ETag, WriteResult } from '../../../../src/store/port.ts';
import {
  isRegister,
  type RenameEntry,
  readRegister,
  writeRegister,
} from '../../../../src/tree/rename/register.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { at, describeOnBothKinds } from '../../../stage/test-tree.ts';

const ENTRY: RenameEntry = {
  phase: 'copying',
  id: new Uint8Array(16).fill(3),
  from: at('/memories/von'),
  to: at('/memories/nach/日本'),
  owner: 'another process',
};

function etagOf(written: WriteResult): ETag {
  if ('conflict' in written) throw new Error('the register was not written');
  return written.etag;
}

describeOnBothKinds('the register of renames', (newSite) => {
  async function open(): Promise<Work> {
    return (await (await newSite()).client()).open();
  }

  /** Puts authenticated bytes of any content where the register lies. */
  async function write(work: Work, text: string): Promise<void> {
    const name = classLogicalName('journal', 'register');
    const { keys } = work.keyring;
    const object = seal({
      keys,
      name,
      content: encodeText(text),
      version: newVersion({ mtime: 0, random: work.tenant.random }),
      random: work.tenant.random,
    });
    await work.tenant.store.put(classKey(work.tenant.layout, 'journal', 'register'), object, {
      mode: 'overwrite',
    });
  }

  it('that was never written says that nothing is under way', async () => {
    expect(await readRegister(await open())).toEqual({
      entry: undefined,
      etag: undefined,
      ageMs: 0,
      isLeased: false,
    });
  });

  it('says what was written, and for how long by the clock of the server', async () => {
    const work = await open();
    const etag = etagOf(await writeRegister(work, ENTRY, undefined));
    await work.tenant.pause(1_500);
    expect(await readRegister(work)).toEqual({ entry: ENTRY, etag, ageMs: 1_500, isLeased: true });
    const kept = { ...ENTRY, by: new Uint8Array(16).fill(5) };
    const next = etagOf(await writeRegister(work, kept, etag));
    expect(await readRegister(work)).toMatchObject({ entry: kept, etag: next });
    const idle = etagOf(await writeRegister(work, undefined, next));
    expect(await readRegister(work)).toMatchObject({ entry: undefined, etag: idle });
  });

  it.each([
    [10_000, true],
    [10_001, false],
  ])('is leased for 10 s, while a rename is under way: after %i ms %s', async (ms, isLeased) => {
    const work = await open();
    const etag = etagOf(await writeRegister(work, ENTRY, undefined));
    await work.tenant.pause(ms);
    expect(await readRegister(work)).toMatchObject({ ageMs: ms, isLeased });
    await writeRegister(work, undefined, etag);
    expect(await readRegister(work)).toMatchObject({ ageMs: 0, isLeased: false });
  });

  it.each(['copying', 'moving', 'aborting'] as const)('keeps the phase %s', async (phase) => {
    const work = await open();
    await writeRegister(work, { ...ENTRY, phase }, undefined);
    expect(await readRegister(work)).toMatchObject({ entry: { phase } });
  });

  it('is known by its name', () => {
    expect(isRegister(classLogicalName('journal', 'register'))).toBe(true);
    for (const name of [classLogicalName('journal', 'registers'), classLogicalName('history', 'register')])
      expect(isRegister(name)).toBe(false);
  });

  it('is created once and changed only by who saw the version before', async () => {
    const work = await open();
    const first = etagOf(await writeRegister(work, ENTRY, undefined));
    expect(await writeRegister(work, ENTRY, undefined)).toEqual({ conflict: 'exists' });
    const second = etagOf(await writeRegister(work, { ...ENTRY, phase: 'moving' }, first));
    expect(await writeRegister(work, undefined, first)).toEqual({ conflict: 'changed' });
    expect(await readRegister(work)).toMatchObject({ entry: { phase: 'moving' }, etag: second });
  });

  it('is refused when its bytes are not authentic', async () => {
    const work = await open();
    await writeRegister(work, ENTRY, undefined);
    const key = classKey(work.tenant.layout, 'journal', 'register');
    const stored = await work.tenant.store.get(key);
    if (typeof stored !== 'object') throw new Error('there is no register');
    const forged = Uint8Array.from(stored.body, (byte, index) => (index === 190 ? byte ^ 1 : byte));
    await work.tenant.store.put(key, forged, { mode: 'overwrite' });
    await expect(readRegister(work)).rejects.toMatchObject({ code: 'integrity' });
  });

  it('is refused when it says anything else', async () => {
    const work = await open();
    const entry = { ...ENTRY, id: 'AwMDAwMDAwMDAwMDAwMDAw' };
    await write(work, JSON.stringify(entry));
    expect(await readRegister(work)).toMatchObject({ entry: ENTRY });
    for (const text of [
      '',
      '[]',
      'null',
      '{"phase":"deleting"}',
      JSON.stringify({ ...entry, phase: 'deleting' }),
      JSON.stringify({ ...entry, phase: undefined }),
      JSON.stringify({ ...entry, to: 7 }),
      JSON.stringify({ ...entry, owner: 7 }),
      JSON.stringify({ ...entry, id: 'AwMD' }),
      JSON.stringify({ ...entry, id: 7 }),
      JSON.stringify({ ...entry, by: 'AwMD' }),
      JSON.stringify({ ...entry, by: null }),
      JSON.stringify({ ...entry, from: 7 }),
      JSON.stringify({ ...entry, owner: undefined }),
    ]) {
      await write(work, text);
      await expect(readRegister(work), text).rejects.toMatchObject({ code: 'integrity' });
    }
  });
});
