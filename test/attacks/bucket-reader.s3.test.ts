import { createHash, getHashes } from 'node:crypto';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readHeader } from '../../src/format/header.ts';
import type { NameMode } from '../../src/format/names.ts';
import { contentLength } from '../../src/format/sizes.ts';
import { describeOnS3 } from '../stage/s3.ts';
import { succeed } from '../stage/succeed.ts';
import { findTraces } from '../stage/traces.ts';
import { type AttackSite, laneOf, openAttackSite } from './attack-site.ts';

const WORDS = 'correct-horse-battery-staple';
const NAMES = ['projekt-aurora', 'Geheimakte.md'];

for (const names of ['encrypted', 'plain'] as const satisfies readonly NameMode[]) {
  describeOnS3(`an attacker who reads the bucket under ${names} names`, ['minio'], (server) => {
    let site: AttackSite;
    beforeAll(async () => {
      site = await openAttackSite(server(), { names, victims: 1, lanesEach: 1 });
      const memory = laneOf(site).victim.memory();
      const path = `/memories/${NAMES.join('/')}`;
      await succeed(memory, { command: 'create', path, file_text: WORDS });
      await succeed(memory, { command: 'create', path: '/memories/same-words.md', file_text: WORDS });
    });
    afterAll(() => site?.[Symbol.asyncDispose]());

    /** Everything that the server tells about every object: its key, its bytes, its metadata and checksums. */
    async function everything(): Promise<{ readonly keys: string; readonly rest: Buffer }> {
      const keys = await site.raw.keys();
      const told = await Promise.all(
        keys.map(async (Key) => {
          const head = await site.bucket.client.send(
            new HeadObjectCommand({ Bucket: site.bucket.bucket, Key, ChecksumMode: 'ENABLED' }),
          );
          return Buffer.concat([await site.raw.read(Key), Buffer.from(JSON.stringify(head))]);
        }),
      );
      return { keys: keys.join('\n'), rest: Buffer.concat(told) };
    }

    it('finds no content, root key or name in any form, but for plain names in keys', async () => {
      const { keys, rest } = await everything();
      expect(findTraces(rest, [WORDS, 'Secret words of', ...NAMES, '/memories', site.rootKey])).toEqual([]);
      expect(findTraces(keys, [WORDS, '/memories', site.rootKey])).toEqual([]);
      const shown = NAMES.map((name) => `${name} as bytes`);
      expect(findTraces(keys, NAMES)).toEqual(names === 'plain' ? expect.arrayContaining(shown) : []);
      // The search itself works: the tenant's id is visible, by design.
      expect(findTraces(keys, ['tenants/acme-1'])).toContain('tenants/acme-1 as bytes');
    });

    it('finds no hash of a content or a path', async () => {
      const { keys, rest } = await everything();
      const haystack = Buffer.concat([Buffer.from(keys), rest]);
      const texts = [WORDS, `${WORDS}\n`, laneOf(site).one.text, `/memories/${NAMES.join('/')}`, ...NAMES];
      const digests = getHashes()
        .filter((algorithm) => !/shake/i.test(algorithm))
        .flatMap((algorithm) => texts.map((text) => createHash(algorithm).update(text).digest()));
      expect(digests.length).toBeGreaterThan(60);
      const distinct = [...new Map(digests.map((digest) => [digest.toString('hex'), digest])).values()];
      expect(findTraces(haystack, distinct)).toEqual([]);
      // The search itself works: the ETag of MinIO is the MD5 of what is stored.
      const { sealed } = laneOf(site).one;
      expect(findTraces(haystack, [createHash('md5').update(sealed).digest()])).toContain('a key as hex');
    });

    it('cannot tell that two files say the same, nor that one was written as before', async () => {
      const lane = laneOf(site);
      const { path, key, text } = lane.one;
      const memory = lane.victim.memory();
      const before = await site.raw.read(key);
      await succeed(memory, { command: 'str_replace', path, old_str: text, new_str: WORDS });
      await succeed(memory, { command: 'str_replace', path, old_str: WORDS, new_str: text });
      const after = await site.raw.read(key);
      const alike = [];
      for (const path of ['/memories/alike-1', '/memories/alike-2']) {
        const known = await site.raw.keys();
        await succeed(memory, { command: 'create', path, file_text: text });
        const [added = ''] = (await site.raw.keys()).filter((each) => !known.includes(each));
        alike.push(await site.raw.read(added));
        await succeed(memory, { command: 'delete', path });
      }
      const runs = (bytes: Uint8Array, length: number): readonly string[] =>
        Array.from({ length: bytes.length - length + 1 }, (_, at) =>
          Buffer.from(bytes.subarray(at, at + length)).toString('hex'),
        );
      const shared = (one: Uint8Array, other: Uint8Array, length: number): readonly string[] => {
        const known = new Set(runs(one, length));
        return runs(other, length).filter((run) => known.has(run));
      };
      const same = [before, after, ...alike];
      const pairs = same.flatMap((one, i) => same.slice(i + 1).map((other) => [one, other] as const));
      expect(pairs).toHaveLength(6);
      for (const [one, other] of pairs) {
        expect(other).toHaveLength(one.length);
        // Contents, commitments, nonces and tags: nothing but the version and the key id is shared.
        expect(shared(one, other, 16)).toContain(Buffer.from(readHeader(one)?.keyId ?? []).toString('hex'));
        expect(shared(one, other, 24)).toEqual([]);
      }
    });

    it('sees, as documented, how many files there are, how they lie, and their exact sizes', async () => {
      const lane = laneOf(site);
      const { data } = lane.victim.layout;
      const keys = (await site.raw.keys()).filter((key) => key.startsWith(data));
      expect(keys).toHaveLength(5);
      const depths = keys.map((key) => key.slice(data.length).split('/').length);
      expect([...depths].sort()).toEqual([1, 2, 2, 2, 3]);
      const sizes = await Promise.all(
        keys.map(async (key) => contentLength((await site.raw.read(key)).length)),
      );
      expect(sizes.filter((size) => size === WORDS.length)).toHaveLength(2);
    });

    it('sees, as documented, that a path is the same, and how long its names are in steps of 16 bytes', async () => {
      const lane = laneOf(site);
      const memory = lane.victim.memory();
      const keyOf = async (name: string): Promise<string> => {
        const before = await site.raw.keys();
        const path = `/memories/${name}`;
        await succeed(memory, { command: 'create', path, file_text: '' });
        const [added = ''] = (await site.raw.keys()).filter((key) => !before.includes(key));
        await succeed(memory, { command: 'delete', path });
        return added;
      };
      const [short, again] = [await keyOf('a-name'), await keyOf('a-name')];
      expect(again).toBe(short);
      const [fifteen, sixteen] = [await keyOf('x'.repeat(15)), await keyOf('x'.repeat(16))];
      if (names === 'encrypted') expect(fifteen).toHaveLength(short.length);
      expect(sixteen.length).toBeGreaterThan(fifteen.length);
    });

    it('sees, as documented, which object was renamed into which', async () => {
      const lane = laneOf(site);
      const { two, victim, directory } = lane;
      const before = await site.raw.keys();
      await succeed(victim.memory(), {
        command: 'rename',
        old_path: two.path,
        new_path: `${directory}/renamed.md`,
      });
      const [added = ''] = (await site.raw.keys()).filter((key) => !before.includes(key));
      const moved = await site.raw.read(added);
      expect(Buffer.compare(moved.subarray(224), two.sealed.subarray(224))).toBe(0);
      expect(readHeader(moved)?.id).toEqual(readHeader(two.sealed)?.id);
      expect(readHeader(moved)?.wrapNonce).not.toEqual(readHeader(two.sealed)?.wrapNonce);
    });
  });
}
