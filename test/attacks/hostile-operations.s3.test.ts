import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NameMode } from '../../src/format/names.ts';
import { seedOfRun } from '../runner/draws.ts';
import { amount } from '../runner/thorough.ts';
import { describeOnS3 } from '../stage/s3.ts';
import { succeed } from '../stage/succeed.ts';
import { type AttackKind, runKind } from './attack-kind.ts';
import { type AttackSite, openAttackSite } from './attack-site.ts';
import { credentialKinds } from './credential-kinds.ts';
import { keyringKinds } from './keyring-kinds.ts';
import { objectKinds } from './object-kinds.ts';
import { tenantKinds } from './tenant-kinds.ts';

/** How often each kind is tried; `ATTACK_ATTEMPTS` tries more, and another `TEST_SEED` others. */
const ATTEMPTS = Number(process.env['ATTACK_ATTEMPTS'] ?? amount({ usual: 4, thorough: 200 }));
const CONTROLS = amount({ usual: 2, thorough: 8 });
const LEAST_KINDS = 20;
const SEED = `attacks ${seedOfRun(process.env)}`;

for (const names of ['encrypted', 'plain'] as const satisfies readonly NameMode[]) {
  describeOnS3(`hostile operations under ${names} names`, ['minio'], (server) => {
    let site: AttackSite;
    const counts: number[] = [];
    beforeAll(async () => {
      site = await openAttackSite(server(), {
        names,
        victims: amount({ usual: 2, thorough: 8 }),
        lanesEach: amount({ usual: 1, thorough: 4 }),
      });
    }, 180_000);
    afterAll(() => site?.[Symbol.asyncDispose]());

    const kinds = (on: AttackSite): readonly AttackKind[] => [
      ...credentialKinds(on),
      ...objectKinds(on),
      ...keyringKinds(on),
      ...tenantKinds(on),
    ];
    // The kinds stand on the site, which is there only when the tests run; their titles do not.
    for (const [at, title] of titlesOf(kinds).entries()) {
      it(`refuses all of ${ATTEMPTS} attempts of one who ${title}`, { timeout: 180_000 }, async () => {
        const kind = kinds(site)[at] as AttackKind;
        const tally = await runKind(site, kind, { attempts: ATTEMPTS, controls: CONTROLS, seed: SEED });
        expect(tally).toEqual({
          attempts: ATTEMPTS,
          refused: ATTEMPTS,
          controls: 2 * CONTROLS,
          succeeded: 2 * CONTROLS,
        });
        counts.push(tally.attempts);
      });
    }

    it(`has tried ${LEAST_KINDS * ATTEMPTS} times and more, and every file reads as its owner wrote it`, async () => {
      expect(counts.length).toBeGreaterThanOrEqual(LEAST_KINDS);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(LEAST_KINDS * ATTEMPTS);
      for (const party of [site.intruder, ...site.victims]) {
        await using memory = await party.open();
        for (const { path, text } of party.files.values()) {
          expect(await succeed(memory, { command: 'view', path })).toContain(text);
        }
      }
    });
  });
}

function titlesOf(kinds: (site: AttackSite) => readonly AttackKind[]): readonly string[] {
  return kinds({ bucket: {} } as AttackSite).map(({ title }) => title);
}
