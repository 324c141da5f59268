import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { loadPeer, MemoryError, misconfigured } from '../errors.ts';
import { readSdkFailure, redactedCause } from '../store/failures.ts';
import { inTime, once, throwIfAborted } from '../time.ts';
import { holdsSecrets } from './clear-keys.ts';
import type { TenantSource } from './options/options.ts';

/** The most bytes of the settings of one tenant. */
const MAX_SETTINGS_BYTES = 65_536;
/** The time for all attempts of one request, in milliseconds. */
const WITHIN_MS = 10_000;

/** A table of DynamoDB, with the settings of a tenant as JSON in an item of its own. */
export interface TenantTable {
  /** Its name or its ARN. */
  readonly name: string;
  /**
   * Reads the text of a tenant's settings as it is now; undefined where the table has no item for the tenant.
   *
   * @throws MemoryError as `ask`; `misconfigured` for an item of another form; `integrity` for another tenant's item.
   */
  read(tenant: string, signal?: AbortSignal): Promise<string | undefined>;
  /**
   * Sends a request, within ten seconds.
   *
   * @throws MemoryError `unavailable`, `access_denied`, `misconfigured`, `aborted`.
   */
  ask<T>(
    send: (client: DynamoDBClient, within: { readonly abortSignal: AbortSignal }) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
}

/** Opens a table, by its name or its ARN. Region and credentials are those of the process; the ARN's region counts first. */
export function openTable(table: string): TenantTable {
  const [, region] = /^arn:[^:]*:dynamodb:([^:]*):/.exec(table) ?? [];
  const load = once(() =>
    loadPeer(() => import('./dynamodb-sdk.ts'), {
      name: '@aws-sdk/client-dynamodb',
      of: 'a table of tenants',
    }),
  );
  const open = once(async () => {
    const { DynamoDBClient } = await load();
    return new DynamoDBClient({
      ...(region !== undefined && { region }),
      maxAttempts: 3,
      requestHandler: { connectionTimeout: 2_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
    });
  });

  const ask: TenantTable['ask'] = async (send, signal) => {
    throwIfAborted(signal);
    const client = await open();
    const ended = AbortSignal.timeout(WITHIN_MS);
    const abortSignal = signal === undefined ? ended : AbortSignal.any([signal, ended]);
    try {
      return await inTime(() => send(client, { abortSignal }), { ms: WITHIN_MS, late, signal });
    } catch (error) {
      throwIfAborted(signal);
      throw tableFailure(error);
    }
  };

  return {
    name: table,
    ask,
    async read(tenant, signal) {
      const { GetItemCommand } = await load();
      const command = new GetItemCommand({
        TableName: table,
        Key: { tenant: { S: tenant } },
        ConsistentRead: true,
        // An item may also hold notes of its operator.
        ProjectionExpression: 'tenant, settings',
        ReturnConsumedCapacity: 'TOTAL',
      });
      const answer = await ask((client, within) => client.send(command, within), signal);
      const { Item, ConsumedCapacity } = answer;
      // An empty answer of something else than DynamoDB must not pass for a tenant without settings.
      if (typeof ConsumedCapacity?.CapacityUnits !== 'number') throw misconfigured(NOT_DYNAMO);
      if (Item === undefined) return undefined;
      if (Item['tenant']?.S !== tenant) {
        throw new MemoryError(
          'integrity',
          `The table of the tenants did not answer with the item of ${tenant}.`,
        );
      }
      const { S: text } = Item['settings'] ?? {};
      if (typeof text !== 'string') throw malformed(tenant, 'are no text of JSON');
      return text;
    },
  };
}

/**
 * Answers the settings of tenants from a table, whose key is the text `tenant`: the item of a tenant has them as JSON in
 * the text `settings`, 64 KiB at most. Root keys lie there by their names alone.
 *
 * The source throws MemoryError as `TenantTable` does; no message repeats what an item holds.
 */
export function openTenantTable(table: string): TenantSource {
  const { read } = openTable(table);
  return async (tenant, { signal }) => {
    const text = await read(tenant, signal);
    // The pool judges what a tenant has.
    return text === undefined
      ? undefined
      : (parseSettings(text, tenant) as Awaited<ReturnType<TenantSource>>);
  };
}

/**
 * Parses the settings of a tenant as they lie in a table.
 *
 * @throws MemoryError `misconfigured` for a text that is no JSON, too long, or holds a secret.
 */
export function parseSettings(text: string, tenant: string): unknown {
  if (new TextEncoder().encode(text).length > MAX_SETTINGS_BYTES) {
    throw malformed(tenant, `have more than ${MAX_SETTINGS_BYTES} bytes`);
  }
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw malformed(tenant, 'are no text of JSON');
  }
  if (!holdsSecrets(given)) return given;
  throw malformed(
    tenant,
    'hold a root key or credentials: only names of root keys, which begin with aws-kms: or vault:, may lie in a table',
  );
}

function malformed(tenant: string, what: string): MemoryError {
  return misconfigured(`The settings of tenant ${tenant} in the table ${what}.`);
}

function late(): MemoryError {
  return new MemoryError('unavailable', 'The table of the tenants did not answer in time: try again later.');
}

const NOT_DYNAMO =
  'The endpoint of the table of the tenants did not answer as DynamoDB does: check AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL.';

/** The beginnings of the names of errors: of DynamoDB, of AWS as a whole, and of the SDK's search for credentials. */
const REFUSED =
  /^(AccessDenied|UnrecognizedClient|Invalid(ClientToken|AccessKey|Signature)|SignatureDoesNot|ExpiredToken|IncompleteSig|MissingAuth|CredentialsProvider|TokenProvider)/;
const OVERLOADED = /Throttling|Throughput|LimitExceeded|TooManyRequests/;

/** Puts an error of the SDK into the operator's words, without table, ARN, region or endpoint. */
function tableFailure(error: unknown): MemoryError {
  if (error instanceof MemoryError) return error;
  const { name, status, network, code } = readSdkFailure(error);
  const cause = redactedCause(error, 'DynamoDB');
  const told = (code: 'unavailable' | 'access_denied' | 'misconfigured', message: string): MemoryError =>
    new MemoryError(code, message, { cause });
  if (REFUSED.test(name) || status === 401 || status === 403) {
    return told(
      'access_denied',
      'The table of the tenants refused access: check the credentials of this process, and that they may dynamodb:GetItem there, and UpdateItem and DeleteItem to change it.',
    );
  }
  if (name === 'ResourceNotFoundException')
    return told('unavailable', 'The table of the tenants does not exist in this region and account.');
  if (OVERLOADED.test(name) || status === 429)
    return told('unavailable', 'The table of the tenants asks for fewer requests: try again later.');
  if (name === 'ValidationException')
    return told('misconfigured', 'The key of the table of the tenants must be tenant, a string.');
  if (network === 'unreached' || network === 'broken_off')
    return told(
      'unavailable',
      'The table of the tenants cannot be reached: check the endpoint and the network.',
    );
  // The SDK calls a connection that broke a TimeoutError too.
  const isTimeout = /^(TimeoutError|AbortError)$/.test(name) || code === 'ETIMEDOUT' || status === 408;
  if (isTimeout) return late();
  if (status !== undefined && status >= 500)
    return told('unavailable', 'The table of the tenants failed: try again later.');
  return told(
    'misconfigured',
    status === undefined
      ? 'No request could be made to the table of the tenants: check region, endpoint and certificate.'
      : NOT_DYNAMO,
  );
}
