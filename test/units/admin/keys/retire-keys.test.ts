import { beforeEach, describe, expect, it } from 'vitest';
import type { MigrationPass } from '../../../../src/admin/keys/migrate-pass.ts';
import {
  judgeOldKeys,
  type KeyringFacts,
  readKeyringFacts,
  retireKeys,
} from '../../../../src/admin/keys/retire-keys.ts';
import { createOperator, editorOf, type KeyOperator } from '../../../stage/key-operator.ts';
import { atFirst, interceptStore, loseAnswer } from '../../../stage/store-wrappers.ts';
import { openSite, type TestSite } from '../../../stage/test-tree.ts';

let site: TestSite;
let operator: KeyOperator;

beforeEach(async () => {
  site = await openSite();
  operator = await createOperator(site);
  for (let made = 1; made < 4; made++) await operator.rotate();
});

async function facts(): Promise<KeyringFacts> {
  const found = await readKeyringFacts(operator.editor, {});
  if (found === undefined) throw new Error('there is no keyring');
  return found;
}

describe('the facts of a keyring', () => {
  it('are its age, its active key and the old ones', async () => {
    const writtenAt = site.time.clock();
    await site.time.pause(5_000);
    const found = { etag: expect.any(String), epoch: 4, writtenAt, ageMs: 5_000, active: 4, old: [1, 2, 3] };
    expect(await facts()).toEqual(found);
  });

  it('are none for a tenant without a keyring, and for a caller that has cancelled', async () => {
    const editor = editorOf((await site.client({ tenant: 'other' })).tenant);
    expect(await readKeyringFacts(editor, {})).toBeUndefined();
    const signal = AbortSignal.abort();
    await expect(readKeyringFacts(operator.editor, { signal })).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('old keys', () => {
  const judged = (pass: Pick<MigrationPass, 'found' | 'damaged' | 'unread'>) =>
    judgeOldKeys({ old: [1, 2, 3] } as unknown as KeyringFacts, pass as MigrationPass);

  it('are free where no object names them, and blocked where a damaged one does', () => {
    const pass = { found: new Set([2, 3, 4]), damaged: new Set([3, 4]), unread: 0 };
    expect(judged(pass)).toEqual({ free: [1], blocked: [3] });
  });

  it('are all blocked by an object that is too large to be read', () => {
    const pass = { found: new Set<number>(), damaged: new Set<number>(), unread: 1 };
    expect(judged(pass)).toEqual({ free: [], blocked: [1, 2, 3] });
  });

  it('leave the keyring, the others stay', async () => {
    const before = await facts();
    await site.time.pause(5_000);
    const writtenAt = site.time.clock();
    expect(await retireKeys(operator.editor, before, { versions: [1, 3] })).toEqual({ writtenAt });
    expect(await facts()).toMatchObject({ epoch: 5, active: 4, old: [2] });
  });

  it('stay in a keyring that has changed since', async () => {
    const before = await facts();
    await operator.rotate();
    expect(await retireKeys(operator.editor, before, { versions: [1] })).toBeUndefined();
    expect(await facts()).toMatchObject({ epoch: 5, active: 5, old: [1, 2, 3, 4] });
  });

  it('are gone where another process, or this one without an answer, has taken them out', async () => {
    const before = await facts();
    const { tenant } = await site.client();
    const deaf = editorOf(tenant, undefined, interceptStore(site.base, atFirst('put', loseAnswer)));
    const writtenAt = site.time.clock();
    expect(await retireKeys(deaf, before, { versions: [1, 2] })).toEqual({ writtenAt });
    expect(await retireKeys(operator.editor, before, { versions: [1] })).toEqual({ writtenAt });
    expect(await facts()).toMatchObject({ epoch: 5, old: [3] });
  });

  it('stay where the caller has cancelled', async () => {
    const before = await facts();
    const given = { versions: [1], signal: AbortSignal.abort() };
    await expect(retireKeys(operator.editor, before, given)).rejects.toMatchObject({ code: 'aborted' });
    expect(await facts()).toEqual(before);
  });
});
