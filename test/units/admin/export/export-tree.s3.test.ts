import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NameMode } from '../../../../src/format/names.ts';
import { openMemory, openTenant } from '../../../../src/open/open-memory.ts';
import { isNotRun } from '../../../runner/not-run.ts';
import { firstOrAll } from '../../../runner/thorough.ts';
import { type CliRun, runCli } from '../../../stage/cli.ts';
import { digestOf, textsIn } from '../../../stage/object-folder.ts';
import {
  createTestBucket,
  describeOnS3,
  findS3Server,
  s3Environment,
  type TestBucket,
} from '../../../stage/s3.ts';
import { restrictedCredentials } from '../../../stage/session-credentials.ts';
import { at, bytes } from '../../../stage/test-tree.ts';
import { type AwsCli, findAwsCli } from '../aws-cli.ts';

const found = findS3Server('minio') ? await findAwsCli(process.env) : { reason: 'there is no S3 server' };
const isMissing = isNotRun('Backups made with the AWS command line', found);

const ROOT_KEY = Buffer.alloc(32, 7).toString('base64');
const MODES: readonly NameMode[] = ['encrypted', 'plain'];
const FILES: Readonly<Record<string, string>> = {
  'a.md': 'text of a',
  empty: '',
  'notes/large.md': 'x'.repeat(200_000),
  'notes/Größe 日本/👩\u200d💻 %41 ?&+#=;:.md': 'names of every kind',
  'notes/%41%5A+': 'percent',
  'notes/moved.md': 'moved',
  [`${'d/'.repeat(19)}deep`]: 'deep',
};

/** Only a machine without the tool and without CI=true goes without; the line above says so. */
describe.skipIf(isMissing)('a backup made with the AWS command line', () => {
  describeOnS3('exported', ['minio'], (server) => {
    const aws = (): AwsCli => {
      if ('reason' in found) throw new Error(found.reason);
      return found;
    };
    const home = mkdtempSync(join(tmpdir(), 'sealed-memory-backup-'));
    let bucket: TestBucket;
    let second: TestBucket;
    beforeAll(async () => {
      bucket = await createTestBucket(server());
      second = await createTestBucket(server());
    });
    afterAll(async () => {
      rmSync(home, { recursive: true });
      await bucket?.remove();
      await second?.remove();
    });

    const optionsOf = ({ bucket: name, storeOptions }: TestBucket, prefix: string) => {
      const { endpoint, region, forcePathStyle, credentials } = storeOptions;
      const s3 = { endpoint, region, forcePathStyle };
      return { store: `s3://${name}/${prefix}`, s3, credentials, tenant: 'acme', rootKey: ROOT_KEY };
    };
    /** With credentials that may read and list, and nothing else. */
    const exported = async (from: string, to: string): Promise<CliRun> => {
      const reader = await restrictedCredentials(server(), [
        { Effect: 'Allow', Action: ['s3:GetObject', 's3:ListBucket'], Resource: ['arn:aws:s3:::*'] },
      ]);
      return runCli(['export', '--json', '--from', from, to], {
        env: {
          SEALED_MEMORY_TENANT: 'acme',
          SEALED_MEMORY_ROOT_KEY: ROOT_KEY,
          ...s3Environment({ ...server(), credentials: reader }),
        },
      });
    };
    const doneOf = (run: CliRun): unknown => {
      expect(run.stderr).toBe('');
      return JSON.parse(run.stdout.trim().split('\n').at(-1) ?? '');
    };
    const wellDone = {
      event: 'done',
      files: Object.keys(FILES).length,
      bytes: Object.values(FILES).reduce((sum, text) => sum + bytes(text).length, 0),
      findings: [],
    };

    describe.each(firstOrAll(MODES))('with %s names', (names) => {
      const prefix = `live/${names}`;
      const place = (name: string): string => join(home, `${names}-${name}`);
      beforeAll(async () => {
        const { parts, close } = await openTenant({ ...optionsOf(bucket, prefix), names });
        for (const [path, text] of Object.entries(FILES)) {
          if (path !== 'notes/moved.md') await parts.tree.create(at(`/memories/${path}`), bytes(text));
        }
        await parts.tree.create(at('/memories/before/moved.md'), bytes('moved'));
        await parts.tree.rename({ from: at('/memories/before'), to: at('/memories/notes/was') });
        await parts.tree.rename({
          from: at('/memories/notes/was/moved.md'),
          to: at('/memories/notes/moved.md'),
        });
        await close();
      });

      it('from a folder', async () => {
        const backup = place('backup');
        mkdirSync(backup);
        await aws().s3(server(), 'sync', `s3://${bucket.bucket}/${prefix}`, backup);
        expect(readdirSync(backup).sort()).toEqual(['keyrings', 'tenants']);
        const before = await digestOf(backup);
        const run = await exported(backup, place('from-folder'));
        expect(doneOf(run)).toEqual({ ...wellDone });
        expect(run.code).toBe(0);
        expect(await textsIn(place('from-folder'))).toEqual(FILES);
        expect(await digestOf(backup)).toBe(before);
      });

      it('from another bucket, under another prefix, with credentials that may only read', async () => {
        const other = `copies/of/${names}`;
        const [from, to] = [`s3://${bucket.bucket}/${prefix}`, `s3://${second.bucket}/${other}`];
        await aws().s3(server(), 'sync', from, to);
        const run = await exported(to, place('from-bucket'));
        expect(doneOf(run)).toMatchObject(wellDone);
        expect(run.code).toBe(0);
        expect(await textsIn(place('from-bucket'))).toEqual(FILES);
      });

      it('into a bucket, where the memory goes on', async () => {
        const other = `again/${names}`;
        const backup = place('backup-again');
        await aws().s3(server(), 'sync', `s3://${bucket.bucket}/${prefix}`, backup);
        await aws().s3(server(), 'sync', backup, `s3://${second.bucket}/${other}`);
        await using memory = await openMemory(optionsOf(second, other));
        const viewed = await memory.execute({ command: 'view', path: '/memories/notes/moved.md' });
        expect(viewed).toMatchObject({ isError: false, content: expect.stringContaining('moved') });
        const path = '/memories/a.md';
        const edit = { command: 'str_replace', path, old_str: 'text of a', new_str: 'edited' };
        expect(await memory.execute(edit)).toMatchObject({ isError: false });
        const run = await exported(`s3://${second.bucket}/${other}`, place('again'));
        expect(doneOf(run)).toMatchObject({ files: wellDone.files, findings: [] });
        expect(await textsIn(place('again'))).toEqual({ ...FILES, 'a.md': 'edited' });
      });

      it('from a bucket with damage, naming it', async () => {
        const other = `damaged/${names}`;
        const to = `s3://${second.bucket}/${other}`;
        await aws().s3(server(), 'sync', `s3://${bucket.bucket}/${prefix}`, to);
        const { parts, close } = await openTenant(optionsOf(second, other));
        const { files } = await parts.tree.list(at('/memories'));
        const listed = parts.context.store
          .list({ prefix: parts.context.layout.data })
          [Symbol.asyncIterator]();
        const [object] = (await listed.next()).value?.objects ?? [];
        await close();
        const Body = new Uint8Array(object?.size ?? 0);
        await second.client.send(new PutObjectCommand({ Bucket: second.bucket, Key: object?.key, Body }));
        const run = await exported(to, place('damaged'));
        expect(run.code).toBe(1);
        const { findings } = doneOf(run) as { readonly findings: readonly { readonly path: string }[] };
        expect(findings).toEqual([{ kind: 'damaged', path: expect.any(String) }]);
        expect(files.map(({ path }) => path as string)).toContain(findings[0]?.path);
        const path = findings[0]?.path.slice('/memories/'.length) ?? '';
        const { [path]: _lost, ...rest } = FILES;
        expect(await textsIn(place('damaged'))).toEqual(rest);
      });
    });

    it('says which object is missing, and when the bucket is', async () => {
      const to = join(home, 'nothing');
      const none = await exported(`s3://${bucket.bucket}/no/such/prefix`, to);
      expect(none.code).toBe(1);
      expect(doneOf({ ...none, stderr: '' })).toMatchObject({ event: 'failed', code: 'key_unavailable' });
      expect(none.stderr).toMatch(
        /^sealed-memory: key_unavailable: .* keyrings\/<tenant>, .* is missing\.\n$/,
      );
      const gone = await exported('s3://sealed-memory-no-such-bucket/x', to);
      expect(gone.code).toBe(2);
      expect(gone.stderr).toMatch(/^sealed-memory: misconfigured: The bucket does not exist/);
    });
  });
});
