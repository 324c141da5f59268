import { MemoryError } from '../../src/errors.ts';
import { TOMBSTONE_BYTES } from '../../src/format/sizes.ts';
import type { DeleteTarget, ETag, ObjectStore, WriteResult } from '../../src/store/port.ts';
import { createSightings } from '../../src/tree/sightings.ts';
import { type Command, underWay } from '../simulation/history.ts';
import { createLastSeenSightings } from '../simulation/last-seen.ts';
import type { Bug } from '../simulation/process.ts';
import { LAYOUT, pathOf } from '../simulation/tenant.ts';
import { FROZEN_SEAMS } from './frozen-seams.ts';
import { KEPT_SEAMS } from './kept-seams.ts';

const REGISTER = `${LAYOUT.tenantPrefix}journal/register`;

const TREE_SEAMS: Readonly<Record<string, () => Bug>> = {
  'no If-Match on edits': () => ({
    above: (store) => ({
      ...store,
      put: (key, body, options) =>
        store.put(
          key,
          body,
          isFile(key) && typeof options.mode === 'object' ? { mode: 'overwrite' } : options,
        ),
    }),
  }),
  'a blind resend after 412': () => ({
    above: (store) => ({
      ...store,
      async put(key, body, options) {
        const answer = await store.put(key, body, options);
        if (!isFile(key) || typeof options.mode !== 'object' || !isConflict(answer, 'changed')) return answer;
        const found = await store.head(key);
        return found === undefined ? answer : store.put(key, body, { mode: { ifMatch: found.etag } });
      },
    }),
  }),
  'no undo in create clashes': () => ({
    above(store) {
      const created = new Set<ETag>();
      return {
        ...store,
        async put(key, body, options) {
          const answer = await store.put(key, body, options);
          const isCreate = underWay.getStore()?.command.command === 'create';
          if (isCreate && 'etag' in answer) created.add(answer.etag);
          return answer;
        },
        async delete(targets, options) {
          const isCreate = underWay.getStore()?.command.command === 'create';
          const isUndo = targets.every(({ ifMatch }) => ifMatch !== undefined && created.has(ifMatch));
          return isCreate && isUndo ? [] : store.delete(targets, options);
        },
      };
    },
  }),
  'a file built on that may be taken back': () => ({
    sightings() {
      const sightings = createSightings();
      const isBuilding = (): boolean => {
        const command = underWay.getStore()?.command.command;
        return command !== undefined && EDITS.includes(command);
      };
      return { ...sightings, stays: (stored) => isBuilding() || sightings.stays(stored) };
    },
  }),
  'a delete batch resent without a new listing': () => ({
    above: (store) => ({ ...store, delete: resent(store) }),
    below: (store) => ({ ...store, delete: resent(store) }),
  }),
  'a plain DELETE instead of the guarded one': () => ({
    above: (store) => ({
      ...store,
      delete: (targets, options) => store.delete(unconditional(targets), options),
    }),
  }),
  'a tombstone overwritten young': () => ({
    below: (store) => ({
      ...store,
      async head(key, options) {
        const found = await store.head(key, options);
        return found?.size === TOMBSTONE_BYTES ? { ...found, servedAt: found.servedAt + 3_600_000 } : found;
      },
    }),
  }),
  'no lease check before a delete batch': () => ({
    above(store) {
      const holders = new Set<unknown>();
      return {
        ...store,
        async put(key, body, options) {
          const answer = await store.put(key, body, options);
          if (key !== REGISTER) return answer;
          const operation = underWay.getStore();
          if ('etag' in answer) holders.add(operation);
          else if (holders.has(operation)) return { etag: 'still ours' as ETag };
          return answer;
        },
      };
    },
  }),
  'the register set idle before the deletes': () => ({
    above(store) {
      const held = new Map<unknown, DeleteTarget[]>();
      return {
        ...store,
        async put(key, body, options) {
          const answer = await store.put(key, body, options);
          const operation = underWay.getStore();
          const targets = held.get(operation) ?? [];
          if (key !== REGISTER || targets.length === 0) return answer;
          held.delete(operation);
          await store.delete(targets);
          return answer;
        },
        async delete(targets, options) {
          const operation = underWay.getStore();
          const command = operation?.command;
          const isMove =
            command?.command === 'rename' &&
            targets.every(({ key }) => pathOf(key).startsWith(`${command.old_path}/`));
          if (!isMove) return store.delete(targets, options);
          held.set(operation, [...targets]);
          return [];
        },
      };
    },
  }),
  'cached text trusted for an error': () => ({
    above: (store) => ({ ...store, get: unasked(store, (command) => EDITS.includes(command)) }),
  }),
  'stale text not revalidated': () => ({
    above: (store) => ({ ...store, get: unasked(store, (command) => command === 'view') }),
  }),
  'a directory that has gone': () => ({
    above(store) {
      const directories = new Set<string>();
      const isKnown = (key: string): boolean => directories.has(key.replace(/\.sealed$/, '/'));
      return {
        ...store,
        async get(key, options) {
          const isView = underWay.getStore()?.command.command === 'view';
          return isView && isKnown(key) ? undefined : store.get(key, options);
        },
        async head(key, options) {
          const isCreate = underWay.getStore()?.command.command === 'create';
          return isCreate && isKnown(key) ? undefined : store.head(key, options);
        },
        async *list(options) {
          for await (const page of store.list(options)) {
            for (const { key } of page.objects) {
              for (let at = key.indexOf('/', LAYOUT.data.length); at >= 0; at = key.indexOf('/', at + 1)) {
                directories.add(key.slice(0, at + 1));
              }
            }
            yield page;
          }
        },
      };
    },
  }),
  'the version seen last taken for the only right one': () => ({
    sightings: createLastSeenSightings,
  }),
  'the moment of an answer taken for that of its request': () => ({
    sightings() {
      const sightings = createSightings();
      return {
        ...sightings,
        saw: (sighting) => sightings.saw({ ...sighting, since: sightings.begin() }),
        wrote: (sighting) => sightings.wrote({ ...sighting, since: sightings.begin() }),
        sawNothing: (sighting) => sightings.sawNothing({ ...sighting, since: sightings.begin() }),
      };
    },
  }),
};

/** The wrong part that each process of a simulation gets in place of the right one, by the names of the bugs. */
export const SEAMS: Readonly<Record<string, () => Bug>> = { ...TREE_SEAMS, ...FROZEN_SEAMS, ...KEPT_SEAMS };

const EDITS: readonly Command['command'][] = ['str_replace', 'insert'];

/** Takes a version that the process holds for the one that is there, in some commands. */
function unasked(
  store: ObjectStore,
  isTrusting: (command: Command['command']) => boolean,
): ObjectStore['get'] {
  return async (key, options) => {
    const command = underWay.getStore()?.command.command;
    const isTrusted = options?.ifNoneMatch !== undefined && command !== undefined && isTrusting(command);
    return isTrusted ? 'not_modified' : store.get(key, options);
  };
}

function isFile(key: string): boolean {
  return key.startsWith(LAYOUT.data);
}

function isConflict(answer: WriteResult, conflict: string): boolean {
  return 'conflict' in answer && answer.conflict === conflict;
}

function unconditional(targets: readonly DeleteTarget[]): readonly DeleteTarget[] {
  return targets.map(({ key }) => ({ key }));
}

/** Sends a batch without an answer again as it was, and takes the second answer for that of both. */
function resent(store: ObjectStore): ObjectStore['delete'] {
  return async (targets, options) => {
    try {
      return await store.delete(targets, options);
    } catch (error) {
      if (!(error instanceof MemoryError) || error.code !== 'outcome_unknown') throw error;
      return store.delete(unconditional(targets), options);
    }
  };
}
