import { CreateKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { afterAll, describe, expect, it } from 'vitest';
import { inTests } from '../../../../infra/local/programs/install-options.ts';
import { startMoto } from '../../../../infra/local/servers/moto.ts';
import { kmsRootKey } from '../../../../src/keys/kms/kms-root-key.ts';
import type { RootKey } from '../../../../src/keys/root-key.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { describeRootKey } from '../../../contracts/root-key.ts';
import { isNotRun } from '../../../runner/not-run.ts';

// moto lets keys decrypt that are disabled or pending deletion: those states are tested on the strict fake alone.

const install = inTests(process.env, (line) => console.log(`KMS: ${line}`));
const moto = await startMoto(process.env, install);
const credentials = { accessKeyId: 'AKIDOFTHETESTS', secretAccessKey: 'secret' };
const region = 'eu-central-1';
const isMissing = isNotRun('KMS on moto', moto);

describe.skipIf(isMissing)(`On moto${'version' in moto ? ` ${moto.version}` : ''}`, () => {
  const endpoint = 'endpoint' in moto ? moto.endpoint : '';

  afterAll(async () => {
    if ('stop' in moto) await moto.stop();
  });

  async function createKey(): Promise<string> {
    const client = new KMSClient({ region, endpoint, credentials });
    const { KeyMetadata } = await client.send(new CreateKeyCommand({}));
    client.destroy();
    return KeyMetadata?.Arn ?? '';
  }

  const open = async (): Promise<RootKey> => kmsRootKey({ keyArn: await createKey(), endpoint, credentials });

  // moto looks for the key that the wrapped bytes name and denies access where there is none.
  describeRootKey('A key in KMS', async () => ({ root: await open(), another: await open() }), [
    'integrity',
    'access_denied',
  ]);

  it('a memory is created, and read again by the next one', async () => {
    const rootKey = await open();
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const options = { store, tenant: 'acme', rootKey };
    {
      await using memory = await openMemory(options);
      await memory.execute({ command: 'create', path: '/memories/f', file_text: 'text' });
    }
    await using again = await openMemory(options);
    const { content } = await again.execute({ command: 'view', path: '/memories/f' });
    expect(content).toContain('text');
  });

  it('a key that does not exist is told', async () => {
    const keyArn = `arn:aws:kms:${region}:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab`;
    const root = kmsRootKey({ keyArn, endpoint, credentials });
    const context = {
      app: 'sealed-memory',
      keyring: 'x',
      kind: 'keyring',
      tenant: 'acme',
      version: '1',
    } as const;
    await expect(root.generate(context)).rejects.toMatchObject({ code: 'key_unavailable' });
  });
});
