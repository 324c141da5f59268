import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NameMode } from '../../src/format/names.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { describeOnS3 } from '../stage/s3.ts';
import { type AttackSite, laneOf, openAttackSite } from './attack-site.ts';
import { executeAnew, request } from './outcome.ts';

for (const names of ['encrypted', 'plain'] as const satisfies readonly NameMode[]) {
  describeOnS3(`a worker of another tenant under ${names} names`, ['minio'], (server) => {
    let site: AttackSite;
    beforeAll(async () => {
      site = await openAttackSite(server(), { names, victims: 1, lanesEach: 1 });
    });
    afterAll(() => site?.[Symbol.asyncDispose]());

    it('is denied every object, key and listing of this one by the server', async () => {
      const { victim, one } = laneOf(site);
      const Bucket = site.bucket.bucket;
      const before = await site.raw.snapshot();
      for (const Key of [one.key, victim.layout.keyring, victim.layout.probe]) {
        const Body = one.older;
        const copy = { Bucket, CopySource: `${Bucket}/${encodeURIComponent(Key)}` };
        for (const [client, expected] of [
          [site.intruder.client, { refusedAs: 'access_denied' }],
          [victim.client, { got: expect.any(String) }],
        ] as const) {
          const own = client === victim.client ? victim.layout : site.intruder.layout;
          const requests = [
            () => client.send(new GetObjectCommand({ Bucket, Key })),
            () => client.send(new ListObjectsV2Command({ Bucket, Prefix: victim.layout.tenantPrefix })),
            () => client.send(new CopyObjectCommand({ ...copy, Key: `${own.tenantPrefix}loot` })),
            () => client.send(new PutObjectCommand({ Bucket, Key, Body: site.originals.get(Key) ?? Body })),
          ];
          for (const send of requests) expect(await request(send)).toEqual(expected);
        }
        const remove = new DeleteObjectCommand({ Bucket, Key });
        expect(await request(() => site.intruder.client.send(remove))).toEqual({
          refusedAs: 'access_denied',
        });
      }
      await site.restore();
      expect(await site.raw.snapshot()).toEqual(before);
    });

    it('is detected when his own keyring or objects lie in the place of this tenant’s', async () => {
      const { victim, one } = laneOf(site);
      await site.raw.write(victim.layout.keyring, site.intruder.keyring.second);
      const viewing = { command: 'view', path: one.path };
      // A listing needs no file's key: what refuses it is the keyring.
      const listing = { command: 'view', path: '/memories' };
      for (const input of [viewing, listing]) {
        expect(await executeAnew(victim.open, input)).toEqual({ refusedAs: 'integrity' });
      }
      await site.raw.write(victim.layout.keyring, victim.keyring.second);
      expect(await executeAnew(victim.open, listing)).toEqual({ got: expect.stringContaining('/memories') });
      await site.raw.write(one.key, site.intruder.files.get(one.path)?.sealed ?? new Uint8Array());
      expect(await executeAnew(victim.open, viewing)).toEqual({ refusedAs: 'integrity' });
      await site.restore();
      expect(await executeAnew(victim.open, viewing)).toEqual({ got: expect.stringContaining(one.text) });
    });

    it('reads everything, as documented, where all workers share credentials and one root key', async () => {
      const { victim, one } = laneOf(site);
      const { tenant, storeFor, layout } = victim;
      const open = () => openMemory({ store: storeFor(layout), tenant, rootKey: site.rootKey, lazy: true });
      expect(await executeAnew(open, { command: 'view', path: one.path })).toEqual({
        got: expect.stringContaining(one.text),
      });
    });
  });
}
