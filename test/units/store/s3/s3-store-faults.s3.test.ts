import { randomBytes } from 'node:crypto';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { checkConditions } from '../../../../src/store/conditions.ts';
import { type ETag, isResentConflict, type ObjectStore } from '../../../../src/store/port.ts';
import type { S3StoreOptions } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { createTestBucket, type TestBucket } from '../../../stage/s3.ts';
import { describeEachClient } from '../../../stage/s3-clients.ts';
import {
  type ProxiedRequest,
  type Reaction,
  type S3Proxy,
  s3ErrorAnswer,
  startS3Proxy,
} from '../../../stage/s3-proxy.ts';

const MIB = 1024 * 1024;
const BODY = new TextEncoder().encode('sealed bytes');

describeEachClient('the S3 store behind a faulty network', ['minio'], ({ server, client }) => {
  let bucket: TestBucket;
  let proxy: S3Proxy;
  let store: ObjectStore;
  let key: ObjectKey;
  const opened: ObjectStore[] = [];

  const open = (options: Partial<S3StoreOptions> = {}): ObjectStore => {
    const next = openS3ObjectStore({ client, ...bucket.storeOptions, endpoint: proxy.endpoint, ...options });
    opened.push(next);
    return next;
  };

  beforeAll(async () => {
    bucket = await createTestBucket(server());
    proxy = await startS3Proxy(bucket.storeOptions.endpoint);
    store = open();
  });
  afterAll(async () => {
    for (const each of opened) await each[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
    await bucket?.remove();
  });
  beforeEach(() => {
    key = `faults/${randomBytes(8).toString('hex')}` as ObjectKey;
    proxy.react(() => 'forward');
    proxy.editAnswerHeaders((headers) => headers);
    proxy.editRequestHeaders((headers) => headers);
    proxy.requests.length = 0;
  });

  /** Reacts to the requests in turn, and forwards those behind the last reaction. */
  const reactInTurn = (...reactions: readonly Reaction[]): void => {
    let next = 0;
    proxy.react(() => reactions[next++] ?? 'forward');
  };

  const create = async (): Promise<ETag> => {
    const result = await store.put(key, BODY, { mode: 'create' });
    if (!('etag' in result)) throw new Error('the object is already there');
    proxy.requests.length = 0;
    return result.etag;
  };

  describe('put', () => {
    it('says that a conflict may be with its own lost attempt', async () => {
      reactInTurn('lose_answer');
      await expect(store.put(key, BODY, { mode: 'create' })).rejects.toSatisfy(isResentConflict);
      expect(proxy.requests).toHaveLength(2);
      const ifMatch = (await store.head(key))?.etag as ETag;
      reactInTurn('lose_answer');
      await expect(store.put(key, randomBytes(9), { mode: { ifMatch } })).rejects.toSatisfy(isResentConflict);
    });

    it('succeeds when the lost attempt was not executed', async () => {
      reactInTurn('lose_request');
      expect(await store.put(key, BODY, { mode: 'create' })).toHaveProperty('etag');
    });

    it('is outcome_unknown when no attempt brings an answer', async () => {
      reactInTurn('lose_answer', 'lose_request', 'lose_request');
      const putting = store.put(key, BODY, { mode: 'create' });
      await expect(putting).rejects.toMatchObject({ code: 'outcome_unknown' });
      expect(await store.head(key)).toBeDefined();
    });

    it('is outcome_unknown when a definite refusal follows a lost attempt', async () => {
      reactInTurn('lose_answer', s3ErrorAnswer(403, 'AccessDenied'));
      await expect(store.put(key, BODY, { mode: 'create' })).rejects.toMatchObject({
        code: 'outcome_unknown',
      });
    });

    it.each(['InternalError', 'SlowDown'])('is outcome_unknown behind a 5xx (%s)', async (code) => {
      proxy.react(() => s3ErrorAnswer(503, code));
      await expect(store.put(key, BODY, { mode: 'create' })).rejects.toMatchObject({
        code: 'outcome_unknown',
      });
      expect(proxy.requests.length).toBeGreaterThan(1);
    });

    it('is unavailable, not unknown, when nothing listens', async () => {
      const nobody = open({ endpoint: 'http://127.0.0.1:1' });
      await expect(nobody.put(key, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'unavailable' });
    });

    it('is outcome_unknown when the caller cancels while it is on its way', async () => {
      const controller = new AbortController();
      proxy.react(() => {
        controller.abort();
        return 'hang';
      });
      const putting = store.put(key, BODY, { mode: 'create', signal: controller.signal });
      await expect(putting).rejects.toMatchObject({ code: 'outcome_unknown' });
      expect(proxy.requests).toHaveLength(1);
    });

    it('sends a write again that met a concurrent one', async () => {
      const conflict = s3ErrorAnswer(409, 'ConditionalRequestConflict');
      reactInTurn(conflict, conflict);
      expect(await store.put(key, BODY, { mode: 'create' })).toHaveProperty('etag');
      expect(proxy.requests).toHaveLength(3);
    });

    it('ends after many concurrent writes', async () => {
      proxy.react(() => s3ErrorAnswer(409, 'ConditionalRequestConflict'));
      await expect(store.put(key, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'unavailable' });
      expect(proxy.requests).toHaveLength(9);
    });

    it.each([
      ['no', undefined],
      ['an empty', '""'],
      ['a weak', 'W/"1"'],
    ])('is misconfigured behind a proxy that leaves %s ETag', async (_, etag) => {
      proxy.editAnswerHeaders(({ etag: _etag, ...rest }) => ({ ...rest, ...(etag && { etag }) }));
      await expect(store.put(key, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'misconfigured' });
    });

    it('sends one buffer of known length', async () => {
      await store.put(key, randomBytes(4 * MIB), { mode: 'create' });
      const [sent] = proxy.requests;
      expect(sent?.headers).toMatchObject({ 'content-length': String(4 * MIB), 'if-none-match': '*' });
      expect(sent?.headers).not.toHaveProperty('transfer-encoding');
      expect(sent?.headers).not.toHaveProperty('content-encoding');
    });

    it('adds no checksum when only required ones are wanted', async () => {
      await open({ checksums: 'when_required' }).put(key, BODY, { mode: 'create' });
      await store.put(key, BODY, { mode: 'overwrite' });
      const [without, withOne] = proxy.requests.map(({ headers }) => Object.keys(headers).join());
      expect(without).not.toContain('x-amz-checksum');
      expect(withOne).toContain('x-amz-checksum');
    });
  });

  describe('put in parts', () => {
    const large = new Uint8Array(11 * MIB).fill(7);
    const isCompleting = ({ method, url }: ProxiedRequest): boolean =>
      method === 'POST' && /[?&]uploadId=/.test(url);
    const partsLeft = async (): Promise<number> => {
      const command = new ListMultipartUploadsCommand({ Bucket: bucket.bucket, Prefix: key });
      return (await bucket.client.send(command)).Uploads?.length ?? 0;
    };

    it('puts the condition on the request that completes it', async () => {
      await store.put(key, large, { mode: 'create' });
      const [completing] = proxy.requests.filter(isCompleting);
      expect(completing?.headers).toMatchObject({ 'if-none-match': '*' });
      expect(proxy.requests).toHaveLength(1 + 3 + 1);
    });

    it('replaces the version that is named by the completing request, and no other', async () => {
      const ifMatch = await create();
      expect(await store.put(key, large, { mode: { ifMatch } })).toHaveProperty('etag');
      const [completing, ...more] = proxy.requests.filter(({ headers }) => headers['if-match'] !== undefined);
      expect([completing?.method, completing?.headers['if-match'], more]).toEqual(['POST', ifMatch, []]);
      expect(await store.put(key, large.subarray(1), { mode: { ifMatch } })).toEqual({ conflict: 'changed' });
      expect(await store.head(key)).toMatchObject({ size: large.length });
      expect(await partsLeft()).toBe(0);
    });

    it('reads the refusal in the body of a 200', async () => {
      proxy.react((request) =>
        isCompleting(request) ? { ...s3ErrorAnswer(200, 'PreconditionFailed') } : 'forward',
      );
      // The SDK takes an error behind a 200 for a failure of the server, and sends the request again.
      await expect(store.put(key, large, { mode: 'create' })).rejects.toSatisfy(isResentConflict);
      expect(await partsLeft()).toBe(0);
    });

    it('is outcome_unknown when the completing request brings no answer', async () => {
      proxy.react((request) => (isCompleting(request) ? 'lose_answer' : 'forward'));
      await expect(store.put(key, large, { mode: 'create' })).rejects.toMatchObject({
        code: 'outcome_unknown',
      });
      expect(await store.head(key)).toMatchObject({ size: large.length });
    });

    it.each(['create', 'replace'])(
      'is outcome_unknown when only a second attempt at completing it is answered: %s',
      async (kind) => {
        const mode = kind === 'create' ? kind : { ifMatch: await create() };
        let completed = 0;
        proxy.react((request) => (isCompleting(request) && completed++ === 0 ? 'lose_answer' : 'forward'));
        await expect(store.put(key, large, { mode })).rejects.toMatchObject({ code: 'outcome_unknown' });
        expect(completed).toBe(2);
        expect(await store.head(key)).toMatchObject({ size: large.length });
        expect(await partsLeft()).toBe(0);
      },
    );

    it('removes its parts when one of them fails', async () => {
      proxy.react(({ url }) =>
        url.includes('partNumber=3') ? s3ErrorAnswer(403, 'AccessDenied') : 'forward',
      );
      await expect(store.put(key, large, { mode: 'create' })).rejects.toMatchObject({
        code: 'access_denied',
      });
      expect(await partsLeft()).toBe(0);
    });

    it('removes its parts when the caller cancels', async () => {
      const controller = new AbortController();
      proxy.react(({ url }) => {
        if (url.includes('partNumber=2')) controller.abort();
        return 'forward';
      });
      const putting = store.put(key, large, { mode: 'create', signal: controller.signal });
      await expect(putting).rejects.toMatchObject({ code: 'aborted' });
      expect(await partsLeft()).toBe(0);
      expect(await store.head(key)).toBeUndefined();
    });
  });

  describe('delete', () => {
    it('is sent once when its answer is lost', async () => {
      await create();
      proxy.react(() => 'lose_answer');
      await expect(store.delete([{ key }])).rejects.toMatchObject({ code: 'outcome_unknown' });
      expect(proxy.requests.map(({ method }) => method)).toEqual(['DELETE']);
    });

    it('of a batch is sent once when the server fails', async () => {
      proxy.react(() => s3ErrorAnswer(500, 'InternalError'));
      const deleting = store.delete([{ key }, { key: `${key}2` as ObjectKey }]);
      await expect(deleting).rejects.toMatchObject({ code: 'outcome_unknown' });
      expect(proxy.requests.map(({ method }) => method)).toEqual(['POST']);
    });

    it('with a condition is refused where the server would ignore it', async () => {
      const ifMatch = await create();
      await expect(store.delete([{ key, ifMatch }])).rejects.toMatchObject({ code: 'misconfigured' });
      expect(proxy.requests).toEqual([]);
    });

    it('sends its condition to a guarded server, and reads the refusals', async () => {
      const guarded = open({ guarded: true });
      const ifMatch = '"5d41402abc4b2a76b9719d911017c592"' as ETag;
      reactInTurn(s3ErrorAnswer(412, 'PreconditionFailed'), s3ErrorAnswer(404, 'NoSuchKey'));
      expect(await guarded.delete([{ key, ifMatch }])).toEqual([{ key, conflict: 'changed' }]);
      expect(await guarded.delete([{ key, ifMatch }])).toEqual([{ key, conflict: 'missing' }]);
      expect(proxy.requests[0]?.headers).toMatchObject({ 'if-match': ifMatch });

      const [changed, gone, failed, done] = ['a b', 'c&d', 'e', 'f'].map(
        (name) => `${key}/${name}` as ObjectKey,
      );
      if (!changed || !gone || !failed || !done) throw new Error('four keys are needed');
      const refusal = (at: string, code: string): string =>
        `<Error><Key>${at.replaceAll('&', '&amp;')}</Key><Code>${code}</Code><Message>m</Message></Error>`;
      reactInTurn({
        status: 200,
        body: `<DeleteResult>${refusal(changed, 'PreconditionFailed')}${refusal(gone, 'NoSuchKey')}${refusal(failed, 'AccessDenied')}</DeleteResult>`,
      });
      const targets = [changed, gone, failed, done].map((each) => ({ key: each, ifMatch }));
      expect(await guarded.delete(targets)).toMatchObject([
        { key: changed, conflict: 'changed' },
        { key: gone, conflict: 'missing' },
        { key: failed, error: { code: 'access_denied' } },
      ]);
    });
  });

  describe('get', () => {
    it('is repeated when its answer is lost', async () => {
      const etag = await create();
      reactInTurn('lose_answer');
      expect(await store.get(key)).toMatchObject({ etag, body: BODY });
    });

    it('is unavailable when the server keeps failing', async () => {
      proxy.react(() => s3ErrorAnswer(500, 'InternalError'));
      await expect(store.get(key)).rejects.toMatchObject({ code: 'unavailable' });
    });

    it('is unavailable when the body breaks off', async () => {
      await store.put(key, randomBytes(MIB), { mode: 'create' });
      proxy.react(() => 'break_body');
      await expect(store.get(key)).rejects.toMatchObject({ code: 'unavailable' });
    });

    it('tells the time of the server', async () => {
      await create();
      const date = new Date(Date.now() + 100_000).toUTCString();
      proxy.editAnswerHeaders((headers) => ({ ...headers, date }));
      expect(await store.get(key)).toMatchObject({ servedAt: Date.parse(date) });
      expect(await store.head(key)).toMatchObject({ servedAt: Date.parse(date) });
      for await (const page of store.list({ prefix: key })) expect(page.servedAt).toBe(Date.parse(date));
    });

    it('takes a 404 that is not S3’s for a wrong endpoint, not for an absent object', async () => {
      proxy.react(() => ({ status: 404, headers: { 'content-type': 'text/html' }, body: '<html>no</html>' }));
      await expect(store.get(key)).rejects.toMatchObject({ code: 'misconfigured' });
    });

    it('stops when its caller cancels', async () => {
      const controller = new AbortController();
      proxy.react(() => {
        controller.abort();
        return 'hang';
      });
      await expect(store.get(key, { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' });
    });
  });

  describe('list', () => {
    it('does not take any other 200 for an empty listing', async () => {
      proxy.react(() => ({
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: '<html>hello</html>',
      }));
      const listing = store.list({ prefix: '' })[Symbol.asyncIterator]();
      await expect(listing.next()).rejects.toMatchObject({ code: 'misconfigured' });
    });

    it('refuses a listing that is cut short', async () => {
      proxy.react(() => ({
        status: 200,
        body: '<ListBucketResult><Name>bucket</Name><IsTruncated>true</IsTruncated></ListBucketResult>',
      }));
      const pages = store.list({ prefix: '' })[Symbol.asyncIterator]();
      await pages.next();
      await expect(pages.next()).rejects.toMatchObject({ code: 'misconfigured' });
    });

    it('sends one request per page', async () => {
      await create();
      for await (const page of store.list({ prefix: key })) expect(page.objects).toHaveLength(1);
      expect(proxy.requests).toHaveLength(1);
    });
  });

  it.each([
    [301, 'PermanentRedirect', 'misconfigured'],
    [400, 'AuthorizationHeaderMalformed', 'misconfigured'],
    [400, 'ExpiredToken', 'access_denied'],
    [403, 'RequestTimeTooSkewed', 'misconfigured'],
    [400, 'KeyTooLongError', 'misconfigured'],
    [400, 'EntityTooLarge', 'limit_exceeded'],
    [405, 'MethodNotAllowed', 'misconfigured'],
  ])('turns %i %s into %s, on reads and on writes', async (status, code, expected) => {
    proxy.react(() => s3ErrorAnswer(status, code));
    await expect(store.get(key)).rejects.toMatchObject({ code: expected });
    await expect(store.put(key, BODY, { mode: 'create' })).rejects.toMatchObject({ code: expected });
  });

  it('is told by the condition check about a proxy that removes conditions', async () => {
    const probe = `${key}-probe` as ObjectKey;
    await store.put(probe, BODY, { mode: 'create' });
    // The proxy acts like a gateway that signs requests again: the server sees a valid request without the condition.
    proxy.react(({ method }) => (method === 'PUT' ? { status: 200, headers: { etag: '"1"' } } : 'forward'));
    const checked = checkConditions(open(), probe);
    await expect(checked.put(key, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('is refused by the server when a proxy strips a signed condition', async () => {
    proxy.editRequestHeaders(({ 'if-none-match': _, ...rest }) => rest);
    await expect(store.put(key, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'access_denied' });
    proxy.editRequestHeaders((headers) => headers);
    expect(await store.head(key)).toBeUndefined();
  });
});
