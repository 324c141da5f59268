import { randomBytes } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { createServer } from 'node:net';
import { HeadBucketCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { createTestBucket, describeOnS3, type S3Server, type TestBucket } from '../stage/s3.ts';
import { type S3Proxy, s3ErrorAnswer, startS3Proxy } from '../stage/s3-proxy.ts';
import { restrictedCredentials, type Statement } from '../stage/session-credentials.ts';
import { succeed } from '../stage/succeed.ts';
import { signedHeaders } from './signed-headers.ts';
import { createWitness } from './witness.ts';

const CONTENT = 'correct-horse-battery-staple';
const PATH = '/memories/aurora-project/plan.md';
const VIEW = { command: 'view', path: PATH };
const CREATE = { command: 'create', path: '/memories/aurora-project/new.md', file_text: CONTENT };
const CHANGES = [
  CREATE,
  { command: 'str_replace', path: PATH, old_str: 'horse', new_str: 'zebra-and-giraffe' },
  { command: 'insert', path: PATH, insert_line: 0, insert_text: 'inserted-sentence' },
  { command: 'delete', path: PATH },
  { command: 'delete', path: '/memories/aurora-project' },
  { command: 'rename', old_path: PATH, new_path: '/memories/borealis-project' },
  { command: 'rename', old_path: '/memories/aurora-project', new_path: '/memories/borealis-project' },
] as const;
const UNAVAILABLE = 'Error: The memory is temporarily unavailable, try again';

describeOnS3('a memory in bad conditions', ['minio'], (server) => {
  let bucket: TestBucket;
  let tenant: string;
  let good: MemoryOptions;
  const witness = createWitness();
  const opened: Memory[] = [];
  const proxies: S3Proxy[] = [];
  const secrets: string[] = [];

  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(() => bucket?.remove());
  beforeEach(async () => {
    tenant = `t-${randomBytes(4).toString('hex')}`;
    const rootKey = randomBytes(32).toString('base64');
    const { endpoint, region, credentials } = bucket.storeOptions;
    secrets.push(tenant, rootKey);
    good = {
      store: `s3://${bucket.bucket}/team`,
      tenant,
      rootKey,
      s3: { endpoint, region, forcePathStyle: true },
      credentials,
    };
    await succeed(await open(), { command: 'create', path: PATH, file_text: `${CONTENT}\n` });
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((memory) => memory.close()));
    await Promise.all(proxies.splice(0).map((proxy) => proxy[Symbol.asyncDispose]()));
  });

  async function open(options: Partial<MemoryOptions> = {}): Promise<Memory> {
    const memory = await openMemory({ lazy: true, ...good, logger: witness.logger, ...options });
    opened.push(memory);
    return memory;
  }

  const at = (endpoint: string): Pick<MemoryOptions, 's3'> => ({ s3: { ...good.s3, endpoint } });

  async function proxied(): Promise<S3Proxy> {
    const proxy = await startS3Proxy(server().endpoint);
    proxies.push(proxy);
    secrets.push(new URL(proxy.endpoint).host);
    return proxy;
  }

  /** Every object of the tenant with its ETag. */
  async function stored(): Promise<readonly string[]> {
    const { Contents: objects = [] } = await bucket.client.send(
      new ListObjectsV2Command({ Bucket: bucket.bucket }),
    );
    return objects.flatMap(({ Key = '', ETag = '' }) => (Key.includes(tenant) ? [`${Key} ${ETag}`] : []));
  }

  it('says that a bucket is missing to the operator alone, and creates none', async () => {
    const missing = `${bucket.bucket}-missing`;
    secrets.push(missing);
    const memory = await open({ store: `s3://${missing}/team` });
    expect(await witness.refusal(memory, VIEW)).toEqual({
      code: 'misconfigured',
      sentence: `Error: The path ${PATH} could not be read`,
    });
    const writer = await open({ store: `s3://${missing}/team` });
    expect(await witness.refusal(writer, CREATE)).toEqual({
      code: 'misconfigured',
      sentence: `Error: The path ${CREATE.path} could not be written`,
    });
    await expect(bucket.client.send(new HeadBucketCommand({ Bucket: missing }))).rejects.toMatchObject({
      $metadata: { httpStatusCode: 404 },
    });
  });

  it('is refused a root key that is another one, and changes nothing', async () => {
    const before = await stored();
    const memory = await open({ rootKey: randomBytes(32) });
    for (const input of [VIEW, ...CHANGES]) {
      expect((await witness.refusal(memory, input)).code).toBe('key_unavailable');
    }
    expect(await stored()).toEqual(before);
    expect(await succeed(await open(), VIEW)).toContain(CONTENT);
  });

  it('is refused wrong credentials', async () => {
    const wrong = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'not-the-secret-of-anybody' };
    const { accessKeyId } = bucket.storeOptions.credentials;
    secrets.push(wrong.accessKeyId, wrong.secretAccessKey);
    for (const credentials of [wrong, { ...wrong, accessKeyId }]) {
      const memory = await open({ credentials });
      expect(await witness.refusal(memory, VIEW)).toEqual({
        code: 'access_denied',
        sentence: `Error: Access to ${PATH} is not permitted`,
      });
    }
  });

  it('reads with credentials that may only read, and is refused every change', async () => {
    const before = await stored();
    const credentials = await mayOnly(['s3:GetObject', 's3:ListBucket']);
    const memory = await open({ credentials });
    expect(await succeed(memory, VIEW)).toContain(CONTENT);
    expect(await succeed(memory, { command: 'view', path: '/memories' })).toContain('plan.md');
    for (const input of CHANGES) {
      const { code, sentence } = await witness.refusal(memory, input);
      expect({ input, code }).toEqual({ input, code: 'access_denied' });
      expect(sentence).toMatch(/^Error: Access to \/memories\/[a-z/.-]+ is not permitted$/);
    }
    expect(await stored()).toEqual(before);
    expect(await succeed(memory, VIEW)).toContain(CONTENT);
  });

  it('loses nothing with credentials that may write but not delete', async () => {
    const credentials = await mayOnly(['s3:GetObject', 's3:ListBucket', 's3:PutObject']);
    const memory = await open({ credentials });
    await succeed(memory, { command: 'insert', path: PATH, insert_line: 0, insert_text: 'first-line' });
    await succeed(memory, CREATE);
    const renaming = { command: 'rename', old_path: PATH, new_path: '/memories/borealis-project' };
    const { code } = await witness.refusal(memory, renaming);
    expect(code).toBe('outcome_unknown');
    const observer = await open();
    const places = await Promise.all(
      [PATH, renaming.new_path].map((path) => observer.execute({ command: 'view', path })),
    );
    expect(places.filter(({ content }) => String(content).includes('first-line'))).not.toEqual([]);
    // The tombstone stands before the server refuses the rest: no caller may be told that nothing happened.
    const removing = { command: 'delete', path: CREATE.path };
    expect((await witness.refusal(memory, removing)).code).toBe('outcome_unknown');
    await succeed(observer, { command: 'view', path: '/memories' });
  });

  it('reaches nothing of a tenant that its credentials do not cover', async () => {
    const credentials = await mayOnly(['s3:GetObject', 's3:PutObject', 's3:DeleteObject'], 'somebody-else');
    const memory = await open({ credentials });
    for (const input of [VIEW, ...CHANGES]) {
      expect((await witness.refusal(memory, input)).code).toBe('access_denied');
    }
  });

  it('refuses to write through a proxy that strips If-* headers, and overwrites nothing', async () => {
    const proxy = await proxied();
    proxy.editRequestHeaders((headers, { method, url }) => resigned(server(), { method, url, headers }));
    const before = await stored();
    const memory = await open(at(proxy.endpoint));
    expect(await succeed(memory, VIEW)).toContain(CONTENT);
    for (const input of CHANGES) {
      if (input.command === 'delete' && input.path !== PATH) continue;
      expect({ input, code: (await witness.refusal(memory, input)).code }).toEqual({
        input,
        code: 'misconfigured',
      });
    }
    const isProbe = (line: string): boolean => line.includes('/probe ');
    expect((await stored()).filter((line) => !isProbe(line))).toEqual(
      before.filter((line) => !isProbe(line)),
    );
    const writes = proxy.requests.filter(({ method }) => method !== 'GET' && method !== 'HEAD');
    expect(writes.length).toBeGreaterThan(0);
    for (const { method, url } of writes)
      expect(`${method} ${url}`).toMatch(/^(PUT|DELETE) \/.*\/probe(-[\w-]+)?\?/);
    expect(await succeed(await open(), VIEW)).toContain(CONTENT);
  });

  it('makes no keyring through such a proxy for a tenant that is new', async () => {
    const proxy = await proxied();
    proxy.editRequestHeaders((headers, { method, url }) => resigned(server(), { method, url, headers }));
    tenant = `${tenant}-new`;
    const memory = await open({ ...at(proxy.endpoint), tenant });
    expect(await witness.refusal(memory, CREATE)).toEqual({
      code: 'misconfigured',
      sentence: `Error: The path ${CREATE.path} could not be written`,
    });
    expect((await stored()).filter((line) => !line.includes('/probe '))).toEqual([]);
  });

  it('is temporarily unavailable when nothing listens at the endpoint', async () => {
    const unused = await closedPort();
    secrets.push(`127.0.0.1:${unused}`);
    const memory = await open(at(`http://127.0.0.1:${unused}`));
    for (const input of [VIEW, CREATE]) {
      expect(await witness.refusal(memory, input)).toEqual({ code: 'unavailable', sentence: UNAVAILABLE });
    }
  });

  it('is temporarily unavailable when its host has no address', async () => {
    const memory = await open(at('http://store.invalid:9000'));
    expect(await witness.refusal(memory, VIEW)).toEqual({ code: 'unavailable', sentence: UNAVAILABLE });
    secrets.push('store.invalid');
  });

  it('is misconfigured, and says nothing of it to the model, when something else listens there', async () => {
    const proxy = await proxied();
    proxy.react(() => ({ status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Welcome</h1>' }));
    const memory = await open(at(proxy.endpoint));
    const { code, sentence } = await witness.refusal(memory, VIEW);
    expect({ code, sentence }).toEqual({
      code: 'misconfigured',
      sentence: `Error: The path ${PATH} could not be read`,
    });
  });

  it('tells a server that fails from one that refuses', async () => {
    const proxy = await proxied();
    for (const [answer, expected] of [
      [s3ErrorAnswer(503, 'SlowDown'), 'unavailable'],
      [s3ErrorAnswer(500, 'InternalError'), 'unavailable'],
      [s3ErrorAnswer(403, 'AccessDenied'), 'access_denied'],
    ] as const) {
      proxy.react(() => answer);
      expect((await witness.refusal(await open(at(proxy.endpoint)), VIEW)).code).toBe(expected);
    }
  });

  it('knows what became of a change whose answer was lost, or says that it does not', async () => {
    const proxy = await proxied();
    const memory = await open(at(proxy.endpoint));
    await succeed(memory, { command: 'create', path: '/memories/other.md', file_text: 'x' });
    // Two answers in three are lost, then six in seven: more than the SDK tries by itself.
    let puts = 0;
    proxy.react(({ method }) => {
      if (method !== 'PUT') return 'forward';
      puts++;
      return puts % (puts < 16 ? 3 : 7) === 0 ? 'forward' : 'lose_answer';
    });
    const told: string[] = [];
    for (let i = 0; i < 12; i++) {
      const line = `line-${String(i).padStart(2, '0')}.`;
      const input = { command: 'insert', path: PATH, insert_line: 0, insert_text: line };
      const result = await memory.execute(input);
      if (!result.isError) told.push(line);
      else expect(result.error.code).toBe('outcome_unknown');
    }
    proxy.react(() => 'forward');
    const shown = await succeed(memory, VIEW);
    for (const line of told) expect(shown.split(line)).toHaveLength(2);
    expect(told.length).toBeGreaterThan(3);
  });

  it('ends at once for a caller that cancels while the server hangs', async () => {
    const proxy = await proxied();
    proxy.react(() => 'hang');
    const memory = await open(at(proxy.endpoint));
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 200);
    const started = performance.now();
    expect(await witness.refusal(memory, VIEW, controller.signal)).toEqual({
      code: 'aborted',
      sentence: 'Error: The command was cancelled',
    });
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  it('never tells the model or the operator what is none of their business', async () => {
    const { model, operator } = witness.said();
    expect(model.length).toBeGreaterThan(30);
    expect(operator.length).toBeGreaterThan(30);
    const { endpoint, credentials } = bucket.storeOptions;
    const hidden = [
      ...secrets,
      bucket.bucket,
      new URL(endpoint).host,
      credentials.accessKeyId,
      credentials.secretAccessKey,
      ...[CONTENT, 'inserted-sentence', 'zebra-and-giraffe'],
      ...['tenants/', 'keyrings/', '/data/', 'team', 'node_modules', '.ts:', process.cwd()],
    ];
    for (const sentence of model) {
      expect(hidden.filter((secret) => sentence.includes(secret))).toEqual([]);
      expect(sentence.split('\n')).toHaveLength(1);
    }
    const paths = ['aurora-project', 'borealis-project', 'plan.md', 'new.md'];
    for (const line of operator) {
      expect([...hidden, ...paths].filter((secret) => line.includes(secret))).toEqual([]);
    }
  });

  /** Credentials for these actions on one tenant's objects and keyring. */
  function mayOnly(actions: readonly string[], whose = tenant): ReturnType<typeof restrictedCredentials> {
    const arn = `arn:aws:s3:::${bucket.bucket}`;
    const onBucket = actions.filter((action) => action === 's3:ListBucket');
    const onObjects = actions.filter((action) => action !== 's3:ListBucket');
    const resources = [`${arn}/team/tenants/${whose}/*`, `${arn}/team/keyrings/${whose}`];
    const statements: Statement[] = [{ Effect: 'Allow', Action: onObjects, Resource: resources }];
    if (onBucket.length > 0) statements.push({ Effect: 'Allow', Action: onBucket, Resource: [arn] });
    return restrictedCredentials(server(), statements);
  }
});

/** Does what a proxy does that drops conditional headers and signs the request again with the server's own keys. */
function resigned(
  server: S3Server,
  request: { readonly method: string; readonly url: string; readonly headers: OutgoingHttpHeaders },
): OutgoingHttpHeaders {
  const { method, url, headers } = request;
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(if-|authorization$|x-amz-date$|x-amz-content-sha256$)/.test(name),
  );
  const toSign = kept.filter(([name]) => name === 'host' || name.startsWith('x-amz-'));
  const signed = signedHeaders({
    method,
    url,
    headers: Object.fromEntries(toSign.map(([name, value]) => [name, String(value)])),
    bodyHash: String(headers['x-amz-content-sha256']),
    service: 's3',
    region: server.region,
    accessKeyId: server.accessKeyId,
    secretAccessKey: server.secretAccessKey,
  });
  return { ...Object.fromEntries(kept), ...signed };
}

async function closedPort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  const address = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}
