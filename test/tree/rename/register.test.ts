import { expect, it } from 'vitest';
import { seal } from '../../../src/format/object.ts';
import { classKey, classLogicalName } from '../../../src/format/object-keys.ts';
import { encodeText } from '../../../src/language/text.ts';
import { type RenameEntry, readRegister, writeRegister } from '../../../src/tree/rename/register.ts';
import type { OpenVault } from '../../../src/tree/session.ts';
import { at, describeOnBothKinds } from '../../support/test-vault.ts';

const ENTRY: RenameEntry = {
  phase: 'copying',
  id: new Uint8Array(16).fill(3),
  from: at('/memories/von'),
  to: at('/memories/nach/日本'),
  owner: 'somebody',
};

describeOnBothKinds('the register of renames', (newSite) => {
  async function open(): Promise<OpenVault> {
    return (await (await newSite()).client()).open();
  }

  /** Puts authenticated bytes of any content where the register lies. */
  async function write(vault: OpenVault, text: string): Promise<void> {
    const name = classLogicalName('journal', 'register');
    const { keys } = vault.keyring;
    const object = seal({ keys, name, content: encodeText(text), mtime: 0, random: vault.random });
    await vault.store.put(classKey(vault.layout, 'journal', 'register'), object, { mode: 'overwrite' });
  }

  it('that was never written says that nothing is under way', async () => {
    expect(await readRegister(await open())).toEqual({ entry: undefined, etag: undefined, ageMs: 0 });
  });

  it('says what was written, and for how long by the clock of the server', async () => {
    const vault = await open();
    const etag = await writeRegister(vault, ENTRY, undefined);
    await vault.pause(1_500);
    expect(await readRegister(vault)).toEqual({ entry: ENTRY, etag, ageMs: 1_500 });
    const idle = await writeRegister(vault, undefined, etag);
    expect(await readRegister(vault)).toMatchObject({ entry: undefined, etag: idle });
  });

  it('is created once and changed only by who saw the version before', async () => {
    const vault = await open();
    const first = await writeRegister(vault, ENTRY, undefined);
    expect(await writeRegister(vault, ENTRY, undefined)).toBeUndefined();
    const second = await writeRegister(vault, { ...ENTRY, phase: 'moving' }, first);
    expect(second).toBeDefined();
    expect(await writeRegister(vault, undefined, first)).toBeUndefined();
    expect(await readRegister(vault)).toMatchObject({ entry: { phase: 'moving' }, etag: second });
  });

  it('is refused when its bytes are not authentic', async () => {
    const vault = await open();
    await writeRegister(vault, ENTRY, undefined);
    const key = classKey(vault.layout, 'journal', 'register');
    const stored = await vault.store.get(key);
    if (typeof stored !== 'object') throw new Error('there is no register');
    const forged = Uint8Array.from(stored.body, (byte, index) => (index === 190 ? byte ^ 1 : byte));
    await vault.store.put(key, forged, { mode: 'overwrite' });
    await expect(readRegister(vault)).rejects.toMatchObject({ code: 'integrity' });
  });

  it('is of a later version when it says anything else', async () => {
    const vault = await open();
    const entry = { ...ENTRY, id: 'AwMDAwMDAwMDAwMDAwMDAw' };
    await write(vault, JSON.stringify(entry));
    expect(await readRegister(vault)).toMatchObject({ entry: ENTRY });
    for (const text of [
      '',
      '[]',
      'null',
      '{"phase":"idle","more":1}',
      '{"phase":"deleting"}',
      JSON.stringify({ ...entry, id: 'AwMD' }),
      JSON.stringify({ ...entry, id: 7 }),
      JSON.stringify({ ...entry, from: 7 }),
      JSON.stringify({ ...entry, owner: undefined }),
    ]) {
      await write(vault, text);
      await expect(readRegister(vault), text).rejects.toMatchObject({ code: 'unsupported_format' });
    }
  });
});
