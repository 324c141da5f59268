import { beforeAll, describe, expect, it } from 'vitest';
import { headId as checkpointId, partId } from '../../../src/admin/checkpoints/checkpoint-record.ts';
import { accessHash, accessRecordId, dayOf } from '../../../src/admin/expiry/access-records.ts';
import { createNames, type Names } from '../../../src/format/names.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { keyedHash } from '../../../src/worker/leases/turn-lease.ts';
import { added, input } from '../../format/format-vectors.ts';

const { recordIds } = added;
const DAY_MS = 86_400_000;

describe('the vectors of the ids of records', () => {
  let names: Names;
  let work: never;
  beforeAll(async () => {
    await loadSodium();
    names = createNames({ mode: 'encrypted', nameKey: input('NK') });
    work = { keyring: { names } } as never;
  });

  it('are those of reads, by the day in UTC', () => {
    for (const { at, path, id } of recordIds.access) {
      const file = accessHash(work, path as never);
      expect(accessRecordId({ day: dayOf(at), file })).toBe(id);
    }
  });

  it('are those of receipts, of what a turn was begun with, of its progress and of a day’s tokens', () => {
    for (const { turn, id } of recordIds.receipts) expect(names.keyedHash('receipts', turn)).toBe(id);
    for (const { message, hash } of recordIds.messages) {
      expect(keyedHash(work, 'message', message)).toBe(hash);
    }
    for (const { receipt, owner, id } of recordIds.progress) {
      expect(keyedHash(work, 'progress', `${receipt} ${owner}`)).toBe(id);
    }
    for (const { at, id } of recordIds.tokens) {
      expect(keyedHash(work, 'tokens', String(Math.floor(at / DAY_MS)))).toBe(id);
    }
  });

  it('are those of actors', () => {
    for (const { actor, id } of recordIds.actors) expect(names.keyedHash('actors', actor)).toBe(id);
  });

  it('are those of heads and parts of checkpoints', () => {
    for (const { number, run, part, id } of recordIds.checkpoints) {
      expect(number === undefined ? partId(run ?? '', part ?? -1) : checkpointId(number)).toBe(id);
    }
  });
});
