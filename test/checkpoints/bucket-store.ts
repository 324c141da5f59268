import { MemoryError } from '../../src/errors.ts';
import {
  type GetOptions,
  KEYS_PER_REQUEST,
  type ListedObject,
  lateness,
  type ObjectStore,
  type StoredObject,
} from '../../src/store/port.ts';
import { throwIfAborted } from '../../src/time.ts';
import { createServer, type Server } from '../simulation/server.ts';

/** A bucket within the process that answers as S3 does: the bytes are the version, and times are whole seconds. */
export interface BucketStore extends ObjectStore, Pick<Server, 'date'> {}

export function openBucketStore(clock: () => number): BucketStore {
  const server = createServer(clock);
  return {
    date: server.date,
    get: async (key, options) => {
      throwIfAborted(options?.signal);
      return answerOf(server.get(key), options);
    },
    head: async (key, options) => {
      throwIfAborted(options?.signal);
      return server.head(key);
    },
    put: async (key, body, { mode, sendBy, signal }) => {
      throwIfAborted(signal);
      refuseLate(sendBy);
      return server.put(key, body, mode);
    },
    delete: async (targets, { sendBy, signal } = {}) => {
      throwIfAborted(signal);
      refuseLate(sendBy);
      return targets.flatMap((target) => server.remove(target) ?? []);
    },
    async *list({ prefix, startAfter = '', maxKeys = KEYS_PER_REQUEST, signal }) {
      for (let after = bytesOf(startAfter), isMore = true; isMore; ) {
        throwIfAborted(signal);
        const named = server
          .keys()
          .flatMap((key) => (key.startsWith(prefix) ? [[bytesOf(key), key] as const] : []));
        const left = named.filter(([bytes]) => bytes > after).sort(([a], [b]) => (a < b ? -1 : 1));
        const page = left.slice(0, maxKeys);
        const objects = page.flatMap(([, key]): readonly ListedObject[] => {
          const meta = server.head(key);
          return meta === undefined ? [] : [{ key, ...meta }];
        });
        yield { objects, servedAt: server.date() };
        after = page.at(-1)?.[0] ?? after;
        isMore = left.length > page.length;
      }
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function answerOf(
  found: StoredObject | undefined,
  { ifNoneMatch, maxBytes = Number.POSITIVE_INFINITY }: GetOptions = {},
): StoredObject | 'not_modified' | undefined {
  if (found === undefined) return undefined;
  if (found.etag === ifNoneMatch) return 'not_modified';
  if (found.size <= maxBytes) return found;
  throw new MemoryError('limit_exceeded', 'The stored object is larger than the caller accepts.', {
    details: { limit: 'object_bytes', value: found.size, max: maxBytes },
  });
}

function refuseLate(sendBy: Parameters<typeof lateness>[0]): void {
  const late = lateness(sendBy);
  if (late !== undefined) throw late;
}

/** A text whose order is that of the key's bytes. */
function bytesOf(key: string): string {
  return Buffer.from(key).toString('latin1');
}
