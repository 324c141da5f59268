import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { HttpResponse } from '@smithy/core/protocols';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { watchOf } from '../../../../src/store/s3/attempts.ts';
import type { S3Connections, S3StoreOptions } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { S3_CLIENTS } from '../../../stage/s3-clients.ts';

const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
const LOOPBACK = 'http://127.0.0.1:9000';

/** The host to which a request went and the region for which it was signed, or the reason why none was sent. */
type Place = { readonly host: string; readonly region: string } | { readonly code: unknown };

let folder: string;
beforeEach(async () => {
  // The AWS SDK reads each file of a path once, so every test has paths of its own.
  folder = await mkdtemp(join(tmpdir(), 'sealed-memory-places-'));
  for (const name of Object.keys(process.env)) if (/^AWS_/.test(name)) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'));
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function placeOf(options: Partial<S3StoreOptions>): Promise<Place> {
  const sent: Place[] = [];
  const handler = {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle({ hostname, headers }: { hostname: string; headers: Record<string, string> }) {
      const authorization = headers['authorization'] ?? headers['Authorization'] ?? '';
      const [, region = ''] = /Credential=AKIDEXAMPLE\/\d{8}\/([^/]+)\/s3/.exec(authorization) ?? [];
      sent.push({ host: hostname, region });
      return { response: new HttpResponse({ statusCode: 404, headers: {}, body: Readable.from([]) }) };
    },
    destroy() {},
  };
  const connections = handler as unknown as S3Connections;
  const store = openS3ObjectStore({ bucket: 'bucket', credentials: CREDENTIALS, connections, ...options });
  const failure: unknown = await store.head('key' as ObjectKey).catch((error: unknown) => error);
  const [place] = sent;
  return place ?? { code: failure instanceof Error && 'code' in failure ? failure.code : failure };
}

/** The settings outside of the program, and the place to which its requests go then. */
interface Case {
  readonly title: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly options?: Partial<S3StoreOptions>;
  readonly place: Place;
}

const at = (region: string, host = `bucket.s3.${region}.amazonaws.com`): Place => ({ host, region });
const REFUSED: Place = { code: 'misconfigured' };
const PROFILE = { AWS_PROFILE: 'work' };

const CASES: readonly Case[] = [
  {
    title: 'the region of the environment',
    environment: { AWS_REGION: 'ap-south-1' },
    place: at('ap-south-1'),
  },
  {
    title: 'the region of the default profile',
    config: '[default]\nregion = eu-north-1\n',
    place: at('eu-north-1'),
  },
  {
    title: 'the region of the profile that the environment names',
    environment: PROFILE,
    config: '[default]\nregion = eu-north-1\n[profile work]\nregion = sa-east-1\n',
    place: at('sa-east-1'),
  },
  {
    title: 'the region of the environment before that of a profile',
    environment: { ...PROFILE, AWS_REGION: 'ap-south-1' },
    config: '[profile work]\nregion = sa-east-1\n',
    place: at('ap-south-1'),
  },
  {
    title: 'the region of the options before all others',
    environment: { ...PROFILE, AWS_REGION: 'ap-south-1' },
    config: '[profile work]\nregion = sa-east-1\n',
    options: { region: 'eu-west-3' },
    place: at('eu-west-3'),
  },
  { title: 'no region at all', place: REFUSED },
  {
    title: 'dual stack in a profile',
    config: '[default]\nregion = eu-north-1\nuse_dualstack_endpoint = true\n',
    place: at('eu-north-1', 'bucket.s3.dualstack.eu-north-1.amazonaws.com'),
  },
  {
    title: 'FIPS in a profile',
    config: '[default]\nregion = us-west-2\nuse_fips_endpoint = true\n',
    place: at('us-west-2', 'bucket.s3-fips.us-west-2.amazonaws.com'),
  },
  {
    title: 'an endpoint of AWS in the environment',
    environment: {
      AWS_REGION: 'eu-west-1',
      AWS_ENDPOINT_URL_S3: 'https://vpce-1.s3.eu-west-1.vpce.amazonaws.com',
    },
    place: at('eu-west-1', 'bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com'),
  },
  {
    title: 'an endpoint of AWS in a profile',
    config: '[default]\nregion = eu-west-1\nendpoint_url = https://vpce-1.s3.eu-west-1.vpce.amazonaws.com\n',
    place: at('eu-west-1', 'bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com'),
  },
  {
    title: "an endpoint of AWS among a profile's services",
    config:
      '[default]\nregion = eu-west-1\nservices = mine\n[services mine]\ns3 =\n  endpoint_url = https://vpce-1.s3.eu-west-1.vpce.amazonaws.com\n',
    place: at('eu-west-1', 'bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com'),
  },
  {
    title: 'an endpoint in a profile that is to be ignored',
    environment: { AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
    config: '[default]\nregion = eu-west-1\nendpoint_url = https://vpce-1.s3.eu-west-1.vpce.amazonaws.com\n',
    place: at('eu-west-1'),
  },
  {
    title: 'another endpoint in the environment',
    environment: { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: LOOPBACK },
    place: REFUSED,
  },
  {
    title: 'another endpoint in a profile',
    config: `[default]\nregion = eu-west-1\nendpoint_url = ${LOOPBACK}\n`,
    place: REFUSED,
  },
  {
    title: 'the endpoint of the options before that of a profile, with its region',
    config: '[default]\nregion = eu-north-1\nendpoint_url = http://127.0.0.1:1\n',
    options: { endpoint: LOOPBACK },
    place: at('eu-north-1', '127.0.0.1'),
  },
  {
    title: 'an endpoint without any region',
    options: { endpoint: LOOPBACK },
    place: at('us-east-1', '127.0.0.1'),
  },
];

describe.each(S3_CLIENTS)('the client %s', (client) => {
  it.each(CASES)('follows $title', async ({ environment = {}, config = '', options, place }) => {
    await writeFile(join(folder, 'config'), config);
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    expect(await placeOf({ client, ...options })).toEqual(place);
  });
});

/** One region of each partition of AWS, and where a bucket of it is. */
const PARTITIONS = [
  ['us-east-2', 'bucket.s3.us-east-2.amazonaws.com'],
  ['us-gov-east-1', 'bucket.s3.us-gov-east-1.amazonaws.com'],
  ['cn-north-1', 'bucket.s3.cn-north-1.amazonaws.com.cn'],
  ['eusc-de-east-1', 'bucket.s3.eusc-de-east-1.amazonaws.eu'],
  ['us-iso-west-1', 'bucket.s3.us-iso-west-1.c2s.ic.gov'],
  ['us-isob-east-1', 'bucket.s3.us-isob-east-1.sc2s.sgov.gov'],
  ['eu-isoe-west-1', 'bucket.s3.eu-isoe-west-1.cloud.adc-e.uk'],
  ['us-isof-east-1', 'bucket.s3.us-isof-east-1.csp.hci.ic.gov'],
] as const;

describe('the hosts of AWS', () => {
  it.each(PARTITIONS)('are known in the partition of %s', async (region, host) => {
    for (const client of S3_CLIENTS) expect(await placeOf({ client, region })).toEqual({ host, region });
  });

  it('are not taken for those of another domain', () => {
    const { acceptsHost } = watchOf({});
    const hosts = PARTITIONS.map(([, host]) => host);
    expect(hosts.filter((host) => !acceptsHost(host))).toEqual([]);
    const others = hosts.flatMap((host) => {
      const domain = host.replace(/^bucket\.s3\.[^.]+\./, '');
      return [`${host}.example`, `bucket.s3.not${domain}`, `not${domain}`, host.replaceAll('.', '-')];
    });
    expect(others.filter((host) => acceptsHost(host))).toEqual([]);
  });
});
