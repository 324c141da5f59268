import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { toBase64url } from '../../src/format/encoding.ts';
import type { NameMode } from '../../src/format/names.ts';
import { open, seal } from '../../src/format/object.ts';
import { classKey, classLogicalName, fileKey, logicalName } from '../../src/format/object-keys.ts';
import { newVersion } from '../../src/format/version.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { encodeText } from '../../src/language/text.ts';
import { osRandom } from '../../src/store/os-random.ts';
import { THOROUGH } from '../runner/thorough.ts';
import { describeOnS3 } from '../stage/s3.ts';
import { succeed } from '../stage/succeed.ts';
import { type AttackSite, type Lane, laneOf, openAttackSite } from './attack-site.ts';
import { executeAnew, view } from './outcome.ts';
import { fileOf } from './party.ts';

/** A rename of a directory counts as left behind when its register was not written for so long. */
const LEASE_MS = 10_000;

for (const names of ['encrypted', 'plain'] as const satisfies readonly NameMode[]) {
  describeOnS3(`an attacker who writes the bucket under ${names} names`, ['minio'], (server) => {
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

    it('is detected, with one error for all, when an object is changed, cut, spliced, swapped or downgraded', async () => {
      const { one, two, victim } = lane;
      const { sealed } = one;
      const flip = (offset: number): Uint8Array => sealed.with(offset, (sealed[offset] ?? 0) ^ 1);
      const forgeries = [
        ...[0, 9, 12, 28, 60, 76, 100, 224, sealed.length - 1].map(flip),
        sealed.subarray(0, sealed.length - 1),
        Buffer.concat([sealed, Buffer.of(0)]),
        Buffer.concat([sealed.subarray(0, 224), one.older.subarray(224)]),
        Buffer.concat([one.older.subarray(0, 100), sealed.subarray(100)]),
        two.sealed,
        lane.below.sealed,
        laneOf(site, 1).one.sealed,
        fileOf(site.intruder, one.path).sealed,
      ];
      const told = new Set<string>();
      for (const forgery of forgeries) {
        await site.raw.write(one.key, forgery);
        const result = await victim.memory().execute({ command: 'view', path: one.path });
        if (!result.isError) expect.unreachable('a forged object was opened');
        told.add(`${result.error.code} | ${result.error.message} | ${result.content}`);
      }
      expect([...told]).toEqual([
        `integrity | An object was rejected: it is not what was sealed under this name for this tenant. | Error: The path ${one.path} could not be read`,
      ]);
      await site.raw.write(one.key, sealed);
      expect(await view(victim.memory(), one.path)).toEqual({ got: expect.stringContaining(one.text) });
    });

    it('is detected when he puts a version back that a process has seen make way for another', async () => {
      const { one, victim } = lane;
      const memory = victim.memory();
      for (const [bytes, words] of [
        [one.older, 'An earlier draft of'],
        [one.sealed, one.text],
      ] as const) {
        await site.raw.write(one.key, bytes);
        expect(await view(memory, one.path)).toEqual({ got: expect.stringContaining(words) });
      }
      await site.raw.write(one.key, one.older);
      expect(await view(memory, one.path)).toEqual({ refusedAs: 'integrity' });
      await site.raw.write(one.key, one.sealed);
      expect(await view(memory, one.path)).toEqual({ got: expect.stringContaining(one.text) });
    });

    it('is not detected, as documented, when he puts a version back under a process that never saw it', async () => {
      const { one, victim } = lane;
      expect(await view(victim.memory(), one.path)).toEqual({ got: expect.stringContaining(one.text) });
      await site.raw.write(one.key, one.older);
      const older = { got: expect.stringContaining('An earlier draft of') };
      expect(await view(victim.memory(), one.path)).toEqual(older);
      expect(await executeAnew(victim.open, { command: 'view', path: one.path })).toEqual(older);
    });

    it('is not detected, as documented, when he deletes a file, which is then simply not there', async () => {
      const { one, two, victim } = lane;
      await site.raw.remove(one.key);
      expect(await view(victim.memory(), one.path)).toEqual({ refusedAs: 'not_found' });
      expect(await view(victim.memory(), two.path)).toEqual({ got: expect.stringContaining(two.text) });
    });

    it('is not detected, as documented, when he adds a name to a listing, but what it names is refused', async () => {
      const { victim, directory, one } = lane;
      const memory = victim.memory();
      const path = `${directory}/deleted.md`;
      const before = await site.raw.keys();
      await succeed(memory, { command: 'create', path, file_text: 'of no more use' });
      const [key = ''] = (await site.raw.keys()).filter((each) => !before.includes(each));
      await succeed(memory, { command: 'delete', path });
      await site.raw.write(key, one.sealed);
      expect(await succeed(memory, { command: 'view', path: directory })).toContain(path);
      expect(await view(memory, path)).toEqual({ refusedAs: 'integrity' });
    });

    // It waits for a lease; the name mode matters little to a register.
    if (names === 'encrypted' || THOROUGH) {
      it('is not detected, as documented, when he puts an old register back: a rename is done again, or taken back', async () => {
        const [repeated, undone] = [lane, laneOf(site, 1)];
        // The records that the workers had written themselves while they renamed these directories.
        await putRegister(repeated, { phase: 'moving', id: new Uint8Array(16) });
        const moved = `${undone.directory}/elsewhere`;
        const rename = { command: 'rename', old_path: `${undone.directory}/sub`, new_path: moved };
        await succeed(undone.victim.memory(), rename);
        await putRegister(undone, { phase: 'copying', id: await originOf(undone, `${moved}/below.md`) });
        await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 2_000));

        await using first = await repeated.victim.open();
        const shown = await view(first, `${repeated.directory}/elsewhere/below.md`);
        expect(shown).toEqual({ got: expect.stringContaining(repeated.below.text) });
        expect(await view(first, repeated.below.path)).toEqual({ refusedAs: 'not_found' });
        // Copies that were not changed go, as if the rename had never come further.
        await using second = await undone.victim.open();
        await succeed(second, { command: 'view', path: '/memories' });
        expect(await view(second, `${moved}/below.md`)).toEqual({ refusedAs: 'not_found' });
        expect(await view(second, undone.one.path)).toEqual({
          got: expect.stringContaining(undone.one.text),
        });
      });
    }

    /** Puts a register back in which the rename of the lane's directory `sub` is still under way. */
    async function putRegister(
      { victim, directory }: Lane,
      { phase, id }: { readonly phase: string; readonly id: Uint8Array },
    ): Promise<void> {
      const [from, to] = [`${directory}/sub`, `${directory}/elsewhere`];
      const entry = { phase, id: toBase64url(id), from, to, owner: 'gone' };
      const register = seal({
        keys: victim.loaded.keys,
        name: classLogicalName('journal', 'register'),
        content: encodeText(JSON.stringify(entry)),
        version: newVersion({ mtime: 1, random: osRandom }),
        random: osRandom,
      });
      await site.raw.write(classKey(victim.layout, 'journal', 'register'), register);
    }

    /** The id of the rename that brought the file there. */
    async function originOf({ victim }: Lane, path: string): Promise<Uint8Array> {
      const { keys, names: encoded } = victim.loaded;
      const parsed = parseMemoryPath(path);
      const object = await site.raw.read(fileKey(victim.layout, encoded, parsed));
      return open({ keys, name: logicalName(parsed), object }).origin;
    }
  });
}
