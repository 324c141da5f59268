import type { ObjectKey } from '../../src/format/object-keys.ts';
import { isMissing, type KeptVersion, type ObjectStore, type ObjectVersions } from '../../src/store/port.ts';

interface Kept {
  readonly versionId: string;
  /** The bytes; undefined for the mark of a delete. */
  readonly body: Uint8Array | undefined;
}

/** A store that keeps every version of its objects, as a bucket with versioning does. */
export interface VersionedStore {
  readonly store: ObjectStore;
  readonly versions: ObjectVersions;
  /** The bytes of all versions that are kept now, the current ones among them. */
  all(): readonly { readonly key: ObjectKey; readonly body: Uint8Array }[];
  /** Makes a copy with the same versions, above a copy of the store. */
  copy(below: ObjectStore): VersionedStore;
}

let count = 0;

/** @param begin the versions that are kept from the beginning. */
export function versionedStore(
  below: ObjectStore,
  pageSize = 3,
  begin: ReadonlyMap<ObjectKey, readonly Kept[]> = new Map(),
): VersionedStore {
  const kept = new Map(begin);
  const keep = (key: ObjectKey, body: Uint8Array | undefined): void => {
    const version = { versionId: `v${++count}`, body: body?.slice() };
    kept.set(key, [version, ...(kept.get(key) ?? [])]);
  };
  const list = (prefix: string): readonly KeptVersion[] =>
    [...kept.keys()]
      .filter((key) => key.startsWith(prefix))
      .sort()
      .flatMap((key) =>
        (kept.get(key) ?? []).map(({ versionId, body }, index) => ({
          key,
          versionId,
          isCurrent: index === 0,
          size: body?.length,
        })),
      );
  async function* pages(entries: readonly KeptVersion[]): AsyncGenerator<readonly KeptVersion[]> {
    for (let at = 0; at < entries.length; at += pageSize) yield entries.slice(at, at + pageSize);
  }
  return {
    store: {
      ...below,
      get: below.get,
      head: below.head,
      list: below.list,
      async put(key, body, options) {
        const answer = await below.put(key, body, options);
        if ('etag' in answer) keep(key, body);
        return answer;
      },
      async delete(targets, options) {
        const failures = await below.delete(targets, options);
        for (const { key } of targets) {
          const failure = failures.find((each) => each.key === key);
          if (failure === undefined || isMissing(failure)) keep(key, undefined);
        }
        return failures;
      },
      [Symbol.asyncDispose]: async () => {},
    },
    versions: {
      list: (key) => pages(list(key).filter((version) => version.key === key)),
      below: (prefix) => pages(list(prefix)),
      get: async (key, versionId) =>
        (kept.get(key) ?? []).find((version) => version.versionId === versionId)?.body,
      async remove(key, versionId) {
        kept.set(
          key,
          (kept.get(key) ?? []).filter((version) => version.versionId !== versionId),
        );
      },
    },
    copy: (copied) => versionedStore(copied, pageSize, kept),
    all: () =>
      [...kept].flatMap(([key, versions]) =>
        versions.flatMap(({ body }) => (body === undefined ? [] : [{ key, body }])),
      ),
  };
}
