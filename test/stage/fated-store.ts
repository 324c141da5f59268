import { writeSync } from 'node:fs';
import type { Settings } from '../../src/open/options/settings.ts';
import { checkConditions } from '../../src/store/conditions.ts';
import { guardDeletes } from '../../src/store/guarded-delete.ts';
import { type BaseStore, shared } from '../../src/store/open-store.ts';
import type { ObjectStore, ObjectVersions } from '../../src/store/port.ts';
import { openS3ObjectStore } from '../../src/store/s3/s3-store.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type Around, interceptStore, type StoreCall } from './store-wrappers.ts';

/** The store of the environment, in a process that stops itself at one of its requests. */
export interface FatedStore {
  readonly base: BaseStore;
  /** `put data`, `get journal`, `get keyring`, …, as the server gets them, below every wrapper. */
  readonly requests: readonly string[];
}

export interface FatedStoreOptions {
  readonly settings: Settings;
  /** ACTION REQUEST SIDE of the command line: the signal, and before or after which request it is sent. */
  readonly fate: readonly string[];
  /** Stands around the requests, too, nearer to the server. */
  readonly around?: Around;
}

export function openFatedStore({ settings, fate, around }: FatedStoreOptions): FatedStore {
  const { store: location, s3, tenant } = settings;
  const [action, at, side] = fate;
  const requests: string[] = [];

  const meet = (number: number, where: string): void => {
    if (String(number) !== at || where !== side) return;
    if (action === 'SIGSTOP') writeSync(1, 'stopped\n');
    process.kill(process.pid, action);
  };
  const counted = async <T>(name: string, proceed: () => Promise<T>): Promise<T> => {
    const number = requests.push(name);
    meet(number, 'before');
    try {
      return await proceed();
    } finally {
      meet(number, 'after');
    }
  };
  /** Names the place that the request goes to. */
  const placeOf = (call: StoreCall): string => {
    const key = 'key' in call ? call.key : 'prefix' in call ? call.prefix : (call.targets[0]?.key ?? '');
    const place = key.includes(`tenants/${tenant}/`) ? key.split(`tenants/${tenant}/`)[1] : 'keyring';
    return place?.split('/')[0] ?? '';
  };
  /** The end of a listing is asked for without a request. */
  const isRequest = (call: StoreCall): boolean => call.verb !== 'list' || call.page === 1;
  const openPlain = (): ObjectStore => {
    if (location.kind === 's3') return openS3ObjectStore({ ...s3, bucket: location.bucket });
    if (location.kind === 'sqlite') return openSqliteObjectStore({ path: location.path });
    throw new Error('a store that outlives the process is needed');
  };

  const opened = around === undefined ? openPlain() : interceptStore(openPlain(), around);
  const plain = interceptStore(opened, (call, proceed) =>
    isRequest(call) ? counted(`${call.verb} ${placeOf(call)}`, proceed) : proceed(),
  );
  if (location.kind !== 's3') return { base: shared(withChanges(plain, opened, counted)), requests };
  const base: BaseStore = {
    ...shared(plain),
    // A server that does not honour conditions on deletes needs this; SQLite honours them.
    forTenant: (layout) => guardDeletes(checkConditions(plain, layout.probe)),
    versions: countVersions(openS3ObjectStore({ ...s3, bucket: location.bucket }).versions, counted),
  };
  return { base, requests };
}

/** Several changes that the store makes as one are one request. */
function withChanges(
  plain: ObjectStore,
  { changeAll }: ObjectStore,
  counted: <T>(name: string, proceed: () => Promise<T>) => Promise<T>,
): ObjectStore {
  return {
    ...plain,
    ...(changeAll && {
      changeAll: (changes, options) => counted('change data', () => changeAll(changes, options)),
    }),
  };
}

function countVersions(
  versions: ObjectVersions,
  counted: <T>(name: string, proceed: () => Promise<T>) => Promise<T>,
): ObjectVersions {
  return {
    ...versions,
    async *list(key, request) {
      const pages = versions.list(key, request)[Symbol.asyncIterator]();
      const next = () => pages.next();
      // The listings of tests are one page.
      for (let page = await counted('list versions', next); !page.done; page = await next()) yield page.value;
    },
    remove: (key, versionId, request) =>
      counted('delete version', () => versions.remove(key, versionId, request)),
  };
}
