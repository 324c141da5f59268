import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Keyring } from '../../src/format/keyring-bytes.ts';
import type { NameMode } from '../../src/format/names.ts';
import { fileKey } from '../../src/format/object-keys.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyring, sealKeyring } from '../../src/keys/keyring.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { osRandom } from '../../src/store/os-random.ts';
import { describeOnS3 } from '../stage/s3.ts';
import { succeed } from '../stage/succeed.ts';
import { type AttackSite, type Lane, laneOf, openAttackSite } from './attack-site.ts';
import { executeAnew, type Outcome, view } from './outcome.ts';

for (const names of ['encrypted', 'plain'] as const satisfies readonly NameMode[]) {
  describeOnS3(`an attacker who replaces the keyring under ${names} names`, ['minio'], (server) => {
    let site: AttackSite;
    let lane: Lane;
    beforeAll(async () => {
      site = await openAttackSite(server(), { names, victims: 2, lanesEach: 1 });
      lane = laneOf(site);
    });
    beforeEach(async () => {
      await site.restore();
      await site.reopen();
    });
    afterAll(() => site?.[Symbol.asyncDispose]());

    const put = (bytes: Uint8Array): Promise<void> => site.raw.write(lane.victim.layout.keyring, bytes);
    const viewAnew = (): Promise<Outcome> =>
      executeAnew(lane.victim.open, { command: 'view', path: lane.one.path });
    /** A listing needs no file's key: what refuses it is the keyring. */
    const listAnew = (): Promise<Outcome> =>
      executeAnew(lane.victim.open, { command: 'view', path: '/memories' });
    const sealed = (
      keyring: Keyring,
      { rootKey = site.rootKey, tenant = lane.victim.tenant } = {},
    ): Promise<Uint8Array> =>
      sealKeyring({ keyring, tenant, rootKey: envRootKey(rootKey), random: osRandom });
    const made = (): Keyring => createKeyring({ nameMode: names, random: osRandom, created: Date.now() });

    it('is detected when it was wrapped for another tenant, or by a root key that is not configured', async () => {
      const neighbour = laneOf(site, 1).victim;
      expect(await listAnew()).toEqual({ got: expect.stringContaining('/memories') });
      await put(neighbour.keyring.second);
      expect(await listAnew()).toEqual({ refusedAs: 'integrity' });
      await put(await sealed(made(), { tenant: neighbour.tenant }));
      expect(await listAnew()).toEqual({ refusedAs: 'integrity' });
      await put(await sealed(made(), { rootKey: osRandom(32) }));
      expect(await listAnew()).toEqual({ refusedAs: 'key_unavailable' });
      await put(lane.victim.keyring.second);
      expect(await viewAnew()).toEqual({ got: expect.stringContaining(lane.one.text) });
    });

    it('is detected when it carries the id of another keyring in its head', async () => {
      const { second } = lane.victim.keyring;
      const other = laneOf(site, 1).victim.keyring.second;
      const forged = Uint8Array.from(second);
      forged.set(other.subarray(16, 32), 16);
      await put(forged);
      expect(await listAnew()).toEqual({ refusedAs: 'integrity' });
    });

    it('has none made again by removing it: data without a keyring is refused', async () => {
      const { layout, open } = lane.victim;
      await site.raw.remove(layout.keyring);
      const create = { command: 'create', path: '/memories/new.md', file_text: 'under which key?' };
      expect(await executeAnew(open, create)).toEqual({ refusedAs: 'key_unavailable' });
      expect(await site.raw.keys()).not.toContain(layout.keyring);
    });

    it('is detected by an older keyring where a least epoch is set', async () => {
      const { tenant, layout, storeFor, keyring } = lane.victim;
      const open = (minimumEpoch: number) => () =>
        openMemory({
          store: storeFor(layout),
          tenant,
          rootKey: site.rootKey,
          keyring: { minimumEpoch },
          lazy: true,
        });
      const viewing = { command: 'view', path: lane.one.path };
      expect(await executeAnew(open(2), viewing)).toEqual({ got: expect.stringContaining(lane.one.text) });
      // The file with it, so that nothing but the epoch is in the way.
      await put(keyring.first);
      await site.raw.write(lane.one.key, lane.one.older);
      expect(await executeAnew(open(1), viewing)).toEqual({
        got: expect.stringContaining('An earlier draft of'),
      });
      expect(await executeAnew(open(2), viewing)).toEqual({ refusedAs: 'integrity' });
    });

    it('is not detected, as documented, by an older keyring in a new process, which refuses all that is newer', async () => {
      const { victim, one } = lane;
      await put(victim.keyring.first);
      expect(await viewAnew()).toEqual({ refusedAs: 'integrity' });
      await site.raw.write(one.key, one.older);
      expect(await viewAnew()).toEqual({ got: expect.stringContaining('An earlier draft of') });
    });

    it('is not detected, as documented, when he may use the root key for this tenant: he reads what is then written', async () => {
      const { victim, one } = lane;
      const { tenant, layout, storeFor } = victim;
      await put(await sealed({ ...made(), epoch: 3 }));
      const old = await viewAnew();
      expect(old).toEqual({ refusedAs: names === 'plain' ? 'integrity' : 'not_found' });
      const path = '/memories/written-later.md';
      await using deceived = await victim.open();
      await succeed(deceived, { command: 'create', path, file_text: 'trusting words' });
      const open = () => openMemory({ store: storeFor(layout), tenant, rootKey: site.rootKey, lazy: true });
      expect(await executeAnew(open, { command: 'view', path })).toEqual({
        got: expect.stringContaining('trusting words'),
      });
      // A process that saw the true keyring is not deceived, and the true one opens nothing of what was written.
      await put(victim.keyring.second);
      expect(await view(victim.memory(), one.path)).toEqual({ got: expect.stringContaining(one.text) });
      const key = fileKey(layout, victim.loaded.names, parseMemoryPath(path));
      expect((await site.raw.keys()).includes(key)).toBe(names === 'plain');
    });
  });
}
