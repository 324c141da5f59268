import { inspect } from 'node:util';
import { AssumeRoleCommand, type STSClient } from '@aws-sdk/client-sts';
import { describe, expect, it, vi } from 'vitest';
import { parseTenantId } from '../../../src/format/object-keys.ts';
import { createTenantCredentials } from '../../../src/worker/tenant-credentials.ts';

const ROLE = 'arn:aws:iam::111122223333:role/tenant';
const HOUR = 3_600_000;
const [ACME, OTHER] = [parseTenantId('acme'), parseTenantId('other')];

/** A token service that counts, and answers with credentials named after the tag and the number of the request. */
function tokenService(clock: () => number) {
  const requests: AssumeRoleCommand['input'][] = [];
  const sts = {
    async send(command: unknown) {
      if (!(command instanceof AssumeRoleCommand)) throw new Error('only AssumeRole is known');
      requests.push(command.input);
      const name = `${command.input.Tags?.[0]?.Value}-${requests.length}`;
      return {
        Credentials: {
          AccessKeyId: name,
          SecretAccessKey: name,
          SessionToken: name,
          Expiration: new Date(clock() + HOUR),
        },
      };
    },
  } as unknown as Pick<STSClient, 'send'>;
  return { sts, requests };
}

describe('tenant credentials', () => {
  it('come from the tenant role, with the tenant as the only session tag', async () => {
    const { sts, requests } = tokenService(Date.now);
    const credentials = await createTenantCredentials({ sts, roleArn: ROLE })(ACME)();
    expect(credentials).toMatchObject({ accessKeyId: 'acme-1', sessionToken: 'acme-1' });
    expect(requests).toEqual([
      {
        RoleArn: ROLE,
        RoleSessionName: 'sealed-memory-acme',
        DurationSeconds: 3_600,
        Tags: [{ Key: 'tenant', Value: 'acme' }],
      },
    ]);
  });

  it('are cached per tenant until five minutes before they end', async () => {
    let now = Date.now();
    const clock = (): number => now;
    const { sts, requests } = tokenService(clock);
    const of = createTenantCredentials({ sts, roleArn: ROLE, clock });
    expect(of(ACME)).toBe(of(ACME));
    const ids = async () => [(await of(ACME)()).accessKeyId, (await of(OTHER)()).accessKeyId];
    expect(await ids()).toEqual(['acme-1', 'other-2']);
    now += HOUR - 300_001;
    expect(await ids()).toEqual(['acme-1', 'other-2']);
    now += 1;
    expect(await ids()).toEqual(['acme-3', 'other-4']);
    expect(requests).toHaveLength(4);
  });

  it('are asked for once by callers that wait together, and again after a failure', async () => {
    const { sts, requests } = tokenService(Date.now);
    let failures = 1;
    const send = (async (command: AssumeRoleCommand) => {
      if (failures-- > 0) throw new Error('no route');
      return sts.send(command);
    }) as unknown as STSClient['send'];
    const provider = createTenantCredentials({ sts: { send }, roleArn: ROLE })(ACME);
    const lost = await Promise.allSettled([provider(), provider()]);
    expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await Promise.all([provider(), provider(), provider()]);
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['AccessDenied', 'access_denied'],
    ['AccessDeniedException', 'access_denied'],
    ['ThrottlingException', 'unavailable'],
  ])('turn the answer %s into %s, and tell nothing that it says', async (name, code) => {
    const $metadata = { httpStatusCode: 403, requestId: 'request-1', attempts: 1 };
    const said = { Message: `not for ${ROLE}`, $metadata, $response: { body: ROLE } };
    const send = async () => {
      throw Object.assign(new Error(`User: arn:aws:sts::111122223333 may not ${ROLE}`), { name, ...said });
    };
    const provider = createTenantCredentials({ sts: { send } as never, roleArn: ROLE })(ACME);
    const error = await provider().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'MemoryError', code, cause: { name, status: 403 } });
    const printed = inspect(error, { depth: null, showHidden: true });
    for (const secret of ['arn:', '111122223333', 'acme']) expect(printed).not.toContain(secret);
  });

  it('are waited for no longer than ten seconds', async () => {
    const ended = AbortSignal.abort();
    const limit = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(ended);
    const send = async (_command: unknown, { abortSignal }: { readonly abortSignal: AbortSignal }) => {
      abortSignal.throwIfAborted();
      throw new Error('it waits for ever');
    };
    const provider = createTenantCredentials({ sts: { send } as never, roleArn: ROLE })(ACME);
    await expect(provider()).rejects.toMatchObject({ code: 'unavailable', cause: { name: 'AbortError' } });
    expect(limit.mock.calls).toEqual([[10_000]]);
    limit.mockRestore();
  });

  it('have a session whose name is the tenant, cut to 64 characters', async () => {
    const { sts, requests } = tokenService(Date.now);
    await createTenantCredentials({ sts, roleArn: ROLE })(parseTenantId('t'.repeat(60)))();
    expect(requests[0]?.RoleSessionName).toBe(`sealed-memory-${'t'.repeat(50)}`);
    expect(requests[0]?.Tags).toEqual([{ Key: 'tenant', Value: 't'.repeat(60) }]);
  });

  it('are for tenants alone: another name is refused before anybody is asked', () => {
    const { sts, requests } = tokenService(Date.now);
    const of = createTenantCredentials({ sts, roleArn: ROLE });
    for (const name of ['', 'a/b', 'Acme', '*']) {
      expect(() => of(name)).toThrow(expect.objectContaining({ code: 'misconfigured' }));
    }
    expect(requests).toEqual([]);
  });

  it.each(['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'])(
    'refuse an answer that lacks %s',
    async (part) => {
      const whole = { AccessKeyId: 'a', SecretAccessKey: 'b', SessionToken: 'c', Expiration: new Date(2e12) };
      const send = async () => ({ Credentials: { ...whole, [part]: undefined } });
      const provider = createTenantCredentials({ sts: { send } as never, roleArn: ROLE })(ACME);
      await expect(provider()).rejects.toMatchObject({ code: 'unavailable' });
    },
  );
});
