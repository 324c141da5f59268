import { afterAll, describe, expect, it } from 'vitest';
import { inTests } from '../../../../infra/local/programs/install-options.ts';
import { CONTEXT } from '../../../contracts/root-key.ts';
import { isNotRun } from '../../../runner/not-run.ts';
import { startOpenBao } from '../../../runner/openbao.ts';
import { openTransitSite, type TransitServer } from '../../../stage/transit-site.ts';
import { describeTransit, failureOf, opened } from './transit-claims.ts';

const { TEST_TRANSIT: address, VAULT_TOKEN: token = '' } = process.env;
const install = inTests(process.env, (line) => console.log(`Transit: ${line}`));
const own = address ? undefined : await startOpenBao(process.env, install);
const isMissing = isNotRun('Transit on OpenBao', own ?? {});
const server = serverOf();

function serverOf(): TransitServer | undefined {
  if (address) return { endpoint: address, token };
  return own === undefined || 'reason' in own ? undefined : own;
}

describe.skipIf(server === undefined)('On a server that is none of ours', () => {
  afterAll(async () => {
    if (own !== undefined && 'stop' in own) await own.stop();
  });

  describeTransit('Transit', server);

  it('what asks too often is told to try again later', async () => {
    await using site = await openTransitSite(server);
    const { root } = await opened(site);
    const quota = `sys/quotas/rate-limit/${site.mount}`;
    await site.api('POST', quota, { path: `${site.mount}/`, rate: 1, interval: '1m' });
    expect((await root.generate(CONTEXT)).key).toHaveLength(32);
    expect(await failureOf(root.generate(CONTEXT))).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/fewer requests/),
    });
    await site.api('DELETE', quota);
  });
});

describe.skipIf(own === undefined || isMissing)('An OpenBao of the tests’ own', () => {
  it('that is sealed is unavailable', async () => {
    const started = await startOpenBao(process.env, install);
    if ('reason' in started) throw new Error(started.reason);
    const site = await openTransitSite(started);
    const { root } = await opened(site);
    const { wrapped } = await root.generate(CONTEXT);
    await site.api('POST', 'sys/seal');
    expect(await failureOf(root.unwrap(wrapped, CONTEXT))).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/sealed/),
    });
    await started.stop();
  });
});
