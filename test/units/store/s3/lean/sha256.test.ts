import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSha256 } from '../../../../../src/store/s3/lean/sha256.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('what signatures are made with', () => {
  it('hashes, and authenticates by each secret as if there were no other', async () => {
    const Sha256 = createSha256();
    const digestOf = async (message: string, secret?: string | Uint8Array): Promise<string> => {
      const hash = new Sha256(secret);
      hash.update(bytes(message));
      return Buffer.from(await hash.digest()).toString('hex');
    };
    const [one, other] = [bytes('key one'), bytes('key two')];
    for (const secret of ['text one', one, 'text two', other, 'text one', one, 'text two', other]) {
      expect(await digestOf('m', secret)).toBe(createHmac('sha256', secret).update('m').digest('hex'));
      expect(await digestOf('m')).toBe(createHash('sha256').update('m').digest('hex'));
    }
  });

  it('refuses a second piece of a message rather than to leave one out', () => {
    const hash = new (createSha256())();
    hash.update(bytes('a'));
    expect(() => hash.update(bytes('b'))).toThrow('One message');
  });
});
