import { describe, expect, it } from 'vitest';
import { createCredentialSource } from '../../../../src/store/s3/callers-credentials.ts';

const identity = (name: string, livesMs?: number) => ({
  accessKeyId: name,
  secretAccessKey: name,
  ...(livesMs !== undefined && { expiration: new Date(Date.now() + livesMs) }),
});
const HOUR = 3_600_000;

/** A provider that counts its calls. */
function counting(name: string, livesMs?: number) {
  const provider = async () => {
    provider.calls++;
    return identity(name, livesMs);
  };
  provider.calls = 0;
  return provider;
}

describe('the credentials of a tenant', () => {
  it('are asked for once while they last', async () => {
    const provider = counting('a', HOUR);
    const source = createCredentialSource(provider);
    await Promise.all([source.provider(), source.provider()]);
    expect(await source.provider()).toMatchObject({ accessKeyId: 'a' });
    expect(provider.calls).toBe(1);
  });

  it('are asked for again five minutes before they end', async () => {
    const provider = counting('a', 299_000);
    const source = createCredentialSource(provider);
    await source.provider();
    await source.provider();
    expect(provider.calls).toBe(2);
  });

  it('end soon for the SDK, so that it asks before each request', async () => {
    const { expiration } = await createCredentialSource(identity('static')).provider();
    expect(Number(expiration) - Date.now()).toBeLessThan(300_000);
    expect(Number(expiration)).toBeGreaterThan(Date.now());
  });

  it('are the ones that were given last', async () => {
    const source = createCredentialSource(counting('first', HOUR));
    await source.provider();
    const second = counting('second', HOUR);
    expect(source.replace(second)).toBe(true);
    expect(source.replace(second)).toBe(false);
    expect(await source.provider()).toMatchObject({ accessKeyId: 'second' });
  });

  it('are asked for again after a failure', async () => {
    let fails = true;
    const source = createCredentialSource(async () => {
      if (fails) throw new Error('no credentials');
      return identity('a');
    });
    await expect(source.provider()).rejects.toThrow('no credentials');
    fails = false;
    expect(await source.provider()).toMatchObject({ accessKeyId: 'a' });
  });
});
