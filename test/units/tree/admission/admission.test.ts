import { afterEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { admitContent, admitName, refuseTooLarge } from '../../../../src/tree/admission/admission.ts';
import type { Policy, PolicyFile, PolicyVerdict } from '../../../../src/tree/admission/policy.ts';
import { at, bytes } from '../../../stage/test-tree.ts';

const PATH = at('/memories/a');
const CONTENT = bytes('content');
const FINDINGS = [{ rule: 'card', line: 1 }];

afterEach(() => {
  vi.useRealTimers();
});

function tenantOf(policy: Policy | undefined, maxFileBytes = 100) {
  return { policy, maxFileBytes };
}

/** A policy that answers with that, whatever its type. */
function answering(verdict: unknown): Policy {
  return () => verdict as PolicyVerdict;
}

function admit(policy: Policy | undefined, call: Parameters<typeof admitContent>[2] = {}) {
  return admitContent(tenantOf(policy), { path: PATH, content: CONTENT }, call);
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('the limit of a file', () => {
  it.each([0, 99, 100])('lets %i of 100 bytes pass', async (length) => {
    expect(() => refuseTooLarge({ maxFileBytes: 100 }, { length })).not.toThrow();
    const content = new Uint8Array(length);
    expect(await admitContent(tenantOf(undefined), { path: PATH, content }, {})).toBe(content);
  });

  it('refuses 101 bytes with the numbers, before the policy is asked', async () => {
    const policy = vi.fn(() => 'allow' as const);
    const content = new Uint8Array(101);
    const details = { limit: 'file_bytes', value: 101, max: 100 };
    await expect(admitContent(tenantOf(policy), { path: PATH, content }, {})).rejects.toMatchObject({
      code: 'limit_exceeded',
      details,
    });
    expect(policy).not.toHaveBeenCalled();
  });

  it.each([
    [100, 'content'],
    [101, 'limit_exceeded'],
  ])('judges what a policy writes instead, of %i bytes: %s', async (length, outcome) => {
    const redact = new Uint8Array(length);
    const onRedacted = vi.fn();
    const admitted = admit(answering({ redact, findings: FINDINGS }), { onRedacted });
    if (outcome === 'content') {
      expect(await admitted).toBe(redact);
      expect(onRedacted.mock.calls).toEqual([[FINDINGS, length]]);
    } else {
      await expect(admitted).rejects.toMatchObject({ code: outcome, details: { value: length } });
      expect(onRedacted).not.toHaveBeenCalled();
    }
  });
});

describe('the policy', () => {
  it('is asked about the path and the whole content, and lets it pass as it is', async () => {
    const asked: PolicyFile[] = [];
    const policy = async (file: PolicyFile) => {
      asked.push(file);
      return 'allow' as const;
    };
    const { signal } = new AbortController();
    const onRedacted = vi.fn();
    expect(await admit(policy, { signal, onRedacted })).toBe(CONTENT);
    expect(asked).toEqual([{ path: PATH, content: CONTENT, signal }]);
    expect(onRedacted).not.toHaveBeenCalled();
  });

  it('may redact where no one listens', async () => {
    const redact = bytes('***');
    expect(await admit(answering({ redact, findings: [] }))).toBe(redact);
  });

  it.each<[string, PolicyVerdict, object]>([
    ['no finding', { refuse: [] }, { rules: [], lines: [], inName: false }],
    [
      'findings of several lines, each rule and line once',
      {
        refuse: [
          { rule: 'card', line: 3 },
          { rule: 'email', line: 3 },
          { rule: 'card', line: 7 },
        ],
      },
      { rules: ['card', 'email'], lines: [3, 7], inName: false },
    ],
    [
      'one finding of several in the name',
      { refuse: [{ rule: 'card', line: 3 }, { rule: 'email' }] },
      { rules: ['card', 'email'], lines: [3], inName: true },
    ],
    [
      'content that is no text',
      { refuse: FINDINGS, reason: 'not_text' },
      { rules: ['card'], lines: [1], inName: false, reason: 'not_text' },
    ],
  ])('refuses for %s', async (_, verdict, details) => {
    const error = (await errorOf(admit(answering(verdict)))) as MemoryError;
    expect([error.code, error.details]).toEqual(['policy_refused', details]);
  });

  it('says why it refuses what is no text, and gives no reason otherwise', async () => {
    const refusal = (reason?: 'not_text') =>
      errorOf(admit(answering({ refuse: FINDINGS, ...(reason && { reason }) })));
    expect(await refusal('not_text')).toMatchObject({ message: expect.stringContaining('not UTF-8 text') });
    expect(await refusal()).toMatchObject({ message: 'The policy refused what would have been written.' });
  });

  it('names ten rules and ten lines at most', async () => {
    const refuse = Array.from({ length: 12 }, (_, i) => ({ rule: `rule-${i}`, line: i + 1 }));
    const error = (await errorOf(admit(answering({ refuse })))) as MemoryError;
    const [rules, lines] = [error.details['rules'], error.details['lines']];
    expect(rules).toEqual(refuse.slice(0, 10).map(({ rule }) => rule));
    expect(lines).toEqual(refuse.slice(0, 10).map(({ line }) => line));
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['another word', 'deny'],
    ['true', true],
    ['an empty object', {}],
    ['a function that has findings', Object.assign(() => {}, { refuse: FINDINGS })],
    ['findings that are no list', { refuse: 'card' }],
    ['a finding without a rule', { refuse: [{ line: 1 }] }],
    ['one finding of two without a rule', { refuse: [{ rule: 'card' }, { rule: 1 }] }],
    ['no finding at all in a list', { refuse: [undefined] }],
    ['null in a list', { refuse: [null] }],
    ['a refusal beside new content', { refuse: 1, redact: CONTENT, findings: FINDINGS }],
    ['text instead of bytes', { redact: 'text', findings: FINDINGS }],
    ['new content without findings', { redact: CONTENT }],
    ['new content with findings that are none', { redact: CONTENT, findings: [{}] }],
    ['findings without new content', { findings: FINDINGS }],
  ])('that answers %s refuses the write', async (_, verdict) => {
    const error = await errorOf(admit(answering(verdict)));
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('failed') });
    await expect(admitName(tenantOf(answering(verdict)), PATH, {})).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it('that gives no valid answer while its caller gives up ends as aborted', async () => {
    const controller = new AbortController();
    const policy = () => {
      queueMicrotask(() => controller.abort());
      return answering({ refuse: [null] })({} as never);
    };
    const call = { signal: controller.signal };
    expect(await errorOf(admit(policy, call))).toMatchObject({ code: 'aborted' });
  });

  it.each([
    ['an error that quotes the file', new Error('found: hunter2')],
    ['a code that tells of the memory', new MemoryError('not_found', 'hunter2')],
  ])('that throws %s refuses the write in words of its own', async (_, thrown) => {
    const policy = () => Promise.reject(thrown);
    const error = (await errorOf(admit(policy))) as MemoryError;
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('failed') });
    expect(error.message).not.toContain('hunter2');
    expect(error.cause).toBeUndefined();
  });

  it('says itself what has to be installed', async () => {
    const missing = new MemoryError('misconfigured', 'install it');
    expect(await errorOf(admit(() => Promise.reject(missing)))).toBe(missing);
  });

  it.each([undefined, 1_000])('that does not answer within %s ms, 60 s unless told, refuses', async (ms) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const never = () => new Promise<PolicyVerdict>(() => {});
    const ended = vi.fn();
    const write = { path: PATH, content: CONTENT };
    const admitted = errorOf(admitContent(tenantOf(never), write, {}, ms)).finally(ended);
    await vi.advanceTimersByTimeAsync((ms ?? 60_000) - 1);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalled();
    expect(await admitted).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('did not answer'),
    });
  });

  it('is not waited for once the caller has cancelled', async () => {
    const controller = new AbortController();
    const admitted = admit(() => new Promise<PolicyVerdict>(() => {}), { signal: controller.signal });
    controller.abort();
    await expect(admitted).rejects.toMatchObject({ code: 'aborted' });
  });

  it('answers as cancelled where the policy failed because of that', async () => {
    const controller = new AbortController();
    const policy = () => {
      controller.abort();
      throw new Error('stopped');
    };
    await expect(admit(policy, { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('the policy of names', () => {
  it('is asked about the path alone', async () => {
    const policy = vi.fn<Policy>(() => 'allow');
    const { signal } = new AbortController();
    await admitName(tenantOf(policy), PATH, { signal });
    expect(policy.mock.calls).toEqual([[{ path: PATH, content: undefined, signal }]]);
    await admitName(tenantOf(undefined), PATH, {});
  });

  it.each<PolicyVerdict>([
    { refuse: [{ rule: 'email' }] },
    { redact: bytes('***'), findings: [{ rule: 'email' }] },
  ])('refuses a name with findings, which nothing can redact', async (verdict) => {
    const error = await errorOf(admitName(tenantOf(answering(verdict)), PATH, {}));
    expect(error).toMatchObject({
      code: 'policy_refused',
      details: { rules: ['email'], lines: [], inName: true },
    });
  });
});
