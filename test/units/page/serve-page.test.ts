import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { Questions } from '../../../src/page/server/answer-questions.ts';
import { type Asset, readAssets, servePage } from '../../../src/page/server/serve-page.ts';
import { askRaw, linesIn, type ServedPage, serveQuestions, signIn } from '../../stage/page-site.ts';

const asset = (type: string): Asset => ({ type, body: new TextEncoder().encode('its own') });
const ASSETS = new Map([
  ['/', asset('text/html; charset=utf-8')],
  ['/page.js', asset('text/javascript; charset=utf-8')],
]);
const QUESTIONS: Questions = {
  echo: async (input, { send }) => {
    await send({ line: 1 });
    return { input };
  },
  fail: async ({ how }) => {
    if (how === 'defect') throw new Error('with a secret in it');
    throw new MemoryError(how === 'store' ? 'unavailable' : 'not_found', 'The store did not answer.');
  },
};

let page: ServedPage;
let cookie: string;
beforeAll(async () => {
  page = await serveQuestions(QUESTIONS, ASSETS);
  cookie = await signIn(page);
});
afterAll(() => page[Symbol.asyncDispose]());

const JSON_TYPE = { 'content-type': 'application/json' };
const post = (path: string, headers: Record<string, string> = {}, body = '{}') =>
  askRaw(`${page.origin}${path}`, {
    method: 'POST',
    headers: { origin: page.origin, cookie, ...JSON_TYPE, ...headers },
    body,
  });

describe('the server of the page', () => {
  it('answers a question line by line, the result last', async () => {
    expect(linesIn(await post('/api/echo', {}, '{"a":"ä"}'))).toEqual([{ line: 1 }, { input: { a: 'ä' } }]);
  });

  it('gives its own files, and lets a browser load nothing else', async () => {
    const { status, headers, text } = await askRaw(page.origin);
    expect([status, text]).toEqual([200, 'its own']);
    const policy = headers['content-security-policy'] ?? '';
    expect(String(policy).split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
      ]),
    );
    expect(policy).not.toMatch(/unsafe|https?:|data:|\*/);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cross-origin-resource-policy': 'same-origin',
    });
  });

  it('refuses a host that is not its own, as DNS rebinding brings it', async () => {
    const { port } = new URL(page.origin);
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      '127.0.0.1:1',
      `[::1]:${port}`,
    ]) {
      for (const path of ['/', '/api/echo']) {
        const { status, text } = await askRaw(`${page.origin}${path}`, { headers: { host, cookie } });
        expect([host, status]).toEqual([host, 403]);
        expect(text).not.toContain('its own');
      }
    }
    expect((await askRaw(page.origin, { headers: { host: `localhost:${port}` } })).status).toBe(200);
  });

  it('refuses pages of another origin, and questions that name none', async () => {
    for (const origin of [
      'http://evil.example',
      'null',
      page.origin.replace('http', 'https'),
      'http://127.0.0.1:1',
    ]) {
      expect([origin, (await post('/api/echo', { origin })).status]).toEqual([origin, 403]);
    }
    const { port } = new URL(page.origin);
    expect((await post('/api/echo', { origin: `http://localhost:${port}` })).status).toBe(403);
    const unnamed = { method: 'POST', headers: { cookie, ...JSON_TYPE }, body: '{}' };
    expect((await askRaw(`${page.origin}/api/echo`, unnamed)).status).toBe(403);
    expect((await post('/api/echo', { 'sec-fetch-site': 'same-site' })).status).toBe(403);
  });

  it('answers nothing without the cookie', async () => {
    const other = `sealed_memory_${new URL(page.origin).port}=${randomBytes(32).toString('base64url')}`;
    for (const sent of ['', other, cookie.slice(0, -1), `x${cookie}`]) {
      expect([sent, (await post('/api/echo', { cookie: sent })).status]).toEqual([sent, 401]);
    }
    expect((await post('/api/echo', { cookie: `a=b; ${cookie}; c=d` })).status).toBe(200);
  });

  it('takes its token once, and a wrong one never', async () => {
    await using fresh = await serveQuestions(QUESTIONS, ASSETS);
    const exchange = (token: unknown) =>
      askRaw(`${fresh.origin}/session`, {
        method: 'POST',
        headers: { origin: fresh.origin, ...JSON_TYPE },
        body: JSON.stringify({ token }),
      });
    const { hash } = new URL(fresh.address);
    expect(hash.length).toBeGreaterThan(40);
    for (const wrong of ['', hash, hash.slice(2), null, 1, [hash.slice(1)]]) {
      expect((await exchange(wrong)).status).toBe(401);
    }
    const taken = await exchange(hash.slice(1));
    expect([taken.status, taken.headers['set-cookie']]).toEqual([
      204,
      [expect.stringMatching(/^sealed_memory_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)],
    ]);
    const again = await exchange(hash.slice(1));
    expect([again.status, again.headers['set-cookie']]).toEqual([401, undefined]);
  });

  it('has no other path and no other method', async () => {
    for (const path of [
      '/../package.json',
      '/%2e%2e/package.json',
      '//etc/passwd',
      '/page.js/..',
      '/?x',
      '/api/echo',
    ]) {
      const { status } = await askRaw(page.origin, { path, headers: { cookie } });
      expect([path, status]).toEqual([path, 404]);
    }
    for (const path of ['/api/', '/api/toString', '/api/__proto__', '/api/echo/', '/api/../session', '/']) {
      const { port } = new URL(page.origin);
      const headers = { origin: page.origin, cookie, ...JSON_TYPE };
      const { status } = await askRaw(`http://127.0.0.1:${port}`, {
        method: 'POST',
        path,
        headers,
        body: '{}',
      });
      expect([path, status]).toEqual([path, 404]);
    }
    for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD']) {
      expect((await askRaw(page.origin, { method, headers: { origin: page.origin } })).status).toBe(405);
    }
  });

  it('takes questions of 64 KiB, in JSON alone', async () => {
    expect((await post('/api/echo', {}, `{"a":"${'x'.repeat(65_000)}"}`)).status).toBe(200);
    expect((await post('/api/echo', {}, `{"a":"${'x'.repeat(65_536)}"}`)).status).toBe(413);
    for (const body of ['', 'x', '1', 'null', '[]', '{"a":']) {
      expect([body, (await post('/api/echo', {}, body)).status]).toEqual([body, 400]);
    }
    expect((await post('/api/echo', { 'content-type': 'text/plain' })).status).toBe(415);
  });

  it('tells a failure in a sentence, and nothing of a defect', async () => {
    const failures = await Promise.all(
      ['store', 'path', 'defect'].map((how) =>
        post('/api/fail', {}, JSON.stringify({ how, path: '/memories/a' })),
      ),
    );
    expect(failures.flatMap(linesIn)).toEqual([
      { error: { code: 'unavailable', message: 'The store did not answer.' } },
      { error: { code: 'not_found', message: expect.stringContaining('/memories/a') } },
      { error: { code: 'unexpected', message: expect.not.stringContaining('secret') } },
    ]);
  });

  it('ends with its signal, and what it is asked meanwhile is cancelled', async () => {
    const begun = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<object>();
    const wait: Questions[string] = (_, { signal }) => {
      signal.addEventListener('abort', () => cancelled.resolve({}));
      begun.resolve();
      return cancelled.promise;
    };
    const fresh = await serveQuestions({ wait }, ASSETS);
    const headers = { origin: fresh.origin, cookie: await signIn(fresh), ...JSON_TYPE };
    const asking = { method: 'POST', headers, body: '{}' };
    const answered = askRaw(`${fresh.origin}/api/wait`, asking).catch(() => undefined);
    await begun.promise;
    await fresh[Symbol.asyncDispose]();
    await Promise.all([cancelled.promise, answered]);
    await expect(fetch(fresh.origin)).rejects.toThrow();
  });

  it('says which port it cannot have, and which files are missing', async () => {
    const { signal } = new AbortController();
    const port = Number(new URL(page.origin).port);
    const taken = servePage({
      port,
      assets: ASSETS,
      questions: {},
      maxQuestionBytes: 1,
      signal,
      onListening: async () => {},
    });
    await expect(taken).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('--port'),
    });
    expect(() => readAssets(new URL('file:///nowhere/'))).toThrow('npm run build');
  });
});
