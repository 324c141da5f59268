import { writeCheckpoint } from '../../../src/admin/checkpoints/checkpoint.ts';
import type { Finding } from '../../../src/admin/findings.ts';
import { verifyTree } from '../../../src/admin/verify/verify.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { type Bucket, readBucket } from '../../stage/bucket.ts';
import type { TestClient, TestSite } from '../../stage/test-tree.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** A tenant with the files `a`, of three versions, and `b`, of one, an hour ago. */
export interface CheckedTenant {
  readonly site: TestSite;
  readonly client: TestClient;
  later(): Promise<void>;
  /** The line of a new one. */
  checkpoint(): Promise<string>;
  /** Answers what a process that has seen nothing finds, in few words. */
  since(line: string, historyDays?: number): Promise<readonly string[]>;
  bucket(): Promise<Bucket>;
  /** Puts back the objects whose key holds `part`; everything else stays. */
  putBack(old: Bucket, part?: string): Promise<void>;
  /** The last part of a file's key. */
  nameOf(path: string): Promise<string>;
  /** Deletes the object of a file. */
  drop(path: string): Promise<void>;
}

export async function createCheckedTenant(site: TestSite, history: 'on' | 'off'): Promise<CheckedTenant> {
  const client = await site.client({ keepsHistory: history === 'on' });
  await client.create('/memories/a', 'a0');
  await client.create('/memories/b', 'b0');
  await client.append('/memories/a', ' a1');
  await client.append('/memories/a', ' a2');
  const later = () => site.time.pause(HOUR);
  await later();
  const bucket = (): Promise<Bucket> => readBucket(site);
  const nameOf = async (path: string): Promise<string> => {
    const { names } = (await client.open()).keyring;
    return names.encodeFile(path.split('/').slice(2));
  };
  return {
    site,
    client,
    later,
    bucket,
    nameOf,
    checkpoint: async () => (await writeCheckpoint((await site.client()).tenant)).line,
    async since(line, historyDays) {
      const { findings } = await verifyTree((await site.client()).tenant, { since: line, historyDays });
      return findings.map(told);
    },
    async putBack(old, part = '') {
      const now = await bucket();
      for (const key of now.keys()) {
        if (key.includes(part) && !old.has(key)) await site.base.delete([{ key }]);
      }
      for (const [key, body] of old) {
        if (key.includes(part)) await site.base.put(key, body, { mode: 'overwrite' });
      }
    },
    async drop(path) {
      await site.base.delete([{ key: `${client.layout.data}${await nameOf(path)}` as ObjectKey }]);
    },
  };
}

function told(finding: Finding): string {
  if (finding.kind === 'since')
    return [finding.state, finding.why, finding.path.slice(10)]
      .filter((word) => word !== undefined)
      .join(' ');
  return finding.kind === 'checkpoint' ? `checkpoint ${finding.state}` : finding.kind;
}
