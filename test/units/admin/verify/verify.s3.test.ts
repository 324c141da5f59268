import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLayout, parseTenantId } from '../../../../src/format/object-keys.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openBaseStore } from '../../../../src/store/open-store.ts';
import { CLI_MEMORY_ENV, type CliRun, runCli } from '../../../stage/cli.ts';
import {
  createTestBucket,
  describeOnS3,
  S3_SERVERS,
  s3Environment,
  type TestBucket,
} from '../../../stage/s3.ts';
import { type S3Proxy, startS3Proxy } from '../../../stage/s3-proxy.ts';
import { interceptStore, noAnswer } from '../../../stage/store-wrappers.ts';

const FROM = '/memories/from.md';
const TO = '/memories/deep/down/to.md';
const ROOT_KEY = CLI_MEMORY_ENV['SEALED_MEMORY_ROOT_KEY'] ?? '';

describeOnS3('sealed-memory verify', S3_SERVERS, (server) => {
  let bucket: TestBucket;
  let proxy: S3Proxy;
  let env: Readonly<Record<string, string>>;

  beforeAll(async () => {
    bucket = await createTestBucket(server());
    proxy = await startS3Proxy(bucket.storeOptions.endpoint);
    env = {
      ...CLI_MEMORY_ENV,
      SEALED_MEMORY_STORE: `s3://${bucket.bucket}`,
      ...s3Environment({ ...bucket.storeOptions, endpoint: proxy.endpoint }),
    };
  });
  afterAll(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await bucket?.remove();
  });

  /** The server's clock runs ahead of its objects. */
  const letTimePass = (ms: number): void =>
    proxy.editAnswerHeaders((headers) => ({ ...headers, date: new Date(Date.now() + ms).toUTCString() }));

  const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { env });

  describe('after the process of a rename died between its copy and its delete', () => {
    beforeAll(async () => {
      await run('tool', 'create', FROM, '--text', 'precious');
      await run('tool', 'create', '/memories/beside.md', '--text', 'beside');
      await sleep(1_100);
      await dieInRename();
    });

    it('waits while the rename may be under way', async () => {
      const { code, stdout } = await run('verify', '--repair');
      expect(stdout.split('\n')).toEqual([
        expect.stringMatching(/^wait {2}\/memories\/from\.md and \/memories\/deep\/down\/to\.md /),
        'keys  version 1, active: 3 objects',
        'wait  3 files, 22 bytes: 1 finding left',
        '',
      ]);
      expect(code).toBe(1);
    });

    it('names both places, removes the older one on demand and finds all well then', async () => {
      letTimePass(90_000);
      const found = await run('verify');
      expect(found).toMatchObject({ code: 1, stderr: '' });
      expect(found.stdout).toContain(`FAIL  ${FROM} and ${TO} are the same file`);
      expect((await run('tool', 'view', FROM)).stdout).toContain('precious');

      const repaired = await run('verify', '--repair');
      expect(repaired).toMatchObject({ code: 0, stderr: '' });
      expect(repaired.stdout).toContain(`removed ${FROM}, the older place`);

      const after = await run('verify', '--json');
      expect(after.code).toBe(0);
      expect(JSON.parse(after.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
        files: 2,
        left: 0,
        repaired: 0,
        findings: [],
      });
      expect((await run('tool', 'view', FROM)).code).toBe(1);
      expect((await run('tool', 'view', TO)).stdout).toContain('precious');
      expect((await run('tool', 'view', '/memories/beside.md')).stdout).toContain('beside');
    });
  });

  async function dieInRename(): Promise<void> {
    const { endpoint, region, credentials } = bucket.storeOptions;
    await using base = await openBaseStore({
      store: { kind: 's3', bucket: bucket.bucket, prefix: '' },
      s3: { endpoint, region, forcePathStyle: true },
      credentials,
    });
    const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
    let dead = false;
    const store = interceptStore(base.forTenant(layout), (call, proceed) => {
      dead ||= call.verb === 'delete';
      return dead ? Promise.reject(noAnswer()) : proceed();
    });
    await using memory = await openMemory({ store: store, tenant: 'acme', rootKey: ROOT_KEY });
    const result = await memory.execute({ command: 'rename', old_path: FROM, new_path: TO });
    expect(result).toMatchObject({ isError: true, error: { code: 'outcome_unknown' } });
  }
});
