import { MemoryError } from '../../src/errors.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../../src/format/sizes.ts';
import {
  type DatedMeta,
  type DeleteFailure,
  type DeleteOptions,
  type DeleteTarget,
  type ListedObject,
  type ListOptions,
  type ListPage,
  type ObjectStore,
  type PutOptions,
  resentConflict,
  type StoredObject,
  type WriteResult,
} from '../../src/store/port.ts';
import type { Chance } from './chance.ts';
import type { Connection, Execution } from './connection.ts';
import { LATE_DELETE_MS, LATE_SEALED_MS } from './faults.ts';
import type { History, LandedVersion } from './history.ts';
import type { Scheduler } from './scheduler.ts';
import type { PutAnswer, Server } from './server.ts';
import { LAYOUT, pathOf } from './tenant.ts';

/** The class of a server: `guarded` where it honours conditions on deletes. */
export type StoreClass = 'guarded' | 'unguarded';

export interface SimStoreOptions {
  readonly server: Server;
  readonly connection: Connection;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly storeClass: StoreClass;
  readonly history: History;
}

/** The most objects of a page: so few that a few files make several pages. */
const MOST_PER_PAGE = 3;

/** Makes one process's handle to the simulated server, as the S3 adapter would be it. */
export function createSimStore(options: SimStoreOptions): ObjectStore {
  const { server, connection, scheduler, chance, storeClass, history } = options;
  const versions = new Set<string>();
  const reads = { writes: false, attempts: 2 };

  async function put(
    key: ObjectKey,
    body: Uint8Array,
    { mode, sendBy, signal }: PutOptions,
  ): Promise<WriteResult> {
    const condition = typeof mode === 'object' ? `if ${short(mode.ifMatch)}` : mode;
    const { answer, retried } = await connection.send<PutAnswer>({
      label: `PUT ${nameOf(key)} (${body.length} B, ${condition})`,
      writes: true,
      attempts: chance.between(1, 3),
      sendBy,
      signal,
      show: (written) => ('etag' in written ? short(written.etag) : written.conflict),
      execute(execution, done) {
        const written = server.put(key, body, mode);
        if ('etag' in written) {
          if (/\/(history|journal)\//.test(key))
            history.records.push({ key, body, unconditional: mode === 'overwrite' });
          const version = `${key} ${written.etag}`;
          const again = versions.has(version);
          const isFile = body.length !== TOMBSTONE_BYTES;
          if (isFile && execution.travelled > LATE_SEALED_MS) {
            history.lateFiles.push({ at: scheduler.now(), key });
          }
          const isStray = isFile && (again || (execution.late && mode === 'create'));
          if (isStray) history.strayCreates.push({ at: scheduler.now(), key, body, again });
          const stray = isStray || (isFile && execution.travelled > LATE_SEALED_MS);
          landed(key, execution, { body: isFile ? body : undefined, stray });
          versions.add(version);
        } else if (key.startsWith(LAYOUT.data) && body.length !== TOMBSTONE_BYTES) {
          history.refused.push({ path: pathOf(key), body, operation: execution.operation });
        }
        done(written);
      },
    });
    if ('conflict' in answer && retried) throw resentConflict();
    return answer;
  }

  async function remove(
    targets: readonly DeleteTarget[],
    { sendBy, signal }: DeleteOptions = {},
  ): Promise<readonly DeleteFailure[]> {
    const named = targets.map(
      ({ key, ifMatch }) => `${nameOf(key)}${ifMatch ? ` if ${short(ifMatch)}` : ''}`,
    );
    const { answer } = await connection.send<readonly DeleteFailure[]>({
      label: `DELETE ${named.join(', ')}`,
      writes: true,
      attempts: 1,
      sendBy,
      signal,
      show: (failures) => (failures.length === 0 ? 'ok' : failures.map(describeFailure).join(', ')),
      execute(execution, done) {
        const most = execution.part === 'all' ? targets.length : chance.between(0, targets.length - 1);
        const failures: DeleteFailure[] = [];
        const one = (at: number): void => {
          const target = targets[at];
          if (target === undefined || at >= most) {
            done(failures);
            return;
          }
          const size = server.head(target.key)?.size ?? TOMBSTONE_BYTES;
          const failure = server.remove(target);
          if (failure !== undefined) failures.push(failure);
          else if (size !== TOMBSTONE_BYTES) {
            const stray = target.ifMatch === undefined && execution.travelled > LATE_DELETE_MS;
            landed(target.key, execution, { body: undefined, stray });
            if (stray) {
              history.strayDeletes.push({ at: scheduler.now(), key: target.key });
            }
          }
          // A batch is not atomic: others come in between.
          scheduler.after(at + 1 < most ? chance.fraction() * 10 : 0, () => one(at + 1));
        };
        one(0);
      },
    });
    return answer;
  }

  async function listPage(list: ListOptions, after: string): Promise<ListPage & { readonly more: boolean }> {
    const most = Math.min(list.maxKeys ?? MOST_PER_PAGE, MOST_PER_PAGE);
    const { answer } = await connection.send<readonly ListedObject[]>({
      ...reads,
      label: `LIST ${nameOf(list.prefix)}* after ${nameOf(after)}`,
      show: (objects) => `[${objects.map(({ key, size }) => `${nameOf(key)} ${size} B`).join(', ')}]`,
      execute(_, done) {
        const objects: ListedObject[] = [];
        // Key by key: a listing is no snapshot.
        const walk = (from: string): void => {
          const object = objects.length < most ? server.next(list.prefix, from) : undefined;
          if (object === undefined) {
            done(objects);
            return;
          }
          objects.push(object);
          scheduler.after(chance.fraction() * 10, () => walk(object.key));
        };
        walk(after);
      },
    });
    return { objects: answer, servedAt: server.date(), more: answer.length === most };
  }

  return {
    async get(key, { ifNoneMatch } = {}) {
      const { answer } = await connection.send<StoredObject | 'not_modified' | undefined>({
        ...reads,
        label: `GET ${nameOf(key)}${ifNoneMatch === undefined ? '' : ` unless ${short(ifNoneMatch)}`}`,
        show: (found) => (found === 'not_modified' ? 'not modified' : describeMeta(found)),
        execute({ operation }, done) {
          const found = server.get(key);
          if (found !== undefined && key.startsWith(LAYOUT.data))
            history.found.push({ path: pathOf(key), body: found.body, operation });
          done(found !== undefined && found.etag === ifNoneMatch ? 'not_modified' : found);
        },
      });
      return answer;
    },
    async head(key) {
      const { answer } = await connection.send<DatedMeta | undefined>({
        ...reads,
        label: `HEAD ${nameOf(key)}`,
        show: describeMeta,
        execute: (_, done) => done(server.head(key)),
      });
      return answer;
    },
    put,
    async delete(targets, request) {
      if (storeClass === 'unguarded' && targets.some(({ ifMatch }) => ifMatch !== undefined)) {
        throw new MemoryError('misconfigured', 'This server does not honour conditions on deletes.');
      }
      return targets.length === 0 ? [] : remove(targets, request);
    },
    async *list(list) {
      let after = list.startAfter ?? '';
      for (;;) {
        const { more, ...page } = await listPage(list, after);
        yield page;
        after = page.objects.at(-1)?.key ?? after;
        if (!more) return;
      }
    },
    [Symbol.asyncDispose]: async () => {},
  };

  /** Notes that a file was changed for every process to see. */
  function landed(
    key: ObjectKey,
    { operation }: Execution,
    version: Pick<LandedVersion, 'body' | 'stray'>,
  ): void {
    if (!key.startsWith(LAYOUT.data)) return;
    const landing = { at: scheduler.now(), path: pathOf(key) };
    history.versions.push({ ...version, path: landing.path, operation });
    if (operation === undefined)
      history.byOperators.push({ ...landing, removes: version.body === undefined });
    else operation.landed.push(landing);
  }
}

function describeMeta(meta: DatedMeta | undefined): string {
  return meta === undefined ? 'nothing' : `${short(meta.etag)}, ${meta.size} B`;
}

function describeFailure(failure: DeleteFailure): string {
  return `${nameOf(failure.key)} ${'conflict' in failure ? failure.conflict : 'failed'}`;
}

function nameOf(key: string): string {
  return key.replace('tenants/acme/', '');
}

function short(etag: string): string {
  return etag.slice(0, 6);
}
