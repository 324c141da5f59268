import { describe, expect, it } from 'vitest';
import type { MemoryPath } from '../../../../src/language/path.ts';
import {
  refuseDeepSource,
  refuseNewKey,
  refuseNewPath,
  refuseWithoutKey,
} from '../../../../src/tree/rename/new-path.ts';
import { at, createSite, withTenant } from '../../../stage/test-tree.ts';

const SHORT = at('/memories/a');
/** As deep as a path may be: 20 segments. */
const DEEP = at(`/memories/${Array.from({ length: 20 }, () => 'a').join('/')}`);
const TOO_DEEP = at(`${DEEP}/a`);
/** A path whose key would be longer than 1,024 bytes. */
const TOO_LONG = at(`/memories/${Array.from({ length: 9 }, () => 'x'.repeat(140)).join('/')}`);

async function open() {
  return (await (await createSite()).client({ names: 'plain' })).open();
}

/** The details of the refusal; undefined where the path is taken. */
function refusal(judge: () => void): unknown {
  try {
    judge();
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_path' });
    return (error as { readonly details: unknown }).details;
  }
}

describe('the source of a rename', () => {
  it('has to have a key', async () => {
    const work = await open();
    expect(refusal(() => refuseWithoutKey(work, SHORT))).toBeUndefined();
    expect(refusal(() => refuseWithoutKey(work, at('/memories')))).toBeUndefined();
    expect(refusal(() => refuseWithoutKey(work, TOO_LONG))).toMatchObject({
      rule: 'key_too_long',
      role: 'source',
    });
  });

  it('that is missing has 20 segments at most', () => {
    expect(refusal(() => refuseDeepSource(DEEP))).toBeUndefined();
    expect(refusal(() => refuseDeepSource(TOO_DEEP))).toMatchObject({
      rule: 'too_many_segments',
      role: 'source',
    });
  });
});

describe('the path that a rename gives a file', () => {
  const details = async (judge: typeof refuseNewPath, to: MemoryPath, from: MemoryPath = SHORT) => {
    const work = await open();
    return refusal(() => judge(work, { from: SHORT, to }, from));
  };

  it('has to have a key, and no more segments than a file may have', async () => {
    expect(await details(refuseNewPath, DEEP)).toBeUndefined();
    expect(await details(refuseNewPath, TOO_DEEP)).toEqual({
      rule: 'too_many_segments',
      value: 21,
      max: 20,
      role: 'target',
    });
    expect(await details(refuseNewPath, TOO_LONG)).toMatchObject({ rule: 'key_too_long', role: 'target' });
  });

  it('is named where the rename does not name it', async () => {
    expect(await details(refuseNewPath, DEEP, at(`${SHORT}/b`))).toMatchObject({
      role: 'target',
      paths: [`${DEEP}/b`],
    });
    expect(await details(refuseNewKey, TOO_LONG, at(`${SHORT}/b`))).toMatchObject({
      role: 'target',
      paths: [`${TOO_LONG}/b`],
    });
  });

  it('of a copy that is there already may have more segments', async () => {
    expect(await details(refuseNewKey, TOO_DEEP)).toBeUndefined();
    expect(await details(refuseNewKey, TOO_LONG)).toEqual(
      expect.not.objectContaining({ paths: expect.anything() }),
    );
  });

  it('is not blamed for another failure', async () => {
    const work = await open();
    const failed = new Error('no names');
    const names = {
      ...work.keyring.names,
      encodeFile: () => {
        throw failed;
      },
    };
    const broken = withTenant({ ...work, keyring: { ...work.keyring, names } }, {});
    expect(() => refuseNewKey(broken, { from: SHORT, to: DEEP }, SHORT)).toThrow(failed);
  });
});
