import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RotateOptions, rotateKey } from '../../../../src/admin/keys/rotate.ts';
import type { KeyringEditor } from '../../../../src/keys/keyring-editor.ts';
import { editorOf, versionsOf } from '../../../stage/key-operator.ts';
import { type Around, atFirst, interceptStore, loseAnswer } from '../../../stage/store-wrappers.ts';
import { createSite, TEST_ROOT_KEY, type TestSite } from '../../../stage/test-tree.ts';

const HOUR = 3_600_000;
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });
let site: TestSite;

beforeEach(async () => {
  site = await createSite();
  await (await site.client()).create('/memories/a', 'text');
});
afterEach(() => site.base[Symbol.asyncDispose]());

async function editor(around: Around = (_, proceed) => proceed()): Promise<KeyringEditor> {
  const context = await (await site.client()).open();
  return editorOf(context.tenant, TEST_ROOT_KEY, interceptStore(site.base, around));
}

async function rotate(options?: RotateOptions, around?: Around) {
  const { clock, randomBytes: random } = site.time;
  return rotateKey({ editor: await editor(around), clock, random }, options);
}

describe('rotateKey', () => {
  it('makes a new key, which seals from then on while the old one opens', async () => {
    expect(await rotate()).toEqual({
      rotated: true,
      version: 2,
      created: site.time.clock(),
      epoch: 2,
      held: 2,
    });
    const client = await site.client();
    expect(await client.text('/memories/a')).toBe('text');
    expect((await client.open()).keyring.keys.active.version).toBe(2);
  });

  it('does nothing within the hour of the last rotation, unless forced', async () => {
    await rotate();
    await site.time.pause(HOUR - 1);
    expect(await rotate()).toMatchObject({ rotated: false, version: 2, epoch: 2 });
    expect(await rotate({ force: true })).toMatchObject({ rotated: true, version: 3 });
    await site.time.pause(HOUR);
    expect(await rotate()).toMatchObject({ rotated: true, version: 4, held: 4 });
  });

  it('rotates a tenant that was made a moment ago', async () => {
    expect(await rotate()).toMatchObject({ rotated: true });
  });

  it('rotates only while the expected key is active', async () => {
    expect(await rotate({ ifActive: 2 })).toMatchObject({ rotated: false, version: 1 });
    expect(await rotate({ ifActive: 1 })).toMatchObject({ rotated: true, version: 2 });
    expect(await rotate({ ifActive: 1, force: true })).toMatchObject({ rotated: false, version: 2 });
  });

  it('knows its own key when the answer to its write was lost', async () => {
    expect(await rotate({}, atFirst('put', loseAnswer))).toMatchObject({ rotated: true, version: 2 });
    expect(await versionsOf(await editor())).toEqual([1, 2]);
  });

  it('knows its own key below a later write of another process', async () => {
    const overtaken = atFirst('put', async (proceed) => {
      await proceed();
      await (await editor()).change(({ keyring }) => ({ ...keyring, epoch: keyring.epoch + 1 }));
      return loseAnswer(async () => undefined);
    });
    expect(await rotate({}, overtaken)).toMatchObject({ rotated: true, version: 2, epoch: 3 });
    expect(await versionsOf(await editor())).toEqual([1, 2]);
  });

  it('leaves one new key when two rotate at once', async () => {
    const both = await Promise.all([rotate(), rotate()]);
    expect(both.map(({ rotated }) => rotated).sort()).toEqual([false, true]);
    expect(await versionsOf(await editor())).toEqual([1, 2]);
  });

  it('refuses a 65th key and a tenant without a keyring', async () => {
    for (let version = 2; version <= 64; version++) await rotate({ force: true });
    await expect(rotate({ force: true })).rejects.toEqual(refusal('limit_exceeded'));
    const bare = await editor();
    await site.base.delete([{ key: (await site.client()).layout.keyring }]);
    const { clock, randomBytes: random } = site.time;
    await expect(rotateKey({ editor: bare, clock, random })).rejects.toEqual(refusal('key_unavailable'));
  });
});
