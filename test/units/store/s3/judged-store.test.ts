import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { DeleteTarget, ETag, ObjectStore, PutMode } from '../../../../src/store/port.ts';
import { judgedStore } from '../../../../src/store/s3/judged-store.ts';
import type { AnsweredPage, S3Wire, WireCall } from '../../../../src/store/s3/wire.ts';

const KEY = 'data/file' as ObjectKey;
const OTHER = 'data/other' as ObjectKey;
const BODY = Uint8Array.of(1, 2, 3);
const ETAG = '"1"' as ETag;
const NOW = 5_000;
const DATE = 'Tue, 05 May 2026 12:00:00 GMT';

/** A store above a wire of which a test answers one request, without a server. */
function storeOver(
  wire: Partial<S3Wire>,
  options: { guarded?: boolean; endpoint?: string } = {},
): ObjectStore {
  return judgedStore(wire as S3Wire, { bucket: 'bucket', clock: () => NOW, ...options });
}

/** Makes a failure as the SDK does: with a name, and a status where there was an answer. */
function failure(name: string, status?: number): Error {
  const metadata = status === undefined ? {} : { $metadata: { httpStatusCode: status } };
  return Object.assign(new Error('words of the server'), { name, ...metadata });
}

/** Lets a call be answered by a server. */
function answered({ trace }: WireCall, statusCode: number, headers: Record<string, string> = {}): void {
  trace.answer = { statusCode, headers, body: Readable.from([]) };
}

describe('a GET', () => {
  it('brings what the server says of an object, and what it does not say as nothing', async () => {
    const lastModified = new Date(4_000);
    const full = storeOver({
      async get(_, call) {
        answered(call, 200, { date: DATE });
        return { body: BODY, etag: '1', size: 99, lastModified };
      },
    });
    expect(await full.get(KEY)).toEqual({
      ...{ body: BODY, etag: ETAG, size: 3, lastModified: 4_000, servedAt: Date.parse(DATE) },
    });
    const bare = storeOver({
      get: async () => ({ body: BODY, etag: '1', size: undefined, lastModified: undefined }),
    });
    expect(await bare.get(KEY)).toMatchObject({ size: 3, lastModified: 0, servedAt: NOW });
  });

  it('passes on what its caller asks for', async () => {
    const { signal } = new AbortController();
    const asked: unknown[] = [];
    const store = storeOver({
      async get(key, { trace: _, ...call }) {
        asked.push(key, call);
        return { body: BODY, etag: '1', size: 3, lastModified: undefined };
      },
    });
    await store.get(KEY, { signal, maxBytes: 5, ifNoneMatch: ETAG });
    expect(asked).toEqual([KEY, { signal, maxBytes: 5, ifNoneMatch: ETAG }]);
  });

  it.each([
    ['NoSuchKey', 404, undefined],
    ['NoSuchKey', 404, ETAG],
  ])('of an object that is not there finds nothing: %s', async (name, status, ifNoneMatch) => {
    const store = storeOver({ get: () => Promise.reject(failure(name, status)) });
    expect(await store.get(KEY, { ifNoneMatch })).toBeUndefined();
  });

  it('is answered by 304 where its caller knows the version, and fails by it otherwise', async () => {
    const store = storeOver({ get: () => Promise.reject(failure('NotModified', 304)) });
    expect(await store.get(KEY, { ifNoneMatch: ETAG })).toBe('not_modified');
    await expect(store.get(KEY)).rejects.toMatchObject({ code: 'misconfigured' });
    const other = storeOver({ get: () => Promise.reject(failure('InternalError', 500)) });
    await expect(other.get(KEY, { ifNoneMatch: ETAG })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('tells a caller that has cancelled of that, whatever failed', async () => {
    const call = new AbortController();
    const store = storeOver({
      get() {
        call.abort(new Error('enough'));
        return Promise.reject(failure('InternalError', 500));
      },
    });
    await expect(store.get(KEY, { signal: call.signal })).rejects.toMatchObject({
      code: 'aborted',
      cause: { message: 'enough' },
    });
  });
});

describe('a HEAD', () => {
  it('brings what the server says of an object, and what it does not say as nothing', async () => {
    const { signal } = new AbortController();
    const signals: unknown[] = [];
    const store = storeOver({
      async head(_, call) {
        signals.push(call.signal);
        if (signals.length === 1) return { etag: '1', size: 7, lastModified: new Date(4_000) };
        return { etag: '1', size: undefined, lastModified: undefined };
      },
    });
    expect(await store.head(KEY, { signal })).toEqual({
      ...{ etag: ETAG, size: 7, lastModified: 4_000, servedAt: NOW },
    });
    expect(await store.head(KEY)).toEqual({ etag: ETAG, size: 0, lastModified: 0, servedAt: NOW });
    expect(signals).toEqual([signal, undefined]);
  });

  it('finds nothing at an answer of 404, and fails by any other', async () => {
    const refused = (status: number) =>
      storeOver({ head: () => Promise.reject(failure('NotFound', status)) }).head(KEY);
    expect(await refused(404)).toBeUndefined();
    await expect(refused(403)).rejects.toMatchObject({ code: 'access_denied' });
  });
});

describe('a listing', () => {
  const page = (given: Partial<AnsweredPage>): AnsweredPage => ({
    ...{ name: 'bucket', encodingType: undefined, isTruncated: false, nextToken: undefined, entries: [] },
    ...given,
  });
  const entry = (key: string | undefined) => ({ key, etag: '1', size: 2, lastModified: new Date(4_000) });

  async function listed(pages: readonly AnsweredPage[], maxKeys?: number) {
    const asked: unknown[] = [];
    const store = storeOver({
      async list(given) {
        asked.push(given);
        return pages[asked.length - 1] ?? page({});
      },
    });
    const found = [];
    for await (const each of store.list({ prefix: 'a', startAfter: 'a/b', maxKeys })) found.push(each);
    return { asked, found };
  }

  it('asks for page behind page, of a thousand keys at most', async () => {
    const pages = [page({ isTruncated: true, nextToken: 'x' }), page({ isTruncated: true, nextToken: 'y' })];
    for (const [maxKeys, sent] of [
      [undefined, 1_000],
      [999, 999],
      [1_001, 1_000],
    ] as const) {
      const { asked, found } = await listed(pages, maxKeys);
      const each = { prefix: 'a', startAfter: 'a/b', maxKeys: sent };
      expect(asked).toEqual([undefined, 'x', 'y'].map((token) => ({ ...each, token })));
      expect(found).toHaveLength(3);
    }
  });

  it.each([false, undefined])('ends with a page that is the last: %s', async (isTruncated) => {
    expect((await listed([page({ isTruncated, nextToken: 'x' })])).asked).toHaveLength(1);
  });

  it.each([
    ['no way to go on', [page({ isTruncated: true })]],
    ['an empty one', [page({ isTruncated: true, nextToken: '' })]],
    ['the one before', [1, 2].map(() => page({ isTruncated: true, nextToken: 'x' }))],
  ])('that is cut short is refused where it names %s', async (_, pages) => {
    await expect(listed(pages)).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('brings what the server says of objects, and decodes keys where it says that they are encoded', async () => {
    const names = ['a+b%2Bc%2F%C3%A4', undefined];
    const plain = await listed([page({ entries: names.map(entry) })]);
    const facts = { etag: ETAG, size: 2, lastModified: 4_000 };
    expect(plain.found).toEqual([
      {
        objects: [
          { key: names[0], ...facts },
          { key: '', ...facts },
        ],
        servedAt: NOW,
      },
    ]);
    const encoded = await listed([page({ encodingType: 'url', entries: names.map(entry) })]);
    expect(encoded.found[0]?.objects.map(({ key }) => key)).toEqual(['a b+c/ä', '']);
    const bare = { key: 'k', etag: '1', size: undefined, lastModified: undefined };
    const { found } = await listed([page({ entries: [bare] })]);
    expect(found[0]?.objects).toEqual([{ key: 'k', etag: ETAG, size: 0, lastModified: 0 }]);
  });

  it('is refused where a key is encoded in another way, or the answer names no bucket', async () => {
    await expect(listed([page({ encodingType: 'url', entries: [entry('%E4')] })])).rejects.toMatchObject({
      code: 'misconfigured',
      cause: expect.any(URIError),
    });
    await expect(listed([page({ name: undefined })])).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('fails by what the server refuses', async () => {
    const store = storeOver({ list: () => Promise.reject(failure('AccessDenied', 403)) });
    const first = store.list({ prefix: '' })[Symbol.asyncIterator]().next();
    await expect(first).rejects.toMatchObject({ code: 'access_denied' });
  });
});

describe('a PUT', () => {
  const edit: PutMode = { ifMatch: ETAG };
  const put = (error: Error, mode: PutMode, note: (call: WireCall) => void = () => {}) =>
    storeOver({
      put(_, __, call) {
        note(call);
        return Promise.reject(error);
      },
    }).put(KEY, BODY, { mode });

  it('passes on what its caller asks for, and brings the new ETag', async () => {
    const asked: unknown[] = [];
    const store = storeOver({
      async put(key, body, { trace: _, ...call }) {
        asked.push(key, body, call);
        return '2';
      },
    });
    const [{ signal }, sendBy] = [new AbortController(), { isPast: () => false }];
    expect(await store.put(KEY, BODY, { mode: edit, signal, sendBy })).toEqual({ etag: '"2"' });
    expect(asked).toEqual([KEY, BODY, { mode: edit, signal, sendBy }]);
  });

  it('is not sent for a caller that has cancelled', async () => {
    const writing = storeOver({}).put(KEY, BODY, { mode: 'create', signal: AbortSignal.abort() });
    await expect(writing).rejects.toMatchObject({ code: 'aborted' });
  });

  it.each<[string, number | undefined, PutMode, object]>([
    ['PreconditionFailed', 412, 'create', { conflict: 'exists' }],
    ['PreconditionFailed', 412, edit, { conflict: 'changed' }],
    ['PreconditionFailed', undefined, 'create', { conflict: 'exists' }],
    ['Unknown', 412, edit, { conflict: 'changed' }],
    ['NoSuchKey', 404, edit, { conflict: 'missing' }],
  ])('that is refused as %s (%s) in the mode %j met %j', async (name, status, mode, outcome) => {
    expect(await put(failure(name, status), mode)).toEqual(outcome);
  });

  it.each<[string, number, PutMode, string]>([
    ['PreconditionFailed', 412, 'overwrite', 'misconfigured'],
    ['NoSuchKey', 404, 'create', 'misconfigured'],
    ['NoSuchKey', 404, 'overwrite', 'misconfigured'],
    ['AccessDenied', 403, edit, 'access_denied'],
  ])('that is refused as %s (%s) in the mode %j is %s', async (name, status, mode, code) => {
    await expect(put(failure(name, status), mode)).rejects.toMatchObject({ code });
  });

  it('whose condition failed behind an attempt that may have landed is told as such', async () => {
    const writing = put(failure('PreconditionFailed', 412), 'create', ({ trace }) => {
      trace.earlierMayHaveLanded = true;
    });
    await expect(writing).rejects.toMatchObject({ code: 'outcome_unknown', details: { reason: 'resent' } });
  });

  it.each(['earlierMayHaveLanded', 'lastMayHaveLanded'] as const)(
    'that failed has no known outcome where an attempt may have landed (%s), and its own failure otherwise',
    async (which) => {
      const error = failure('InternalError', 500);
      await expect(put(error, 'create')).rejects.toMatchObject({ code: 'unavailable' });
      const writing = put(error, 'create', ({ trace }) => {
        trace[which] = true;
      });
      await expect(writing).rejects.toMatchObject({ code: 'outcome_unknown', cause: { status: 500 } });
    },
  );

  it('that was taken without a usable ETag is told of by what is to be put right', async () => {
    const store = storeOver({
      async put(_, __, { trace }) {
        trace.lastMayHaveLanded = true;
        return 'W/"1"';
      },
    });
    await expect(store.put(KEY, BODY, { mode: 'create' })).rejects.toMatchObject({ code: 'misconfigured' });
  });
});

describe('a DELETE', () => {
  const conditional: DeleteTarget = { key: KEY, ifMatch: ETAG };
  const plain: DeleteTarget = { key: KEY };

  it('of nothing sends nothing', async () => {
    expect(await storeOver({}).delete([])).toEqual([]);
  });

  it.each([
    ['on a server elsewhere', { endpoint: 'http://host' }, false],
    ['on AWS', {}, true],
    ['where the caller says that it does not', { guarded: false }, false],
    ['where the caller says that it does', { endpoint: 'http://host', guarded: true }, true],
  ])('under a condition is sent where the server honours it: %s', async (_, options, isSent) => {
    const asked: DeleteTarget[] = [];
    const store = storeOver(
      {
        async remove(target, call) {
          asked.push(target);
          answered(call, 204);
        },
      },
      options,
    );
    const outcome = await store.delete([conditional]).catch((error: unknown) => error);
    if (isSent) expect(outcome).toEqual([]);
    else expect(outcome).toMatchObject({ code: 'misconfigured' });
    await expect(store.delete([plain])).resolves.toEqual([]);
    expect(asked).toEqual([...(isSent ? [conditional] : []), { key: KEY, ifMatch: undefined }]);
    if (isSent) return;
    await expect(store.delete([{ key: OTHER }, conditional])).rejects.toMatchObject({
      code: 'misconfigured',
    });
  });

  it.each([200, 202, 404, undefined])('is confirmed by 204 alone, and not by %s', async (status) => {
    const store = storeOver({
      async remove(_, call) {
        if (status !== undefined) answered(call, status);
      },
    });
    await expect(store.delete([plain])).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it.each<[string, number | undefined, DeleteTarget, readonly object[]]>([
    ['NoSuchKey', 404, plain, []],
    ['NoSuchKey', 404, conditional, [{ key: KEY, conflict: 'missing' }]],
    ['PreconditionFailed', 412, conditional, [{ key: KEY, conflict: 'changed' }]],
  ])('that is refused as %s (%s) of %j is told as %j', async (name, status, target, outcome) => {
    const store = storeOver({ remove: () => Promise.reject(failure(name, status)) });
    expect(await store.delete([target])).toEqual(outcome);
  });

  it.each([
    ['PreconditionFailed', 412, plain, 'misconfigured'],
    ['AccessDenied', 403, conditional, 'access_denied'],
  ])('that is refused as %s (%s) of %j is %s', async (name, status, target, code) => {
    const store = storeOver({ remove: () => Promise.reject(failure(name, status)) });
    await expect(store.delete([target])).rejects.toMatchObject({ code });
  });

  it('of several keys is sent for a thousand at a time', async () => {
    const sizes: number[] = [];
    const [{ signal }, sendBy] = [new AbortController(), { isPast: () => false }];
    const store = storeOver({
      async removeAll(targets, { trace: _, ...call }) {
        sizes.push(targets.length);
        expect(call).toEqual({ signal, sendBy });
        return { isResult: true, failures: [] };
      },
    });
    for (const [count, sent] of [
      [2, [2]],
      [1_000, [1_000]],
      [1_001, [1_000, 1]],
    ] as const) {
      const targets = Array.from({ length: count }, (_, at) => ({ key: `data/${at}` as ObjectKey }));
      expect(await store.delete(targets, { signal, sendBy })).toEqual([]);
      expect(sizes.splice(0)).toEqual(sent);
    }
  });

  const batch = (answer: Awaited<ReturnType<S3Wire['removeAll']>>) =>
    storeOver({ removeAll: async () => answer }).delete([conditional, { key: OTHER }]);

  it.each([
    [{ key: OTHER, code: 'NoSuchKey' }, []],
    [{ key: KEY, code: 'NoSuchKey' }, [{ key: KEY, conflict: 'missing' }]],
    [{ key: KEY, code: 'PreconditionFailed' }, [{ key: KEY, conflict: 'changed' }]],
    [{ key: KEY, code: 'AccessDenied' }, [{ key: KEY, error: { code: 'access_denied' } }]],
    [{ key: KEY, code: undefined }, [{ key: KEY, error: { code: 'outcome_unknown' } }]],
  ])('of several keys is told of the one that stays: %j', async (failed, outcome) => {
    expect(await batch({ isResult: true, failures: [failed] })).toMatchObject(outcome);
  });

  it.each([
    ['is no result', { isResult: false, failures: [] }],
    ['names a key that was not to go', { isResult: true, failures: [{ key: 'x', code: 'NoSuchKey' }] }],
    ['names no key', { isResult: true, failures: [{ key: undefined, code: 'NoSuchKey' }] }],
  ])('of several keys confirms nothing where the answer %s', async (_, answer) => {
    await expect(batch(answer)).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('of several keys fails as a whole where the request does', async () => {
    const store = storeOver({
      removeAll(_, { trace }) {
        trace.lastMayHaveLanded = true;
        return Promise.reject(new MemoryError('timeout', 'no'));
      },
    });
    await expect(store.delete([conditional, { key: OTHER }])).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
  });
});
