import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { inTests } from '../../../infra/local/programs/install-options.ts';
import { startMoto } from '../../../infra/local/servers/moto.ts';
import { openTable, openTenantTable } from '../../../src/open/tenant-table.ts';
import { changeSettings } from '../../../src/open/tenant-table-changes.ts';
import { isNotRun } from '../../runner/not-run.ts';

const install = inTests(process.env, (line) => console.log(`DynamoDB: ${line}`));
const moto = await startMoto(process.env, install);
const isMissing = isNotRun('The table of settings on moto', moto);

describe.skipIf(isMissing)(`On moto${'version' in moto ? ` ${moto.version}` : ''}`, () => {
  const endpoint = 'endpoint' in moto ? moto.endpoint : '';
  const credentials = { accessKeyId: 'AKIDOFTHETESTS', secretAccessKey: 'secret' };
  const client = new DynamoDBClient({ region: 'eu-central-1', endpoint, credentials });
  const request = { signal: new AbortController().signal };

  beforeAll(() => {
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', endpoint);
    vi.stubEnv('AWS_REGION', 'eu-central-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', credentials.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', credentials.secretAccessKey);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    client.destroy();
    if ('stop' in moto) await moto.stop();
  });

  async function createTable(TableName: string, key = 'tenant'): Promise<string> {
    const { TableDescription } = await client.send(
      new CreateTableCommand({
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: key, AttributeType: 'S' }],
        KeySchema: [{ AttributeName: key, KeyType: 'HASH' }],
      }),
    );
    return TableDescription?.TableArn ?? '';
  }

  it('a table has the settings of those that have an item, by its name and by its ARN', async () => {
    const arn = await createTable('settings');
    const Item = { tenant: { S: 'acme' }, settings: { S: '{"readOnly":true}' }, note: { N: '1' } };
    await client.send(new PutItemCommand({ TableName: 'settings', Item }));
    vi.stubEnv('AWS_REGION', 'us-east-1');
    const byArn = openTenantTable(arn);
    expect(await byArn('acme', request)).toEqual({ readOnly: true });
    vi.stubEnv('AWS_REGION', 'eu-central-1');
    const source = openTenantTable('settings');
    expect(await source('acme', request)).toEqual({ readOnly: true });
    expect(await source('globex', request)).toBeUndefined();
  });

  it('a table that is not there, vanishes, or has another key is told', async () => {
    await expect(openTenantTable('others')('acme', request)).rejects.toMatchObject({ code: 'unavailable' });
    await createTable('brief');
    const source = openTenantTable('brief');
    expect(await source('acme', request)).toBeUndefined();
    await client.send(new DeleteTableCommand({ TableName: 'brief' }));
    await expect(source('acme', request)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The table of the tenants does not exist in this region and account.',
    });
    await createTable('keyed', 'customer');
    await expect(openTenantTable('keyed')('acme', request)).rejects.toMatchObject({
      code: 'misconfigured',
      message: 'The key of the table of the tenants must be tenant, a string.',
    });
  });

  it('settings are changed as long as they are what was read', async () => {
    await createTable('changed');
    const table = openTable('changed');
    const change = (read: string | undefined, settings: string | undefined) =>
      changeSettings(table, { tenant: 'acme', read, settings });
    await change(undefined, '{"readOnly":true}');
    expect(await table.read('acme')).toBe('{"readOnly":true}');
    await expect(change(undefined, '[]')).rejects.toMatchObject({ code: 'version_conflict' });
    await expect(change('{}', '[]')).rejects.toMatchObject({ code: 'version_conflict' });
    await change('{"readOnly":true}', '{}');
    await expect(change('[]', undefined)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await table.read('acme')).toBe('{}');
    await change('{}', undefined);
    expect(await table.read('acme')).toBeUndefined();
  });
});
