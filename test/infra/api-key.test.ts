import { describe, expect, it } from 'vitest';
import { apiKeyOf } from '../../infra/worker/api-key.ts';
import { createClientSource } from '../../infra/worker/client-source.ts';

describe('the API key in a secret', () => {
  it.each([
    ['sk-ant-1', 'sk-ant-1'],
    [' sk-ant-1\n', 'sk-ant-1'],
    ['{"ANTHROPIC_API_KEY":"sk-ant-1"}', 'sk-ant-1'],
    ['{ "other": 1, "ANTHROPIC_API_KEY": " sk-ant-1 " }', 'sk-ant-1'],
    // A random text, as a fresh deployment has it.
    ['{"x', '{"x'],
    ['12', '12'],
  ])('is its whole text, or a member of the JSON: %s', (secret, key) => {
    expect(apiKeyOf(secret)).toBe(key);
  });

  it.each(['', '  ', '{"ANTHROPIC_API_KEY":""}'])('is not empty: %j', (secret) => {
    expect(() => apiKeyOf(secret)).toThrow('is empty');
  });

  it.each(['{}', '{"ANTHROPIC_API_KEY":1}', '["canary"]'])(
    'is missed in %s, without a word of it',
    (secret) => {
      expect(() => apiKeyOf(secret)).toThrow('The secret of the API key is JSON without ANTHROPIC_API_KEY.');
    },
  );
});

describe('createClientSource', () => {
  const sourceOf = (keys: readonly (string | Error)[]) => {
    let reads = 0;
    const source = createClientSource({
      async readKey() {
        const key = keys[Math.min(reads++, keys.length - 1)];
        if (key instanceof Error) throw key;
        return key;
      },
      open: (key) => ({ key }),
    });
    return { source, reads: () => reads };
  };

  it('reads the key once for all calls', async () => {
    const { source, reads } = sourceOf(['a']);
    const [first, second] = await Promise.all([source(), source()]);
    expect(await source()).toBe(first);
    expect(second).toBe(first);
    expect(reads()).toBe(1);
  });

  it('reads it again for a client that was refused, and keeps the client when the key is the same', async () => {
    const { source, reads } = sourceOf(['a', 'a', 'b']);
    const first = await source();
    expect(await source(first)).toBe(first);
    const second = await source(first);
    expect(second).toEqual({ key: 'b' });
    expect(await source()).toBe(second);
    // Another turn was refused with the first one meanwhile.
    expect(await source(first)).toBe(second);
    expect(reads()).toBe(3);
  });

  it('does not keep a failure', async () => {
    const { source } = sourceOf([new Error('no'), 'a']);
    await expect(source()).rejects.toThrow('no');
    expect(await source()).toEqual({ key: 'a' });
  });
});
