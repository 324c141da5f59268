import { Readable } from 'node:stream';
import { HttpResponse } from '@smithy/core/protocols';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ObjectVersions } from '../../../src/store/port.ts';
import type { S3Connections } from '../../../src/store/s3/connection.ts';

/** The requests of S3 that are about versions. */
export type VersionsRequest = 'list' | 'get' | 'remove';

export interface ServerAnswer {
  readonly status: number;
  readonly body?: string | Uint8Array;
}

/** One request as a server sees it; `at` counts those of its kind. */
export interface AskedVersions {
  readonly what: VersionsRequest;
  readonly at: number;
  readonly versionId: string | undefined;
}

/**
 * Connections to a server of S3 that answers requests about versions from these, and differently where `odd` says so:
 * an answer that it is given instead, `cut` for one whose document breaks off, or nothing for the right one.
 */
export function versionsServer(
  kept: ObjectVersions,
  odd: (asked: AskedVersions) => ServerAnswer | 'cut' | undefined,
): S3Connections {
  const counts = { list: 0, get: 0, remove: 0 };
  const handle = async ({ method, path, query }: Request): Promise<{ readonly response: HttpResponse }> => {
    const versionId = query['versionId'];
    const what = method === 'DELETE' ? 'remove' : versionId === undefined ? 'list' : 'get';
    const given = odd({ what, at: counts[what]++, versionId });
    if (typeof given === 'object') return answered(given);
    const key = decodeURIComponent(path).replace(/^\/[^/]*\//, '') as ObjectKey;
    if (what === 'list') {
      const listing = await listingOf(kept, query['prefix'] ?? '');
      return answered({ status: 200, body: given === 'cut' ? listing.slice(0, -40) : listing });
    }
    if (what === 'get') {
      const body = await kept.get(key, versionId ?? '');
      if (body === undefined)
        return answered({ status: 404, body: '<Error><Code>NoSuchVersion</Code></Error>' });
      return answered({ status: 200, body: given === 'cut' ? body.slice(0, -1) : body });
    }
    await kept.remove(key, versionId ?? '');
    return answered({ status: 204 });
  };
  return { metadata: {}, handle, destroy: () => {} } as unknown as S3Connections;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

async function listingOf(kept: ObjectVersions, prefix: string): Promise<string> {
  const entries: string[] = [];
  for await (const page of kept.below(prefix)) {
    for (const { key, versionId, isCurrent, size } of page) {
      const name = `<Key>${key}</Key><VersionId>${versionId}</VersionId><IsLatest>${isCurrent}</IsLatest>`;
      entries.push(
        size === undefined
          ? `<DeleteMarker>${name}</DeleteMarker>`
          : `<Version>${name}<Size>${size}</Size></Version>`,
      );
    }
  }
  return `<ListVersionsResult><Name>b</Name><IsTruncated>false</IsTruncated>${entries.join('')}</ListVersionsResult>`;
}

function answered({ status, body = '' }: ServerAnswer): { readonly response: HttpResponse } {
  return {
    response: new HttpResponse({ statusCode: status, headers: {}, body: Readable.from([Buffer.from(body)]) }),
  };
}
