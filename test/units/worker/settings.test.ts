import { describe, expect, it } from 'vitest';
import { readExpiryConfig, readWorkerConfig } from '../../../src/worker/settings.ts';

describe('readWorkerConfig', () => {
  const worker = {
    SEALED_MEMORY_WORKER_QUEUE_URL: 'https://q',
    SEALED_MEMORY_WORKER_MODEL: 'claude-sonnet-5-5',
  };

  it.each([
    ['172800', 172_800],
    ['1209600', 1_209_600],
    [undefined, undefined],
  ])('reads how long the queue keeps a message: %s', (text, seconds) => {
    const config = readWorkerConfig({ ...worker, SEALED_MEMORY_WORKER_QUEUE_RETENTION_SECONDS: text });
    expect(config.queueRetentionSeconds).toBe(seconds);
  });

  it.each(['172799', '1209601', '4 days', '-1'])('takes no queue that keeps a message for %s', (text) => {
    const env = { ...worker, SEALED_MEMORY_WORKER_QUEUE_RETENTION_SECONDS: text };
    expect(() => readWorkerConfig(env)).toThrowError(/SEALED_MEMORY_WORKER_QUEUE_RETENTION_SECONDS/);
  });

  it('leaves the effort to the model unless one is named', () => {
    expect(readWorkerConfig(worker)).toMatchObject({ effort: undefined, maxTokens: undefined });
    expect(readWorkerConfig({ ...worker, SEALED_MEMORY_WORKER_EFFORT: 'xhigh' }).effort).toBe('xhigh');
    expect(() => readWorkerConfig({ ...worker, SEALED_MEMORY_WORKER_EFFORT: 'most' })).toThrowError(
      /SEALED_MEMORY_WORKER_EFFORT/,
    );
  });

  it('has no bound on the requests of a turn unless a number within bounds is given', () => {
    const of = (text: string) =>
      readWorkerConfig({ ...worker, SEALED_MEMORY_WORKER_MAX_REQUESTS: text }).maxRequests;
    expect([of(''), of('1'), of('1000')]).toEqual([undefined, 1, 1_000]);
    for (const wrong of ['0', '1001', '1.5', 'many'])
      expect(() => of(wrong)).toThrowError(/SEALED_MEMORY_WORKER_MAX_REQUESTS/);
  });
});

describe('the system prompt', () => {
  it('is the text of its variable, lines and all; an empty one is none', () => {
    const of = (text: string) =>
      readWorkerConfig({
        SEALED_MEMORY_WORKER_QUEUE_URL: 'https://q',
        SEALED_MEMORY_WORKER_MODEL: 'claude-sonnet-5-5',
        SEALED_MEMORY_WORKER_SYSTEM_PROMPT: text,
      }).systemPrompt;
    expect(of('You bake.\nBe short.')).toBe('You bake.\nBe short.');
    expect(of('')).toBeUndefined();
  });
});

describe('readExpiryConfig', () => {
  const name = 'SEALED_MEMORY_WORKER_EXPIRY_QUEUE_URL';

  it.each([undefined, ''])('takes no environment without the queue of expiry: %s', (url) => {
    expect(() => readExpiryConfig({ [name]: url })).toThrowError(
      expect.objectContaining({
        code: 'misconfigured',
        message: `${name} is not set: the queue over which a run hands out its tenants.`,
      }),
    );
  });

  it('spares no file and writes no checkpoint unless it is told to', () => {
    const expiryQueueUrl = 'https://q';
    const told = {
      SEALED_MEMORY_WORKER_EXPIRE_DRY_RUN: '1',
      SEALED_MEMORY_WORKER_CHECKPOINTS: '1',
    };
    expect(readExpiryConfig({ [name]: expiryQueueUrl })).toEqual({
      tenantRoleArn: undefined,
      expireDryRun: false,
      checkpoints: false,
      expiryQueueUrl,
    });
    expect(readExpiryConfig({ [name]: expiryQueueUrl, ...told })).toMatchObject({
      expireDryRun: true,
      checkpoints: true,
    });
  });
});
