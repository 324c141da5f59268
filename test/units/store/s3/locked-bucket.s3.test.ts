import { afterEach, expect, it, vi } from 'vitest';
import { runRedact } from '../../../../src/cli/history/redact.ts';
import { runShred } from '../../../../src/cli/keys/shred.ts';
import { createLayout, parseTenantId } from '../../../../src/format/object-keys.ts';
import { sealedSize } from '../../../../src/format/sizes.ts';
import { openAdmin } from '../../../../src/open/open-admin.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { firstOrAll } from '../../../runner/thorough.ts';
import { invocationOf } from '../../../stage/invocation.ts';
import { describeOnS3, s3Environment, type TestBucket } from '../../../stage/s3.ts';
import { describeEachClient } from '../../../stage/s3-clients.ts';
import { whereTextIs } from '../../../stage/traces.ts';
import {
  createLockableBucket,
  type LockableBucket,
  type LockableVersion,
} from '../../../stage/versioned-bucket.ts';

const ROOT_KEY = new Uint8Array(32).fill(8);
const SECRET = 'the card is 4929 1838';
const PATH = '/memories/a/b';
const LAYOUT = createLayout({ prefix: 'p', tenant: parseTenantId('acme') });
const LOCKS = ['GOVERNANCE', 'COMPLIANCE', 'legal hold'] as const;

function optionsOn({ storeOptions }: TestBucket, client: 'lean' | 'sdk' = 'lean') {
  const { bucket, credentials, ...s3 } = storeOptions;
  const store = `s3://${bucket}/p`;
  return { store, s3: { ...s3, client }, credentials, tenant: 'acme', rootKey: ROOT_KEY, actor: 'ann' };
}

/** A tenant whose file has had the text, sealed under several keyrings. */
async function stock(bucket: TestBucket): Promise<void> {
  const options = optionsOn(bucket);
  await using memory = await openMemory({ ...options, history: { days: 30 } });
  await using admin = await openAdmin(options);
  await memory.files.write(PATH, SECRET);
  for (let time = 0; time < 2; time++) await admin.rotate({ force: true });
  await memory.files.rename('/memories/a', '/memories/c');
  await memory.files.rename('/memories/c', '/memories/a');
  await memory.files.write(PATH, 'clean');
}

/** Every version that the bucket keeps, with its bytes. */
async function everything({ storeOptions }: TestBucket) {
  const versions = openS3ObjectStore(storeOptions).versions;
  const found = [];
  for await (const page of versions.below('p/')) {
    for (const { key, versionId, size, isCurrent } of page) {
      const body = size === undefined ? undefined : await versions.get(key, versionId);
      if (body !== undefined) found.push({ key, body, versionId, isCurrent });
    }
  }
  return found;
}

const textIn = async (bucket: LockableBucket): Promise<number> =>
  (await whereTextIs(await everything(bucket), { layout: LAYOUT, rootKey: ROOT_KEY }, SECRET)).length;
const keyringsIn = async (bucket: LockableBucket): Promise<number> =>
  (await everything(bucket)).filter(({ key, isCurrent }) => key === LAYOUT.keyring && !isCurrent).length;

async function redact(bucket: LockableBucket, client?: 'lean' | 'sdk') {
  await using admin = await openAdmin(optionsOn(bucket, client));
  const entries = await admin.history.list(PATH);
  const version = entries.find((entry) => entry.kind === 'written' && entry.size === SECRET.length);
  if (version === undefined) throw new Error('there is no version');
  return await admin.history.redact(version);
}

async function shred(bucket: LockableBucket, client?: 'lean' | 'sdk') {
  await using admin = await openAdmin(optionsOn(bucket, client));
  return await admin.shred({ ttlMs: 0 });
}

describeEachClient('a locked bucket', ['minio'], ({ server, client }) => {
  it.each(client === 'sdk' ? firstOrAll(LOCKS) : LOCKS)(
    'under %s fails a redaction and a shred, which say how much stays',
    async (how) => {
      await using bucket = await createLockableBucket(server());
      await stock(bucket);
      await bucket.lock(how, () => true);
      const texts = await textIn(bucket);
      await expect(redact(bucket, client)).rejects.toMatchObject({
        code: 'access_denied',
        message: expect.stringMatching(
          /^the text is out of the history, but \d+ older versions of files .*object lock/,
        ),
        details: {
          reason: 'versions_left',
          versions: 4,
          removed: 0,
          paths: expect.arrayContaining([PATH]),
        },
      });
      expect(await textIn(bucket)).toBe(texts);

      // The marker lies over the last keyring, which is locked like those before it.
      await expect(shred(bucket, client)).rejects.toMatchObject({
        code: 'access_denied',
        message: expect.stringContaining('the keys are out of use, but 3 older versions of the keyring'),
        details: { reason: 'versions_left', versions: 3, removed: 0 },
      });
      expect(await keyringsIn(bucket)).toBe(3);
    },
  );
});

describeOnS3('a bucket of which one version is locked', ['minio'], (server) => {
  it('loses all others to a redaction and a shred, and that one when they are run again', async () => {
    await using bucket = await createLockableBucket(server());
    await stock(bucket);
    const oneOf = (beginning: string, size?: number) => {
      let meant = 0;
      return ({ Key = '', Size, isCurrent }: LockableVersion) => {
        const isMeant = Key.startsWith(beginning) && !isCurrent && (size ?? Size) === Size;
        return isMeant && meant++ === 0;
      };
    };
    expect(await bucket.lock('legal hold', oneOf(LAYOUT.data, sealedSize(SECRET.length)))).toBe(1);
    expect(await bucket.lock('GOVERNANCE', oneOf(LAYOUT.keyring))).toBe(1);
    expect(await textIn(bucket)).toBeGreaterThan(2);

    await expect(redact(bucket)).rejects.toMatchObject({ details: { versions: 1 } });
    expect(await textIn(bucket)).toBe(1);
    await bucket.unlock();
    expect(await redact(bucket)).toMatchObject({ records: 0, versionsRemoved: 1 });
    expect(await textIn(bucket)).toBe(0);

    expect(await bucket.lock('GOVERNANCE', oneOf(LAYOUT.keyring))).toBe(1);
    await expect(shred(bucket)).rejects.toMatchObject({ details: { versions: 1, removed: 2 } });
    expect(await keyringsIn(bucket)).toBe(1);
    await bucket.unlock();
    expect(await shred(bucket)).toMatchObject({ marked: false, versionsRemoved: 1 });
    expect(await keyringsIn(bucket)).toBe(0);
  });
});

describeOnS3('the commands on a locked bucket', ['minio'], (server) => {
  afterEach(() => void vi.unstubAllEnvs());

  it('name what stays of which path, and fail', async () => {
    await using bucket = await createLockableBucket(server());
    await stock(bucket);
    await bucket.lock('GOVERNANCE', () => true);
    const environment = {
      ...s3Environment(bucket.storeOptions),
      SEALED_MEMORY_STORE: `s3://${bucket.bucket}/p`,
      SEALED_MEMORY_TENANT: 'acme',
      SEALED_MEMORY_ROOT_KEY: Buffer.from(ROOT_KEY).toString('base64'),
    };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    await using admin = await openAdmin(optionsOn(bucket));
    const entries = await admin.history.list(PATH);
    const { version = '' } =
      entries.find((entry) => entry.kind === 'written' && entry.size === SECRET.length) ?? {};

    const redacting = invocationOf({});
    await expect(runRedact({ path: PATH, version, yes: true }, redacting.invocation)).rejects.toMatchObject({
      code: 'access_denied',
    });
    expect(redacting.shown.join('')).toBe(
      'left  3 versions of /memories/a/b\nleft  1 version of /memories/c/b\n',
    );
    const shredding = invocationOf({});
    await expect(runShred({ confirm: 'acme', ttl: 0 }, shredding.invocation)).rejects.toMatchObject({
      message: expect.stringContaining('3 older versions of the keyring'),
    });
    expect(shredding.shown.join('')).not.toContain('ok ');
  });
});
