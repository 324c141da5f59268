import { expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ETag } from '../../../src/store/port.ts';
import {
  createHistoryRoom,
  createVersionHistory,
  type VersionHistory,
  type VersionIdentity,
} from '../../../src/tree/version-history.ts';

const KEY = 'tenants/acme/data/notes' as ObjectKey;
const ETAG = '"etag"' as ETag;
const [A, B] = ['a', 'b'] as unknown as [VersionIdentity, VersionIdentity];

function read(history: VersionHistory, version: VersionIdentity, key = KEY): void {
  history.saw({ key, since: history.begin(), version, etag: ETAG });
}

const putBack = { code: 'integrity', details: { reason: 'put_back' } };

it('a version stays superseded from the first sighting of its successor, however often that is seen again', () => {
  const history = createVersionHistory();
  read(history, A);
  read(history, B);
  const since = history.begin();
  read(history, B);
  expect(() => history.saw({ key: KEY, since, version: A, etag: ETAG })).toThrow(
    expect.objectContaining(putBack),
  );
});

it('a request that began before its successor was judged may still meet a version', () => {
  const history = createVersionHistory();
  read(history, A);
  const first = history.begin();
  const second = history.begin();
  history.saw({ key: KEY, since: first, version: B, etag: ETAG });
  expect(() => history.saw({ key: KEY, since: second, version: A, etag: ETAG })).not.toThrow();
});

it('a key where nothing was seen is remembered as long as one that was read', () => {
  const history = createVersionHistory({ versions: 2, versionsOfKey: 2 });
  const other = 'tenants/acme/data/other' as ObjectKey;
  read(history, A);
  read(history, A, other);
  history.sawNothing({ key: KEY, since: history.begin() });
  read(history, B, 'tenants/acme/data/third' as ObjectKey);
  expect(() => read(history, A)).toThrow(expect.objectContaining(putBack));
});

it('writing one version again and again takes no more room than once', () => {
  const room = createHistoryRoom(3);
  const history = createVersionHistory({ versions: 3, versionsOfKey: 3 }, room);
  const other = 'tenants/acme/data/other' as ObjectKey;
  read(history, A, other);
  read(history, B, other);
  for (let times = 0; times < 9; times++)
    history.wrote({ key: KEY, since: history.begin(), version: A, etag: ETAG });
  expect(() => read(history, A, other)).toThrow(expect.objectContaining(putBack));
});

it('remembers 64 versions of a key, and 8,192 of a tenant, unless told otherwise', () => {
  const version = (n: number): VersionIdentity => `v${n}` as unknown as VersionIdentity;
  const history = createVersionHistory();
  for (let n = 0; n < 64; n++) read(history, version(n));
  expect(() => read(history, version(0))).toThrow(expect.objectContaining(putBack));
  read(history, version(64));
  expect(() => read(history, version(0))).not.toThrow();

  const many = createVersionHistory();
  const keyOf = (n: number): ObjectKey => `tenants/acme/data/${n}` as ObjectKey;
  read(many, A, keyOf(0));
  read(many, B, keyOf(0));
  for (let n = 1; n <= 8_190; n++) read(many, A, keyOf(n));
  expect(() => read(many, A, keyOf(0))).toThrow(expect.objectContaining(putBack));
  read(many, A, keyOf(8_191));
  expect(() => read(many, A, keyOf(0))).not.toThrow();
});

it('remembers 65,536 versions of all tenants together, unless told otherwise', () => {
  const keyOf = (n: number): ObjectKey => `tenants/acme/data/${n}` as ObjectKey;
  const fill = (history: ReturnType<typeof createVersionHistory>, versions: number): void => {
    for (let n = 1; n <= versions; n++) read(history, A, keyOf(n));
  };
  const first = createVersionHistory();
  read(first, A, keyOf(0));
  read(first, B, keyOf(0));
  fill(first, 8_190);
  for (let tenant = 2; tenant <= 8; tenant++) fill(createVersionHistory(), 8_192);
  expect(() => read(first, A, keyOf(0))).toThrow(expect.objectContaining(putBack));
  fill(createVersionHistory(), 1);
  expect(() => read(first, A, keyOf(0))).not.toThrow();
});
