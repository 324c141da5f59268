import { type AwsError, AwsRefusal, type AwsRequest, type RawAnswer, startAwsService } from './aws-json.ts';

/** A value of an item as it goes over the wire: `{ S: 'text' }`. */
type Wire = Readonly<Record<string, unknown>>;
type Item = Readonly<Record<string, Wire>>;

/**
 * The reaction to a request: `right`, `silence`, a connection that breaks before the request is done (`break`) or after
 * it (`lost`), or the given answer.
 */
type Meeting = AwsError | RawAnswer | 'right' | 'silence' | 'break' | 'lost';

/** A DynamoDB of this process: one table whose key is the text `tenant`, and the requests that settings need. */
export interface FakeDynamo extends AsyncDisposable {
  /** The environment of a process that asks it. */
  readonly env: Readonly<Record<string, string>>;
  readonly table: string;
  readonly requests: readonly AwsRequest[];
  /** The items by their tenants, to be read and changed. */
  readonly items: Map<string, Item>;
  /** Puts the item of a tenant with settings as JSON, or as the text that is given. */
  put(tenant: string, settings: unknown): void;
  /** Reacts to the next `times` requests like this. */
  meet(times: number, meeting: Meeting): void;
  /** Removes the table. */
  vanish(): void;
}

/** The capacity that a request took, which every answer to `GetItem` tells. */
export const CAPACITY = { TableName: 'tenant-settings', CapacityUnits: 1 };

const invalid = (): AwsRefusal => new AwsRefusal({ type: 'com.amazon.coral.validate#ValidationException' });

/**
 * Starts the double. It is strict: it refuses a request of a form that DynamoDB does not take, and every operation that
 * it does not know.
 */
export async function startFakeDynamo(): Promise<FakeDynamo> {
  const table = 'tenant-settings';
  const items = new Map<string, Item>();
  const requests: AwsRequest[] = [];
  const scripted: Meeting[] = [];
  let isGone = false;

  const keyOf = (body: AwsRequest['body']): string => {
    if (isGone || body['TableName'] !== table) {
      throw new AwsRefusal({ type: 'com.amazonaws.dynamodb.v20120810#ResourceNotFoundException' });
    }
    const key = Object(body['Key']);
    const tenant = Object(key['tenant'])['S'];
    if (Object.keys(key).join() !== 'tenant' || typeof tenant !== 'string') throw invalid();
    return tenant;
  };

  /** Judges a condition of the two forms that are known, on the item as it is. */
  const meets = (body: AwsRequest['body'], item: Item | undefined): void => {
    const values = Object(body['ExpressionAttributeValues']);
    const isMet =
      body['ConditionExpression'] === 'attribute_not_exists(tenant)'
        ? item === undefined
        : body['ConditionExpression'] === 'settings = :read'
          ? item?.['settings']?.['S'] === values[':read']?.S
          : undefined;
    if (isMet === undefined) throw invalid();
    if (!isMet)
      throw new AwsRefusal({ type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException' });
  };

  const answers: Readonly<Record<string, (body: AwsRequest['body']) => unknown>> = {
    GetItem(body) {
      const item = items.get(keyOf(body));
      if (
        body['ConsistentRead'] !== true ||
        body['ReturnConsumedCapacity'] !== 'TOTAL' ||
        body['ProjectionExpression'] !== 'tenant, settings'
      ) {
        throw invalid();
      }
      const { tenant, settings } = item ?? {};
      return { ...(item !== undefined && { Item: { tenant, settings } }), ConsumedCapacity: CAPACITY };
    },
    UpdateItem(body) {
      const tenant = keyOf(body);
      const item = items.get(tenant);
      meets(body, item);
      const settings = Object(body['ExpressionAttributeValues'])[':new'];
      if (body['UpdateExpression'] !== 'SET settings = :new' || typeof settings?.S !== 'string') {
        throw invalid();
      }
      items.set(tenant, { ...item, tenant: { S: tenant }, settings });
      return {};
    },
    DeleteItem(body) {
      const tenant = keyOf(body);
      meets(body, items.get(tenant));
      items.delete(tenant);
      return {};
    },
  };

  const service = await startAwsService({
    version: '1.0',
    target: 'DynamoDB_20120810',
    signedAs: 'dynamodb',
    internal: 'InternalServerError',
    names: () => table,
    answer(request) {
      requests.push(request);
      const met = scripted.shift();
      if (met === 'silence' || met === 'break') return met;
      if (typeof met === 'object') {
        if (!('body' in met)) throw new AwsRefusal(met);
        return met;
      }
      const answer = answers[request.operation];
      if (answer === undefined) throw new AwsRefusal({ type: 'UnknownOperationException' });
      const body = JSON.stringify(answer(request.body));
      return met === 'lost' ? 'break' : { status: 200, body };
    },
  });

  return {
    env: {
      AWS_ENDPOINT_URL_DYNAMODB: service.url,
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'AKIDOFTHETABLE',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: '',
    },
    table,
    requests,
    items,
    put(tenant, settings) {
      const text = typeof settings === 'string' ? settings : JSON.stringify(settings);
      items.set(tenant, { tenant: { S: tenant }, settings: { S: text } });
    },
    meet: (times, meeting) => void scripted.push(...Array.from({ length: times }, () => meeting)),
    vanish() {
      isGone = true;
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
