import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, execLines, runCli } from '../../stage/cli.ts';
import {
  createTestBucket,
  describeOnS3,
  S3_SERVERS,
  s3Environment,
  type TestBucket,
} from '../../stage/s3.ts';

describeOnS3('the CLI', S3_SERVERS, (server) => {
  let bucket: TestBucket;
  let env: Readonly<Record<string, string>>;

  beforeAll(async () => {
    bucket = await createTestBucket(server());
    env = {
      ...CLI_MEMORY_ENV,
      SEALED_MEMORY_STORE: `s3://${bucket.bucket}/some/prefix`,
      ...s3Environment(bucket.storeOptions),
    };
  });
  afterAll(() => bucket.remove());

  const doctor = async (changes: Readonly<Record<string, string>> = {}) => {
    const { code, stdout, stderr } = await runCli(['doctor'], { env: { ...env, ...changes } });
    expect(stderr).toBe('');
    expect(stdout).not.toContain(bucket.bucket);
    const lines = stdout.split('\n').slice(0, -1);
    return { code, lines, last: lines.at(-1) ?? '' };
  };

  describe('doctor', () => {
    it('finds all well, calls the server unguarded and leaves no scratch object', async () => {
      const { code, lines } = await doctor();
      expect(lines.filter((line) => !line.startsWith('ok '))).toEqual([]);
      expect(code).toBe(0);
      expect(lines.join('\n')).toContain('deletes: an unguarded store');
      expect(await keysOf(bucket)).toEqual([]);
    });

    it('says that the bucket does not exist', async () => {
      const { code, last } = await doctor({ SEALED_MEMORY_STORE: 's3://no-such-bucket-here/prefix' });
      expect(code).toBe(1);
      expect(last).toMatch(/^FAIL {2}store — .*bucket does not exist/);
    });

    it('says that the credentials are wrong', async () => {
      for (const wrong of [{ AWS_SECRET_ACCESS_KEY: 'wrong-secret' }, { AWS_ACCESS_KEY_ID: 'wrong-id' }]) {
        const { code, last } = await doctor(wrong);
        expect(code).toBe(1);
        expect(last).toMatch(/^FAIL {2}store — .*credentials/);
        expect(last).not.toContain('wrong-');
      }
    });
  });

  describe('exec --jsonl', () => {
    it('keeps a memory, sealed under its prefix, from one process to the next', async () => {
      const harness = { ...env, SEALED_MEMORY_HARNESS: '1' };
      const inserts = Array.from({ length: 20 }, (_, id) => ({
        id,
        command: 'insert',
        path: '/memories/b/list',
        insert_line: 0,
        insert_text: `line ${id}`,
      }));
      const first = await execLines(
        [
          { command: 'create', path: '/memories/a', file_text: 'visible text' },
          { command: 'create', path: '/memories/b/list', file_text: '' },
          ...inserts,
          { command: 'rename', old_path: '/memories/a', new_path: '/memories/c' },
        ],
        harness,
      );
      expect(first.filter(({ ok }) => ok !== true)).toEqual([]);
      const [dump, , empty] = await execLines(
        [{ harness: 'dump' }, { harness: 'reset' }, { harness: 'dump' }],
        harness,
      );
      const files = dump?.['files'] as Readonly<Record<string, string>>;
      expect(Object.keys(files)).toEqual(['/memories/b/list', '/memories/c']);
      expect(files['/memories/c']).toBe('visible text');
      expect(files['/memories/b/list']?.trim().split('\n')).toHaveLength(20);
      expect(empty).toEqual({ ok: true, files: {} });
      for (const key of await keysOf(bucket)) expect(key).toMatch(/^some\/prefix\/(keyrings|tenants)\/acme/);
    });

    it('answers every line when the bucket does not exist, and tells the operator', async () => {
      const input =
        '{"command":"view","path":"/memories/a"}\n{"id":1,"command":"create","path":"/memories/a","file_text":"x"}\n';
      const wrong = { ...env, SEALED_MEMORY_STORE: 's3://no-such-bucket-here/prefix' };
      const { code, stdout, stderr } = await runCli(['exec', '--jsonl'], { env: wrong, input });
      const answers = stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      expect([code, answers.length]).toEqual([0, 2]);
      for (const answer of answers) expect(answer).toMatchObject({ ok: false, code: 'misconfigured' });
      expect(stderr).toContain('bucket does not exist');
      expect(stdout + stderr).not.toContain('no-such-bucket-here');
    });
  });
});

async function keysOf({ client, bucket }: TestBucket): Promise<readonly string[]> {
  const { Contents: objects = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
  return objects.map(({ Key = '' }) => Key);
}
