import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../../src/open/options/environment.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import { openTable, openTenantTable } from '../../../src/open/tenant-table.ts';
import { changeSettings } from '../../../src/open/tenant-table-changes.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { CAPACITY, type FakeDynamo, startFakeDynamo } from '../../stage/fake-dynamodb.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const NAMED = 'aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const request = { signal: new AbortController().signal };

let dynamo: FakeDynamo;
beforeEach(async () => {
  dynamo = await startFakeDynamo();
  for (const [name, value] of Object.entries(dynamo.env)) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  await dynamo[Symbol.asyncDispose]();
});

/** Asks the table, and answers the code and the words of the refusal; it tells nothing of an item or of the table. */
async function refusalOf(tenant = 'acme'): Promise<readonly [code: string, message: string]> {
  const asked = openTenantTable(dynamo.table)(tenant, request);
  const error = await Promise.resolve(asked).then(
    (settings) => expect.unreachable(`answered ${JSON.stringify(settings)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof MemoryError)) throw error;
  const { cause } = error;
  const told = [error.message, cause instanceof Error ? `${cause.message} ${JSON.stringify(cause)}` : ''];
  for (const secret of [KEY, 'SECRET', dynamo.table, '111122223333', '127.0.0.1']) {
    expect(told.join(' ')).not.toContain(secret);
  }
  return [error.code, error.message];
}

describe('a table of tenants', () => {
  it('has the settings of those that have an item, and none of the others, as it is now', async () => {
    dynamo.put('acme', { readOnly: true, rootKey: [NAMED, 'vault:https://v/transit/keys/k'] });
    const source = openTenantTable(dynamo.table);
    expect(await source('acme', request)).toEqual({
      readOnly: true,
      rootKey: [NAMED, 'vault:https://v/transit/keys/k'],
    });
    expect(await source('globex', request)).toBeUndefined();
    dynamo.put('acme', {});
    expect(await source('acme', request)).toEqual({});
    dynamo.items.set('acme', { ...dynamo.items.get('acme'), note: { S: 'since May' } });
    expect(await source('acme', request)).toEqual({});
    expect(dynamo.requests.map(({ operation, region }) => [operation, region])).toEqual(
      Array.from({ length: 4 }, () => ['GetItem', 'eu-central-1']),
    );
  });

  it('is asked in the region of its ARN', async () => {
    const arn = 'arn:aws:dynamodb:us-west-2:111122223333:table/tenant-settings';
    await expect(openTenantTable(arn)('acme', request)).rejects.toMatchObject({ code: 'unavailable' });
    expect(dynamo.requests).toMatchObject([{ region: 'us-west-2', body: { TableName: arn } }]);
  });

  const itemOf = (settings: unknown, tenant: unknown = { S: 'acme' }) => ({ tenant, settings });
  it.each<readonly [what: string, item: object, code: string, message: string]>([
    ['another tenant’s', itemOf({ S: '{}' }, { S: 'globex' }), 'integrity', 'did not answer with the item'],
    ['of no tenant', { settings: { S: '{}' } }, 'integrity', 'did not answer with the item'],
    ['of a tenant by number', itemOf({ S: '{}' }, { N: '1' }), 'integrity', 'did not answer with the item'],
    ['without settings', itemOf(undefined), 'misconfigured', 'are no text of JSON'],
    ['with a map', itemOf({ M: { readOnly: { BOOL: true } } }), 'misconfigured', 'are no text of JSON'],
    ['with bytes', itemOf({ B: 'e30=' }), 'misconfigured', 'are no text of JSON'],
    ['with nothing', itemOf({ NULL: true }), 'misconfigured', 'are no text of JSON'],
    ['with half a text', itemOf({ S: '{"model":"SECRET' }), 'misconfigured', 'are no text of JSON'],
    ['of 400 KB', itemOf({ S: JSON.stringify({ system: 'x'.repeat(400_000) }) }), 'misconfigured', '65536'],
    ['of a byte too many', itemOf({ S: `{}${' '.repeat(65_535)}` }), 'misconfigured', '65536'],
    ['with a root key', itemOf({ S: `{"rootKey":"${KEY}"}` }), 'misconfigured', 'only names of root keys'],
    ['with one behind', itemOf({ S: JSON.stringify({ rootKey: [NAMED, KEY] }) }), 'misconfigured', 'names'],
    ['with one of a mount', itemOf({ S: `{"mounts":[{"rootKey":"${KEY}"}]}` }), 'misconfigured', 'names'],
    ['with credentials', itemOf({ S: '{"mounts":[{"credentials":{}}]}' }), 'misconfigured', 'credentials'],
  ])('is refused whose item is one %s', async (_, item, code, message) => {
    dynamo.meet(1, { status: 200, body: JSON.stringify({ Item: item, ConsumedCapacity: CAPACITY }) });
    expect(await refusalOf()).toEqual([code, expect.stringContaining(message)]);
  });

  it('takes settings of 64 KiB', async () => {
    dynamo.put('acme', `{}${' '.repeat(65_534)}`);
    expect(await openTenantTable(dynamo.table)('acme', request)).toEqual({});
  });

  it.each<readonly [type: string, status: number, code: string, message: string]>([
    ['ProvisionedThroughputExceededException', 400, 'unavailable', 'fewer requests'],
    ['ThrottlingException', 400, 'unavailable', 'fewer requests'],
    ['RequestLimitExceeded', 400, 'unavailable', 'fewer requests'],
    ['InternalServerError', 500, 'unavailable', 'failed'],
    ['ServiceUnavailable', 503, 'unavailable', 'failed'],
    ['AccessDeniedException', 400, 'access_denied', 'dynamodb:GetItem'],
    ['UnrecognizedClientException', 400, 'access_denied', 'credentials'],
    ['ExpiredTokenException', 400, 'access_denied', 'credentials'],
    ['InvalidSignatureException', 400, 'access_denied', 'credentials'],
    ['ResourceNotFoundException', 400, 'unavailable', 'does not exist'],
    ['ValidationException', 400, 'misconfigured', 'must be tenant, a string'],
    ['SomethingElse', 404, 'misconfigured', 'AWS_ENDPOINT_URL_DYNAMODB'],
  ])('tells %s by a code', async (type, status, code, message) => {
    dynamo.meet(3, { type: `com.amazonaws.dynamodb.v20120810#${type}`, status });
    expect(await refusalOf()).toEqual([code, expect.stringContaining(message)]);
  });

  it.each<readonly [what: string, body: string]>([
    ['no JSON', '<html>SECRET</html>'],
    ['a list', '["SECRET"]'],
    ['an item that is a text', '{"Item":"SECRET"}'],
    ['values without types', '{"Item":{"tenant":"acme","settings":"SECRET"}}'],
    ['a text that is an object', '{"Item":{"tenant":{"S":"acme"},"settings":{"S":{"SECRET":1}}}}'],
    ['an empty object', '{}'],
    ['nothing at all', ''],
  ])('never takes %s for settings', async (_, body) => {
    dynamo.meet(3, { status: 200, body });
    expect(['misconfigured', 'integrity']).toContain((await refusalOf())[0]);
  });

  it('that breaks off is asked again, and one that is not there is unavailable', async () => {
    dynamo.meet(2, 'break');
    expect(await openTenantTable(dynamo.table)('acme', request)).toBeUndefined();
    dynamo.meet(3, 'break');
    expect(await refusalOf()).toEqual(['unavailable', expect.stringContaining('cannot be reached')]);
    vi.stubEnv('AWS_ENDPOINT_URL_DYNAMODB', 'http://127.0.0.1:9');
    expect((await refusalOf())[0]).toBe('unavailable');
  });

  it('that does not answer is given up with its caller', async () => {
    dynamo.meet(9, 'silence');
    const leaving = new AbortController();
    const asked = openTenantTable(dynamo.table)('acme', { signal: leaving.signal });
    await vi.waitUntil(() => dynamo.requests.length > 0, 10_000);
    leaving.abort();
    await expect(asked).rejects.toMatchObject({ code: 'aborted' });
  });

  it('gives a pool what its tenants have, and never the pool’s own or another’s once it fails', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.now() });
    dynamo.put('acme', { readOnly: true });
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const options = { store, rootKey: KEY, logger: silentLogger, tenants: `dynamodb:${dynamo.table}` };
    await using pool = createMemoryPool(options);
    const write = async (tenant: string) => (await pool.open(tenant)).files.write('/memories/a', 'a');
    await expect(write('acme')).rejects.toMatchObject({ code: 'read_only' });
    await write('globex');
    expect(dynamo.requests).toHaveLength(2);
    dynamo.vanish();
    await expect(write('acme')).rejects.toMatchObject({ code: 'read_only' });
    vi.advanceTimersByTime(300_000);
    for (const tenant of ['acme', 'globex', 'initech']) {
      await expect(write(tenant)).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('does not exist'),
      });
    }
  });

  it('is named by a setting, whatever the credentials of the store are', async () => {
    dynamo.put('acme', { readOnly: true });
    const env = {
      SEALED_MEMORY_STORE: 'memory:',
      SEALED_MEMORY_ROOT_KEY: KEY,
      SEALED_MEMORY_TENANT: 'acme',
      SEALED_MEMORY_TENANTS: `dynamodb:${dynamo.table}`,
    };
    const credentials = { accessKeyId: 'AKIDOFTHETENANT', secretAccessKey: 'secret' };
    await using memory = await openMemory({
      ...optionsFromEnvironment(env),
      credentials,
      logger: silentLogger,
    });
    await expect(memory.files.write('/memories/a', 'a')).rejects.toMatchObject({ code: 'read_only' });
    expect(dynamo.requests.map(({ accessKeyId }) => accessKeyId)).toEqual(['AKIDOFTHETABLE']);
  });

  it.each(['dynamodb:', 'dynamodb:ab', 'dynamodb:a b c', 'dynamodb:arn:aws:s3:::tenants', 'tenants'])(
    'cannot be %s',
    (text) => {
      expect(() => optionsFromEnvironment({ SEALED_MEMORY_TENANTS: text })).toThrow(
        'SEALED_MEMORY_TENANTS must be file: and the path of a file, or dynamodb: and the name or ARN of a table.',
      );
    },
  );
});

describe('a change of the settings of a tenant', () => {
  const textOf = (tenant = 'acme') => dynamo.items.get(tenant)?.['settings']?.['S'];
  const change = (read: string | undefined, settings: string | undefined) =>
    changeSettings(openTable(dynamo.table), { tenant: 'acme', read, settings });
  const conflict = {
    code: 'version_conflict',
    message: expect.stringContaining('settings of acme have changed'),
  };

  it('begins, replaces and takes away an item, and leaves what else it has', async () => {
    await change(undefined, '{"readOnly":true}');
    expect(textOf()).toBe('{"readOnly":true}');
    dynamo.items.set('acme', { ...dynamo.items.get('acme'), note: { S: 'since May' } });
    await change('{"readOnly":true}', '{}');
    expect(dynamo.items.get('acme')).toMatchObject({ note: { S: 'since May' }, settings: { S: '{}' } });
    await change('{}', undefined);
    expect(dynamo.items.size).toBe(0);
  });

  it('is refused where somebody else has changed them since they were read', async () => {
    dynamo.put('acme', { readOnly: true });
    await expect(change(undefined, '{}')).rejects.toMatchObject(conflict);
    await expect(change('{}', '{"readOnly":false}')).rejects.toMatchObject(conflict);
    await expect(change('{}', undefined)).rejects.toMatchObject(conflict);
    expect(textOf()).toBe('{"readOnly":true}');
    dynamo.items.delete('acme');
    await expect(change('{}', '{"readOnly":false}')).rejects.toMatchObject(conflict);
    expect(dynamo.items.size).toBe(0);
  });

  it('is made once, and told as made, where an answer is lost', async () => {
    dynamo.meet(1, 'lost');
    await change(undefined, '{}');
    expect(textOf()).toBe('{}');
    dynamo.meet(1, 'lost');
    await change('{}', undefined);
    expect(dynamo.items.size).toBe(0);
  });

  it('tells a table that refuses it', async () => {
    dynamo.meet(1, { type: 'AccessDeniedException' });
    await expect(change(undefined, '{}')).rejects.toMatchObject({
      code: 'access_denied',
      message: expect.stringContaining('UpdateItem'),
    });
  });
});
