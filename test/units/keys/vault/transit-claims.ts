import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { vaultRootKey } from '../../../../src/keys/index.ts';
import type { RootKey } from '../../../../src/keys/root-key.ts';
import { openRootKeys } from '../../../../src/keys/root-keys.ts';
import { CONTEXT, describeRootKey } from '../../../contracts/root-key.ts';
import { blocksOf } from '../../../docs/pages.ts';
import {
  openTransitSite,
  policyOf,
  type TransitServer,
  type TransitSite,
} from '../../../stage/transit-site.ts';

/** A root key that may do what the documents allow it to, and the URL of its key. */
export async function opened(at: TransitSite, of: Parameters<TransitSite['createKey']>[0] = {}) {
  const keyUrl = await at.createKey(of);
  const token = await at.createToken(policyOf(keyUrl));
  return { keyUrl, token, root: vaultRootKey({ keyUrl, token }) };
}

export async function failureOf(action: Promise<unknown>): Promise<MemoryError> {
  const error = await action.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof MemoryError) return error;
  throw new Error('it did not fail with a MemoryError', { cause: error });
}

async function codesOf(root: RootKey, wrapped: Uint8Array): Promise<readonly string[]> {
  const asked = [root.generate(CONTEXT), root.unwrap(wrapped, CONTEXT)];
  return (await Promise.all(asked.map(failureOf))).map(({ code }) => code);
}

/**
 * Describes what every server with Transit does, the double too. `server`: the one that is there; undefined: the
 * double.
 */
export function describeTransit(title: string, server?: TransitServer): void {
  describe(title, () => {
    let site: TransitSite;
    let folder: string;
    beforeAll(async () => {
      site = await openTransitSite(server);
      folder = mkdtempSync(join(tmpdir(), 'sealed-memory-vault-'));
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await site[Symbol.asyncDispose]();
    });
    beforeEach(() => {
      for (const name of ['TOKEN', 'TOKEN_FILE', 'ADDR', 'NAMESPACE']) vi.stubEnv(`VAULT_${name}`, undefined);
    });
    afterEach(() => vi.unstubAllEnvs());

    describeRootKey('A key in Transit', async () => ({
      root: (await opened(site)).root,
      another: (await opened(site)).root,
    }));

    describe('a key in Transit', () => {
      it.each(['aes128-gcm96', 'aes256-gcm96', 'chacha20-poly1305'])('of type %s wraps', async (type) => {
        const { root } = await opened(site, { type });
        const { key, wrapped } = await root.generate(CONTEXT);
        expect(await root.unwrap(wrapped, CONTEXT)).toEqual(key);
        expect(Buffer.from(wrapped).toString()).toMatch(/^vault:v1:/);
      });

      it.each([{ type: 'rsa-2048' }, { derived: true }, { type: 'ed25519' }])(
        'that is made with %o is told to be none for a root key',
        async (made) => {
          const error = await failureOf((await opened(site, made)).root.generate(CONTEXT));
          expect(error).toMatchObject({
            code: 'misconfigured',
            message: expect.stringMatching(/aes256-gcm96/),
          });
        },
      );

      it('that was rotated opens what the version before wrapped, until that is forbidden', async () => {
        const { root, keyUrl } = await opened(site);
        const before = await root.generate(CONTEXT);
        await site.rotate(keyUrl);
        const after = await root.generate(CONTEXT);
        expect(Buffer.from(after.wrapped).toString()).toMatch(/^vault:v2:/);
        expect(await root.unwrap(before.wrapped, CONTEXT)).toEqual(before.key);
        await site.setMinDecryptionVersion(keyUrl, 2);
        expect(await failureOf(root.unwrap(before.wrapped, CONTEXT))).toMatchObject({
          code: 'key_unavailable',
          message: expect.stringMatching(/min_decryption_version/),
        });
        expect(await root.unwrap(after.wrapped, CONTEXT)).toEqual(after.key);
      });

      it('that is gone is key_unavailable, and is not made anew by a policy that allows updates alone', async () => {
        const { root, keyUrl } = await opened(site);
        const { wrapped } = await root.generate(CONTEXT);
        await site.deleteKey(keyUrl);
        expect(await codesOf(root, wrapped)).toEqual(['access_denied', 'key_unavailable']);
      });

      it('in an engine that is not mounted is key_unavailable to who may ask for it', async () => {
        const { wrapped } = await (await opened(site)).root.generate(CONTEXT);
        const keyUrl = `${site.endpoint}/not-mounted-here/keys/name`;
        const token = await site.createToken(policyOf(keyUrl));
        expect(await failureOf(vaultRootKey({ keyUrl, token }).unwrap(wrapped, CONTEXT))).toMatchObject({
          code: 'key_unavailable',
        });
      });

      it('is refused to a token of another key, and to one that was revoked', async () => {
        const [{ keyUrl, token, root }, other] = [await opened(site), await opened(site)];
        const { wrapped } = await root.generate(CONTEXT);
        const stranger = vaultRootKey({ keyUrl, token: other.token });
        expect(await codesOf(stranger, wrapped)).toEqual(['access_denied', 'access_denied']);
        await site.revokeToken(token);
        expect(await codesOf(root, wrapped)).toEqual(['access_denied', 'access_denied']);
      });

      it('is used by a token with the policy of the documents, which allows nothing else', async () => {
        const { keyUrl, root } = await opened(site);
        const name = keyUrl.split('/').at(-1) ?? '';
        const [{ text } = expect.fail('no policy'), ...more] = blocksOf('docs/byok.md', 'hcl');
        expect(more).toEqual([]);
        const policy = text.replaceAll('transit/', `${site.mount}/`).replaceAll('sealed-memory"', `${name}"`);
        const byDocument = vaultRootKey({ keyUrl, token: await site.createToken(policy) });
        const { key, wrapped } = await byDocument.generate(CONTEXT);
        expect(await root.unwrap(wrapped, CONTEXT)).toEqual(key);
        const another = vaultRootKey({ keyUrl: `${keyUrl}x`, token: await site.createToken(policy) });
        expect(await codesOf(another, wrapped)).toEqual(['access_denied', 'access_denied']);
      });

      it('whose policy lacks one of the two paths does the other alone', async () => {
        const { keyUrl, root } = await opened(site);
        const { wrapped } = await root.generate(CONTEXT);
        const [encrypts = '', decrypts = ''] = policyOf(keyUrl).split('\n');
        const of = async (policy: string) => vaultRootKey({ keyUrl, token: await site.createToken(policy) });
        expect(await failureOf((await of(encrypts)).unwrap(wrapped, CONTEXT))).toMatchObject({
          code: 'access_denied',
        });
        expect((await (await of(encrypts)).generate(CONTEXT)).key).toHaveLength(32);
        expect(await failureOf((await of(decrypts)).generate(CONTEXT))).toMatchObject({
          code: 'access_denied',
        });
      });
    });

    describe('the namespace of a key', () => {
      it('stands in the URL, or in an option or VAULT_NAMESPACE, and the id is the same', async ({
        skip,
      }) => {
        const namespace = (await site.createNamespace()) ?? skip('this server has no namespaces');
        await site.api('POST', `${namespace}/transit/keys/root`);
        const token = await site.createToken(policyOf(`${site.endpoint}/${namespace}/transit/keys/root`));
        const inUrl = vaultRootKey({ keyUrl: `${site.endpoint}/${namespace}/transit/keys/root`, token });
        const keyUrl = `${site.endpoint}/transit/keys/root`;
        const inHeader = vaultRootKey({ keyUrl, token, namespace: `${namespace}/` });
        expect(inHeader.id).toBe(`vault:${site.endpoint}/${namespace}/transit/keys/root`);
        vi.stubEnv('VAULT_NAMESPACE', namespace);
        vi.stubEnv('VAULT_TOKEN', token);
        const [inEnvironment] = openRootKeys([`vault:${keyUrl}`]).keys;
        expect([inUrl.id, inEnvironment?.id]).toEqual([inHeader.id, inHeader.id]);
        vi.stubEnv('VAULT_NAMESPACE', undefined);
        const { key, wrapped } = await inUrl.generate(CONTEXT);
        for (const named of [inHeader, inEnvironment])
          expect(await named?.unwrap(wrapped, CONTEXT)).toEqual(key);
      });

      it('that there is not has no key', async () => {
        const { keyUrl, token } = await opened(site);
        const root = vaultRootKey({ keyUrl, token, namespace: 'not-there' });
        expect((await failureOf(root.generate(CONTEXT))).code).toBe('key_unavailable');
      });
    });

    describe('the token', () => {
      it('in a file is read again when it is refused, and the request is sent by the new one', async () => {
        const { keyUrl, token } = await opened(site);
        const tokenFile = join(folder, 'renewed');
        const write = (text: string): void => writeFileSync(tokenFile, `${text}\n`, { mode: 0o600 });
        write(token);
        const root = vaultRootKey({ keyUrl, tokenFile });
        const { key, wrapped } = await root.generate(CONTEXT);
        await site.revokeToken(token);
        write(await site.createToken(policyOf(keyUrl)));
        expect(await root.unwrap(wrapped, CONTEXT)).toEqual(key);
      });
    });
  });
}
