import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shredTenant } from '../../../../../src/admin/keys/shred.ts';
import { SHRED_MARKER } from '../../../../../src/format/keyring-bytes.ts';
import { createHistory } from '../../../../../src/history/history.ts';
import type { ObjectVersions } from '../../../../../src/store/port.ts';
import { openS3ObjectStore } from '../../../../../src/store/s3/s3-store.ts';
import { createOperator } from '../../../../stage/key-operator.ts';
import { at, bytes, openSite, TEST_ROOT_KEY, type TestClient } from '../../../../stage/test-tree.ts';
import { whereTextIs } from '../../../../stage/traces.ts';
import { type VersionedStore, versionedStore } from '../../../../stage/versioned-store.ts';
import {
  type AskedVersions,
  type ServerAnswer,
  type VersionsRequest,
  versionsServer,
} from '../../versions-server.ts';

const SECRET = 'the card is 4929 1838';
const PATH = '/memories/d/a';
const HTML = '<html><head><title>Sign in</title></head><body>no</body></html>';

interface Place {
  readonly kept: VersionedStore;
  readonly client: TestClient;
  readonly pause: (ms: number) => Promise<void>;
  readonly clock: () => number;
  /** Answers the places where the text is to be found, in all versions, with all keyrings. */
  readonly search: () => Promise<readonly string[]>;
}

/** A tenant whose bucket keeps versions of a text that is out of the file, and of its keyring. */
async function newPlace(): Promise<Place> {
  let kept: VersionedStore | undefined;
  const site = await openSite('unguarded', 1, (store) => {
    kept = versionedStore(store, 1_000);
    return { ...kept.store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  });
  if (kept === undefined) throw new Error('there is no store');
  const { all } = kept;
  const client = await site.client({ keepsHistory: true });
  await client.create(PATH, SECRET);
  const operator = await createOperator(site);
  for (let time = 0; time < 2; time++) await operator.rotate();
  await client.rename('/memories/d', '/memories/e');
  await client.rename('/memories/e', '/memories/d');
  await client.tree.overwrite(at(PATH), bytes('clean'));
  const search = () => whereTextIs(all(), { layout: client.layout, rootKey: TEST_ROOT_KEY }, SECRET);
  return { kept, client, pause: site.time.pause, clock: site.time.clock, search };
}

type Verb = (
  place: Place,
  versions: ObjectVersions,
) => Promise<{ readonly versionsRemoved: number | undefined }>;

const redact: Verb = async ({ client }, versions) => {
  const history = createHistory(client.tenant, client.tree, { versions });
  const entries = await history.list(PATH);
  const version = entries.find((entry) => entry.kind === 'written' && entry.size === SECRET.length);
  if (version === undefined) throw new Error('there is no version');
  return history.redact(version);
};
const shred: Verb = ({ client, pause, clock, kept }, versions) =>
  shredTenant({ store: kept.store, layout: client.layout, versions, clock, pause }, { ttlMs: 0 });

/** Counts what should not be there after the verb, and is. */
const remains: Readonly<Record<string, (place: Place) => Promise<number>>> = {
  redact: async ({ search }) => (await search()).length,
  shred: async ({ kept, client }) => {
    const keyrings = kept.all().filter(({ key }) => key === client.layout.keyring);
    return keyrings.filter(({ body }) => body.length !== SHRED_MARKER.length).length;
  },
};
const verbs: Readonly<Record<string, Verb>> = { redact, shred };

const refusal = (status: number, code: string): ServerAnswer => ({
  status,
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>no</Message></Error>`,
});
const ODD: readonly (readonly [name: string, ServerAnswer | 'cut'])[] = [
  ...[301, 400, 403, 404, 405, 409, 429, 503].map((status) => [`${status} alone`, { status }] as const),
  ...[400, 404, 500].map((status) => [`${status} with HTML`, { status, body: HTML }] as const),
  ['a locked object of MinIO', refusal(400, 'InvalidRequest')],
  ['a locked object of AWS', refusal(403, 'AccessDenied')],
  ['a method that is not allowed', refusal(405, 'MethodNotAllowed')],
  ['a bucket that is not there', refusal(404, 'NoSuchBucket')],
  ['a version that is not there', refusal(404, 'NoSuchVersion')],
  ['an operation under way', refusal(409, 'OperationAborted')],
  ['another region', refusal(301, 'PermanentRedirect')],
  ['200 with HTML', { status: 200, body: HTML }],
  ['200 with nothing', { status: 200 }],
  ['200 with an error', { ...refusal(400, 'InvalidRequest'), status: 200 }],
  [
    '200 with an error between line feeds',
    { status: 200, body: '\n<Error><Code>AccessDenied</Code></Error>\n' },
  ],
  ['202', { status: 202 }],
  ['204', { status: 204 }],
  ['an answer that breaks off', 'cut'],
];

/** The requests of each verb. Only the first listing may be answered by a store that knows no versions. */
const ASKED: readonly (readonly [verb: string, what: VersionsRequest])[] = [
  ['redact', 'list'],
  ['redact', 'get'],
  ['redact', 'remove'],
  ['shred', 'list'],
  ['shred', 'remove'],
];

const open = (
  { kept }: Place,
  odd: (asked: AskedVersions) => ServerAnswer | 'cut' | undefined,
): ObjectVersions =>
  openS3ObjectStore({
    bucket: 'b',
    endpoint: 'http://127.0.0.1:1',
    region: 'us-east-1',
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
    connections: versionsServer(kept.versions, odd),
  }).versions;

describe.each(ASKED)('%s, whose requests to %s versions are answered oddly', (verb, what) => {
  const run = verbs[verb] as Verb;
  const count = remains[verb] as (place: Place) => Promise<number>;
  // The pauses before further attempts are drawn.
  beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
  afterEach(() => void vi.restoreAllMocks());

  it.each(ODD.filter(([name]) => isOdd(what, name)))(
    'fails on %s, says what stays, and takes that up when it is run again',
    async (_, answer) => {
      const place = await newPlace();
      expect(await count(place)).toBeGreaterThan(1);
      const failed = run(
        place,
        open(place, (asked) => (asked.what === what ? answer : undefined)),
      );
      const error = await failed.then(
        () => expect.unreachable('it says that all is gone'),
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ name: 'MemoryError', details: { reason: 'versions_left' } });
      if (what === 'list')
        expect(error).toHaveProperty('message', expect.stringContaining('could be listed'));
      else expect(error).toHaveProperty('message', expect.stringMatching(/\d+ older versions? of/));
      expect(String(error)).toContain('run this again');
      if (what !== 'list') expect(await count(place)).toBeGreaterThan(0);

      await run(
        place,
        open(place, () => undefined),
      );
      expect(await count(place)).toBe(0);
    },
  );

  it('goes on behind one that is refused, and leaves no more than it must', async () => {
    if (what === 'list') return;
    const place = await newPlace();
    const before = await count(place);
    let odd: string | undefined;
    const versions = open(place, (asked) => {
      if (asked.what !== what) return undefined;
      odd ??= asked.versionId;
      return asked.versionId === odd ? refusal(400, 'InvalidRequest') : undefined;
    });
    // If a version cannot be read, the record stays whose text tells whether that version has it.
    const stays = what === 'get' ? 2 : 1;
    await expect(run(place, versions)).rejects.toMatchObject({ details: { versions: stays } });
    expect(before).toBeGreaterThan(stays);
    expect(await count(place)).toBe(stays);
    await run(
      place,
      open(place, () => undefined),
    );
    expect(await count(place)).toBe(0);
  });
});

describe.each(Object.entries(verbs))('%s on a server without requests for versions', (verb, run) => {
  it.each([
    ['501', { status: 501 }],
    ['501 with HTML', { status: 501, body: HTML }],
    ['NotImplemented', refusal(501, 'NotImplemented')],
    ['NotImplemented with another status', refusal(400, 'NotImplemented')],
  ])('is done, and says that versions were not looked for: %s', async (_, answer) => {
    const place = await newPlace();
    const versions = open(place, () => answer);
    expect(await run(place, versions)).toMatchObject({ versionsRemoved: undefined });
  });

  it.each([
    ['a later listing', (asked: AskedVersions) => asked.what === 'list' && asked.at > 0],
    ['another request', (asked: AskedVersions) => asked.what === 'remove'],
  ])('fails where %s says so', async (_, isOddOne) => {
    const place = await newPlace();
    const count = remains[verb] as (place: Place) => Promise<number>;
    const versions = open(place, (asked) => (isOddOne(asked) ? refusal(501, 'NotImplemented') : undefined));
    await expect(run(place, versions)).rejects.toMatchObject({ details: { reason: 'versions_left' } });
    await run(
      place,
      open(place, () => undefined),
    );
    expect(await count(place)).toBe(0);
  });
});

/** Right answers among them: a version that is gone is none that stays, and 204 confirms a removal. */
function isOdd(what: VersionsRequest, name: string): boolean {
  if (what === 'remove') return name !== 'an answer that breaks off';
  return true;
}
