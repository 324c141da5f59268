import { Readable } from 'node:stream';
import { HttpResponse } from '@smithy/core/protocols';
import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../../src/format/object-keys.ts';
import type { KeptVersion, ObjectVersions } from '../../../../../src/store/port.ts';
import type { S3Connections } from '../../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../../src/store/s3/s3-store.ts';

const KEY = 'data/file' as ObjectKey;

type Query = Readonly<Record<string, string>>;

/** The versions of a bucket whose server gives these answers, one after the other. */
function answered(...answers: readonly (readonly [status: number, body: string])[]): {
  readonly versions: ObjectVersions;
  readonly asked: Query[];
} {
  const asked: Query[] = [];
  const handle = async ({ query }: { readonly query: Query }): Promise<object> => {
    const [statusCode, text] = answers[asked.push(query) - 1] ?? [500, ''];
    return {
      response: new HttpResponse({ statusCode, headers: {}, body: Readable.from([Buffer.from(text)]) }),
    };
  };
  const { versions } = openS3ObjectStore({
    bucket: 'b',
    endpoint: 'http://127.0.0.1:1',
    region: 'us-east-1',
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    connections: { metadata: {}, handle, destroy: () => {} } as unknown as S3Connections,
  });
  return { versions, asked };
}

const listed = (...pages: readonly string[]): ReturnType<typeof answered> =>
  answered(
    ...pages.map((page) => [200, `<ListVersionsResult><Name>b</Name>${page}</ListVersionsResult>`] as const),
  );

const version = (id: string, key: string = KEY): string =>
  `<Version><Key>${key}</Key><VersionId>${id}</VersionId><IsLatest>false</IsLatest><Size>1</Size></Version>`;
const further = (markers: string): string => `<IsTruncated>true</IsTruncated>${markers}`;
const markers = (key: string, id: string): string =>
  `<NextKeyMarker>${key}</NextKeyMarker><NextVersionIdMarker>${id}</NextVersionIdMarker>`;

async function namesOf(pages: AsyncIterable<readonly KeptVersion[]>): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of pages) names.push(...page.map(({ versionId }) => versionId));
  return names;
}

describe('a listing of versions', () => {
  it('goes on from the markers that the server gave, which name the key or the version too', async () => {
    const { versions, asked } = listed(
      `${version('1')}${further('<NextKeyMarker>k</NextKeyMarker>')}`,
      `${version('2')}${further(markers('k', '2'))}`,
      `${version('3')}${further(markers('l', '2'))}`,
      version('4'),
    );
    expect(await namesOf(versions.below('data/'))).toEqual(['1', '2', '3', '4']);
    expect(asked.map((query) => [query['key-marker'], query['version-id-marker']])).toEqual([
      [undefined, undefined],
      ['k', undefined],
      ['k', '2'],
      ['l', '2'],
    ]);
  });

  it.each([
    ['leads nowhere', [further('')]],
    ['leads to itself', [further(markers('k', '1')), further(markers('k', '1'))]],
    ['has an entry without a key', ['<Version><VersionId>1</VersionId><IsLatest>true</IsLatest></Version>']],
    [
      'has an entry that may be the current version',
      [`<Version><Key>${KEY}</Key><VersionId>1</VersionId></Version>`],
    ],
  ])('is refused where it %s', async (_, pages) => {
    await expect(namesOf(listed(...pages).versions.below('data/'))).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('does not list the versions'),
    });
  });

  it('names a version null that was written before there were versions', async () => {
    const entry = `<Version><Key>${KEY}</Key><IsLatest>true</IsLatest><Size>3</Size></Version>`;
    const pages: unknown[] = [];
    for await (const page of listed(entry).versions.below('data/')) pages.push(page);
    expect(pages).toEqual([[{ key: KEY, versionId: 'null', isCurrent: true, size: 3 }]]);
  });

  it('of one key ends at the first other one', async () => {
    const { versions, asked } = listed(
      `${version('1')}${version('2', `${KEY}2`)}${further(markers('k', '2'))}`,
    );
    expect(await namesOf(versions.list(KEY))).toEqual(['1']);
    expect(asked).toHaveLength(1);
  });
});

describe.each([
  ['get', (versions: ObjectVersions) => versions.get(KEY, '1')],
  ['remove', (versions: ObjectVersions) => versions.remove(KEY, '1')],
])('the request to %s a version', (_, send) => {
  const refused = (status: number, code: string): ObjectVersions =>
    answered([status, `<Error><Code>${code}</Code><Message>no</Message></Error>`]).versions;

  it.each(['NoSuchKey', 'NoSuchVersion'])('finds nothing where there is none: %s', async (code) => {
    expect(await send(refused(404, code))).toBeUndefined();
  });

  it.each([
    ['access_denied', 403, 'AccessDenied'],
    ['misconfigured', 404, 'NoSuchBucket'],
  ])('is refused with %s where the server says %i %s', async (code, ...answer) => {
    await expect(send(refused(...answer))).rejects.toMatchObject({ code });
  });
});

it('the removal of a version that is locked is refused in words that say so', async () => {
  const { versions } = answered([400, '<Error><Code>InvalidRequest</Code><Message>no</Message></Error>']);
  await expect(versions.remove(KEY, '1')).rejects.toMatchObject({
    code: 'access_denied',
    message: expect.stringContaining('lock'),
  });
});
