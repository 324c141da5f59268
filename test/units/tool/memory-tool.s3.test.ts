import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { Part } from '../../contracts/memory-tool/contract.ts';
import { execDriver } from '../../contracts/memory-tool/exec-driver.ts';
import {
  freshTenant,
  libraryDriver,
  type StoreSettings,
} from '../../contracts/memory-tool/library-driver.ts';
import { describeMemoryTool } from '../../contracts/memory-tool.ts';
import { amount, THOROUGH } from '../../runner/thorough.ts';
import { createTestBucket, describeOnS3, s3Environment, type TestBucket } from '../../stage/s3.ts';

// A usual run shows on MinIO, with encrypted names, what may depend on the store; a thorough one shows it in both modes
// on each server.
const SHOWS: readonly Part[] = ['store', 'names'];
const manyFiles = amount({ usual: 120, thorough: 300 });

describeOnS3('the memory tool', THOROUGH ? ['versitygw'] : [], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket?.remove());

  describe.each(['encrypted', 'plain'] as const)('with %s names', (names) => {
    describeMemoryTool(
      'openMemory',
      libraryDriver(() => settingsIn(bucket, `library-${names}`)),
      {
        shows: SHOWS,
        names,
        shared: true,
        manyFiles,
      },
    );
  });
});

describeOnS3('the memory tool', ['minio'], (server) => {
  let bucket: TestBucket;
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket?.remove());

  const storeSettings = (prefix: string): StoreSettings => settingsIn(bucket, prefix);
  const environment = (prefix: string): Readonly<Record<string, string>> => {
    return {
      SEALED_MEMORY_STORE: `s3://${bucket.bucket}/${prefix}`,
      SEALED_MEMORY_S3_FORCE_PATH_STYLE: '1',
      ...s3Environment(bucket.storeOptions),
    };
  };

  describeMemoryTool(
    'openMemory',
    libraryDriver(() => storeSettings('library')),
    { shows: SHOWS, shared: true, manyFiles },
  );
  if (THOROUGH) {
    describeMemoryTool(
      'exec --jsonl with plain names',
      execDriver(() => environment('exec')),
      { shows: SHOWS, names: 'plain', shared: true, manyFiles },
    );
  }

  describe('what the model reads when the store fails', () => {
    const path = '/memories/notes.txt';
    const rootKey = randomBytes(32).toString('base64');
    const everyCommand = [
      { command: 'view', path },
      { command: 'view', path: '/memories' },
      { command: 'create', path, file_text: 'secret' },
      { command: 'str_replace', path, old_str: 'secret', new_str: 'x' },
      { command: 'insert', path, insert_line: 0, insert_text: 'secret' },
      { command: 'delete', path },
      { command: 'rename', old_path: path, new_path: '/memories/new' },
    ];

    it('names nothing but its own path when access is denied', async () => {
      const { credentials, ...settings } = storeSettings('denied');
      const wrong = {
        accessKeyId: bucket.storeOptions.credentials.accessKeyId,
        secretAccessKey: 'x'.repeat(40),
      };
      await using memory = await openMemory({
        ...settings,
        credentials: wrong,
        tenant: freshTenant(),
        rootKey,
        // Opening would fail as well, before the model asks for anything.
        lazy: true,
      });
      for (const input of everyCommand) {
        const result = await memory.execute(input);
        expect(result).toMatchObject({ isError: true, error: { code: 'access_denied' } });
        const subject = input.path ?? path;
        expect(result.content).toBe(`Error: Access to ${subject} is not permitted`);
      }
    });

    it('asks it to try again when the server cannot be reached', async () => {
      const { s3, ...settings } = storeSettings('unreachable');
      const endpoint = `http://127.0.0.1:${await closedPort()}`;
      await using memory = await openMemory({
        ...settings,
        s3: { ...s3, endpoint },
        tenant: freshTenant(),
        rootKey,
        // Opening would fail as well, before the model asks for anything.
        lazy: true,
      });
      for (const input of everyCommand.slice(0, 3)) {
        const result = await memory.execute(input);
        expect(result).toMatchObject({ isError: true, error: { code: 'unavailable' } });
        expect(result.content).toBe('Error: The memory is temporarily unavailable, try again');
      }
    });

    it('shows nothing of a file whose object was changed, and leaves the others readable', async () => {
      const tenant = freshTenant();
      await using memory = await openMemory({ ...storeSettings('changed'), tenant, rootKey });
      await memory.execute({ command: 'create', path, file_text: 'a secret' });
      await memory.execute({ command: 'create', path: '/memories/other', file_text: 'fine' });
      const victim = await flipLastByte(`changed/tenants/${tenant}/data/`);
      const outcomes = [];
      for (const each of [path, '/memories/other']) {
        outcomes.push(await memory.execute({ command: 'view', path: each }));
      }
      const refused = outcomes.filter(({ isError }) => isError);
      expect(victim).toBeDefined();
      expect(refused).toHaveLength(1);
      expect(refused[0]).toMatchObject({ error: { code: 'integrity' } });
      expect(refused[0]?.content).toMatch(
        /^Error: The path \/memories\/(notes\.txt|other) could not be read$/,
      );
    });
  });

  /** Changes the last byte of the first object below `Prefix`, as a party with access to the bucket could. */
  async function flipLastByte(Prefix: string): Promise<string | undefined> {
    const Bucket = bucket.bucket;
    const { Contents: [{ Key } = {}] = [] } = await bucket.client.send(
      new ListObjectsV2Command({ Bucket, Prefix }),
    );
    const { Body } = await bucket.client.send(new GetObjectCommand({ Bucket, Key }));
    const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array();
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    await bucket.client.send(new PutObjectCommand({ Bucket, Key, Body: bytes }));
    return Key;
  }
});

/** A port of 127.0.0.1 on which nothing listens any more. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

function settingsIn({ storeOptions }: TestBucket, prefix: string): StoreSettings {
  const { bucket, credentials, ...s3 } = storeOptions;
  return { store: `s3://${bucket}/${prefix}`, s3, credentials };
}
