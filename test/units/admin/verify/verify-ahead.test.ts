import { describe, expect, it } from 'vitest';
import { checkpointTree } from '../../../../src/admin/checkpoints/checkpoint.ts';
import { weightOf } from '../../../../src/admin/findings.ts';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { findingLine } from '../../../../src/cli/show/finding-lines.ts';
import { createStamps } from '../../../../src/stamps.ts';
import { keepingClient } from '../../../stage/history-site.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { createSite, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PATH = '/memories/a';

/** A process whose own clock is off; `told` is by how much the store's `Date` is. Without it the store tells none. */
async function clientOff(site: TestSite, ms: number, told?: number): Promise<TestClient> {
  const clock = (): number => site.time.clock() + ms;
  const stamps = createStamps({ clock, monotonic: site.time.clock });
  if (told !== undefined) stamps.observe(site.time.clock() + told);
  return site.client({ clock, stamps });
}

async function findingsOf(reader: TestClient) {
  return (await verifyTree(reader.tenant)).findings;
}

describe('what was written ahead of its reader', () => {
  it.each([49, 24 * 365 * 60])('is named by verify at %d hours, and is no alarm', async (hours) => {
    const site = await createSite();
    await (await clientOff(site, hours * HOUR)).create(PATH, 'text');
    const reader = await site.client();
    const findings = await findingsOf(reader);
    expect(findings).toEqual([{ kind: 'ahead', name: PATH, aheadMs: expect.any(Number) }]);
    const [found] = findings;
    if (found?.kind !== 'ahead') throw new Error('nothing was found');
    expect(Math.abs(found.aheadMs - hours * HOUR)).toBeLessThan(MINUTE);
    expect(weightOf(found)).toBe('fault');
    expect(findingLine(found)).toMatch(
      /^FAIL {2}\/memories\/a was written \d[\d,]* hours ahead of the time now/,
    );
    // No file holds a checkpoint up for as many years.
    expect(await checkpointTree(reader.tenant)).toMatchObject({ files: 1 });
    expect(await checkpointTree(reader.tenant, { since: 'last' })).toMatchObject({ files: 1, findings });
  });

  it('is named where it is a record beside the files, and where the bound alone is ahead', async () => {
    const site = await createSite();
    const writer = await keepingClient(site);
    await writer.create(PATH, 'first');
    await (await clientOff(site, 60 * HOUR)).append(PATH, ' second');
    const rebound = await createOperator(site);
    await rebound.rotate();
    await site.time.pause(2 * MINUTE);
    await rebound.migrate();
    const names = (await findingsOf(await site.client())).map((finding) => 'name' in finding && finding.name);
    expect(names).toContain(PATH);
    expect(names.some((name) => name !== false && name.startsWith('/history/'))).toBe(true);
  });

  it.each([0, 20 * MINUTE, 47 * HOUR])('is none at %d ms, whatever clock the reader has', async (ahead) => {
    const site = await createSite();
    await (await clientOff(site, ahead)).create(PATH, 'text');
    for (const reader of [
      await clientOff(site, 0),
      // A reader in time with the store but for minutes, and readers far off it that go by its time.
      await clientOff(site, 30_000, 0),
      await clientOff(site, -30_000, 0),
      await clientOff(site, -20 * MINUTE, 0),
      await clientOff(site, -40 * HOUR, 0),
      await clientOff(site, 30 * 24 * HOUR, 0),
      await clientOff(site, -30 * 24 * HOUR, 0),
      await clientOff(site, 20 * MINUTE),
    ])
      expect(await findingsOf(reader)).toEqual([]);
  });

  it('is named by the time of the store also where the clock of the reader is ahead as well', async () => {
    const site = await createSite();
    await (await clientOff(site, 60 * HOUR)).create(PATH, 'text');
    for (const ms of [40 * HOUR, 100 * HOUR, -40 * HOUR])
      expect(await findingsOf(await clientOff(site, ms, 0))).toMatchObject([{ kind: 'ahead', name: PATH }]);
  });
});
