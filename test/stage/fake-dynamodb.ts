import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A value of an item as it goes over the wire: `{ S: 'text' }`. */
type Wire = Readonly<Record<string, unknown>>;
type Item = Readonly<Record<string, Wire>>;

/** One request as it was received. */
interface TableRequest {
  readonly operation: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly region: string;
  readonly accessKeyId: string;
  /** The program that sent it, as it calls itself. */
  readonly agent: string;
}

interface TableError {
  readonly type: string;
  readonly status?: number;
}

interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** How a request is met: `right`, not at all, broken off before it is done or after (`lost`), or by what is given. */
type Meeting = TableError | RawAnswer | 'right' | 'silence' | 'break' | 'lost';

/** A DynamoDB of this process: one table whose key is the text `tenant`, and the requests that settings need. */
export interface FakeDynamo extends AsyncDisposable {
  /** The environment of a process that asks it. */
  readonly env: Readonly<Record<string, string>>;
  readonly table: string;
  readonly requests: readonly TableRequest[];
  /** The items by their tenants, to be read and changed. */
  readonly items: Map<string, Item>;
  /** Puts the item of a tenant with settings as JSON, or as the text that is given. */
  put(tenant: string, settings: unknown): void;
  /** Meets the next `times` requests like this. */
  meet(times: number, meeting: Meeting): void;
  /** From now on there is no table. */
  vanish(): void;
}

class Refusal extends Error {
  readonly type: string;
  readonly status: number;

  constructor({ type, status = 400 }: TableError) {
    super(type);
    this.type = type;
    this.status = status;
  }
}

/** What a request took, which every answer to `GetItem` tells. */
export const CAPACITY = { TableName: 'tenant-settings', CapacityUnits: 1 };

const invalid = (): Refusal => new Refusal({ type: 'com.amazon.coral.validate#ValidationException' });

/** Starts it; it is strict: a request of another form than DynamoDB takes is refused, and so is one that it does not know. */
export async function startFakeDynamo(): Promise<FakeDynamo> {
  const table = 'tenant-settings';
  const items = new Map<string, Item>();
  const requests: TableRequest[] = [];
  const scripted: Meeting[] = [];
  let isGone = false;

  const keyOf = (body: TableRequest['body']): string => {
    if (isGone || body['TableName'] !== table) {
      throw new Refusal({ type: 'com.amazonaws.dynamodb.v20120810#ResourceNotFoundException' });
    }
    const key = Object(body['Key']);
    const tenant = Object(key['tenant'])['S'];
    if (Object.keys(key).join() !== 'tenant' || typeof tenant !== 'string') throw invalid();
    return tenant;
  };

  /** Judges a condition of the two forms that are known, on the item as it is. */
  const meets = (body: TableRequest['body'], item: Item | undefined): void => {
    const values = Object(body['ExpressionAttributeValues']);
    const isMet =
      body['ConditionExpression'] === 'attribute_not_exists(tenant)'
        ? item === undefined
        : body['ConditionExpression'] === 'settings = :read'
          ? item?.['settings']?.['S'] === values[':read']?.S
          : undefined;
    if (isMet === undefined) throw invalid();
    if (!isMet)
      throw new Refusal({ type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException' });
  };

  const answers: Readonly<Record<string, (body: TableRequest['body']) => unknown>> = {
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

  async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request = parseRequest(incoming, Buffer.concat(chunks).toString());
    requests.push(request);
    const met = scripted.shift();
    if (met === 'silence') return;
    if (typeof met === 'object') {
      if (!('body' in met)) throw new Refusal(met);
      send(response, met);
      return;
    }
    const answer = answers[request.operation];
    if (answer === undefined) throw new Refusal({ type: 'UnknownOperationException' });
    const body = met === 'break' ? '' : JSON.stringify(answer(request.body));
    if (met === undefined || met === 'right') send(response, { status: 200, body });
    else incoming.socket.destroy();
  }

  const server = createServer((incoming, response) => {
    void receive(incoming, response).catch((error: unknown) => {
      const { type, status } =
        error instanceof Refusal ? error : new Refusal({ type: 'InternalServerError', status: 500 });
      // The words of AWS name table, account and role.
      send(response, { status, body: JSON.stringify({ __type: type, message: `${type}: ${table}` }) });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    env: {
      AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}`,
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
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** What the protocol asks of every request: JSON 1.0, a target, a signature for DynamoDB. */
function parseRequest(incoming: IncomingMessage, text: string): TableRequest {
  const [service, operation = ''] = String(incoming.headers['x-amz-target']).split('.');
  const credential = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/dynamodb\/aws4_request, /.exec(
    incoming.headers.authorization ?? '',
  );
  const isJson = incoming.headers['content-type'] === 'application/x-amz-json-1.0';
  if (incoming.method !== 'POST' || incoming.url !== '/' || !isJson || service !== 'DynamoDB_20120810') {
    throw new Refusal({ type: 'UnknownOperationException', status: 404 });
  }
  if (credential === null) throw new Refusal({ type: 'MissingAuthenticationTokenException' });
  const [, accessKeyId = '', region = ''] = credential;
  const agent = String(incoming.headers['x-amz-user-agent'] ?? incoming.headers['user-agent']);
  return { operation, body: JSON.parse(text) as Record<string, unknown>, region, accessKeyId, agent };
}

function send(response: ServerResponse, { status, body }: RawAnswer): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(body);
}
