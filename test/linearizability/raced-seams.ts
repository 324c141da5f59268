import { MemoryError } from '../../src/errors.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../../src/format/sizes.ts';
import type {
  DeleteTarget,
  ETag,
  ListPage,
  ObjectStore,
  PutOptions,
  StoredObject,
  WriteResult,
} from '../../src/store/port.ts';
import type { Command } from '../simulation/history.ts';
import type { BuggyLife, RacedSeam } from './racing.ts';

type Put = (key: ObjectKey, body: Uint8Array, options: PutOptions, life: BuggyLife) => Promise<WriteResult>;

/** Writes files as a bug writes them; everything else is as it should be. */
function puts(store: ObjectStore, life: BuggyLife, put: Put): ObjectStore {
  return {
    ...store,
    put: (key, body, options) =>
      life.isFile(key) ? put(key, body, options, life) : store.put(key, body, options),
  };
}

const TAKEN = { etag: 'taken for done' as ETag };

/** The wrong thing that each process of a race does, by the names of the bugs. Porcupine has to reject each. */
export const RACED_SEAMS: Readonly<Record<string, RacedSeam>> = {
  'an edit without If-Match': {
    store: (store, life) =>
      puts(store, life, (key, body, options) => store.put(key, body, isEdit(options) ? OVERWRITE : options)),
  },
  'an edit that is resent under a fresh condition after 412': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) => {
        const answer = await store.put(key, body, options);
        const found = isConflict(answer, 'changed') ? await store.head(key) : undefined;
        return found === undefined ? answer : store.put(key, body, { mode: { ifMatch: found.etag } });
      }),
  },
  'an edit that is acknowledged though its condition failed': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) => {
        const answer = await store.put(key, body, options);
        return isConflict(answer, 'changed') ? TAKEN : answer;
      }),
  },
  'an edit that brings a deleted file back': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) => {
        const answer = await store.put(key, body, options);
        return isConflict(answer, 'missing') ? store.put(key, body, { mode: 'create' }) : answer;
      }),
  },
  'an edit of a text that was read before': {
    store: (store, life) => {
      const read = new Map<ObjectKey, StoredObject>();
      return {
        ...store,
        async get(key, options) {
          const found = await store.get(key, options);
          if (!life.isFile(key) || typeof found !== 'object' || life.command() === 'view') return found;
          const older = read.get(key) ?? found;
          read.set(key, older);
          return { ...found, body: older.body };
        },
      };
    },
  },
  'an edit that is made again after a lost answer': {
    store: (store, life) =>
      puts(store, life, (key, body, options) =>
        store.put(key, body, options).catch((error: unknown) => {
          if (isEdit(options) && isLost(error)) return { conflict: 'changed' };
          throw error;
        }),
      ),
  },
  'an edit of a busy file that says the file is not there': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) => {
        const answer = await store.put(key, body, options);
        return isConflict(answer, 'changed') ? { conflict: 'missing' } : answer;
      }),
  },
  'an edit that says it failed when it was made': {
    run:
      (run, { chance }) =>
      async (command) => {
        const result = await run(command);
        const isLie = command.command === 'insert' && result.ok && chance.happens(0.3);
        return isLie ? { ok: false, code: 'unavailable', reason: undefined } : result;
      },
  },
  'a version that is saved only after it was replaced': {
    store: (store, life) => {
      const late: (() => Promise<unknown>)[] = [];
      return {
        ...store,
        async put(key, body, options) {
          if (life.isHistory(key)) {
            late.push(() => store.put(key, body, options));
            return TAKEN;
          }
          const answer = await store.put(key, body, options);
          if (life.isFile(key)) for (const save of late.splice(0)) await save();
          return answer;
        },
      };
    },
  },
  'a create that overwrites': {
    store: (store, life) =>
      puts(store, life, (key, body, options) =>
        store.put(key, body, options.mode === 'create' ? OVERWRITE : options),
      ),
  },
  'a create that says it succeeded where a file was': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) => {
        const answer = await store.put(key, body, options);
        return isConflict(answer, 'exists') ? TAKEN : answer;
      }),
  },
  'a create that takes its own lost write for that of another': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) => {
        try {
          return await store.put(key, body, options);
        } catch (error) {
          if (options.mode !== 'create' || !isLost(error)) throw error;
          return { conflict: 'exists' };
        }
      }),
  },
  'a write without an answer that is taken for done': {
    store: (store, life) =>
      puts(store, life, (key, body, options) =>
        store.put(key, body, options).catch((error: unknown) => {
          if (isLost(error)) return TAKEN;
          throw error;
        }),
      ),
  },
  'a write without an answer that is taken for refused': {
    store: (store, life) =>
      puts(store, life, (key, body, options) =>
        store.put(key, body, options).catch((error: unknown) => {
          throw isLost(error) ? new MemoryError('unavailable', 'no answer came') : error;
        }),
      ),
  },
  'an acknowledgement before the write': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) => {
        void life.pause(200).then(() => store.put(key, body, options).catch(() => {}));
        return TAKEN;
      }),
  },
  'a view from a cache that is not validated': {
    run: (run) => {
      const seen = new Map<string, Awaited<ReturnType<typeof run>>>();
      return async (command) => {
        const result = (command.command === 'view' && seen.get(command.path)) || (await run(command));
        if (command.command === 'view' && result.ok) seen.set(command.path, result);
        return result;
      };
    },
  },
  'a read that takes a missing file for an old one': {
    store: (store, life) => {
      const seen = new Map<ObjectKey, StoredObject>();
      return {
        ...store,
        async get(key, options) {
          const found = await store.get(key, options);
          if (!life.isFile(key)) return found;
          if (typeof found === 'object') seen.set(key, found);
          return found ?? seen.get(key);
        },
      };
    },
  },
  'a delete without a condition': {
    store: (store) => ({ ...store, delete: (targets, options) => store.delete(plain(targets), options) }),
  },
  'a delete that is acknowledged and not made': {
    run:
      (run, { chance }) =>
      async (command) =>
        command.command === 'delete' && chance.happens(0.5) ? done(command) : run(command),
  },
  'a delete that is acknowledged before it is made': {
    store: (store, life) => ({
      ...store,
      async delete(targets, options) {
        void life.pause(200).then(() => store.delete(targets, options).catch(() => {}));
        return [];
      },
    }),
  },
  'a delete that is sent twice, the second time without a condition': {
    store: (store, life) => ({
      ...store,
      async delete(targets, options) {
        const failures = await store.delete(targets, options);
        if (life.chance.happens(0.5)) return failures;
        await life.pause(300);
        return store.delete(plain(targets), options);
      },
    }),
  },
  'a create that takes the place of a young tombstone': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) => {
        const found = options.mode === 'create' ? await life.base.head(key) : undefined;
        if (found?.size !== TOMBSTONE_BYTES) return store.put(key, body, options);
        return life.base.put(key, body, { mode: { ifMatch: found.etag } });
      }),
  },
  'a rename that overwrites its target': {
    store: (store, life) =>
      puts(store, life, (key, body, options) =>
        store.put(key, body, life.command() === 'rename' ? OVERWRITE : options),
      ),
  },
  'a rename that deletes a source that has changed': {
    store: (store, life) => ({
      ...store,
      delete: (targets, options) =>
        store.delete(life.command() === 'rename' ? plain(targets) : targets, options),
    }),
  },
  'a rename that renews its copy with the older text': {
    store: (store, life) => {
      const copied = new Map<ObjectKey, Uint8Array>();
      return puts(store, life, (key, body, options) => {
        if (life.command() !== 'rename') return store.put(key, body, options);
        if (options.mode === 'create') copied.set(key, body);
        return store.put(key, copied.get(key) ?? body, options);
      });
    },
  },
  'a rename that leaves its source': {
    store: (store, life) => ({
      ...store,
      delete: async (targets, options) => (life.command() === 'rename' ? [] : store.delete(targets, options)),
    }),
  },
  'a rename that leaves its copy where the source was gone': {
    store: (store, life) => {
      const copied = new Set<ObjectKey>();
      return {
        ...puts(store, life, (key, body, options) => {
          if (life.command() === 'rename') copied.add(key);
          else copied.delete(key);
          return store.put(key, body, options);
        }),
        delete: async (targets, options) =>
          life.command() === 'rename' && targets.every(({ key }) => copied.has(key))
            ? []
            : store.delete(targets, options),
      };
    },
  },
  'a rename that deletes before it copies': {
    store: (store, life) => {
      let source: ObjectKey | undefined;
      return {
        ...puts(store, life, async (key, body, options) => {
          if (life.command() !== 'rename' || source === undefined) return store.put(key, body, options);
          await store.delete([{ key: source }]);
          return store.put(key, body, options);
        }),
        get: (key, options) => {
          if (life.isFile(key)) source = key;
          return store.get(key, options);
        },
        delete: async (targets, options) =>
          life.command() === 'rename' ? [] : store.delete(targets, options),
      };
    },
  },
  'a create that never looks for clashes': {
    store: (store, life) => ({
      ...store,
      head: async (key, options) => (isBlind(life) ? undefined : store.head(key, options)),
      list: (options) => (isBlind(life) ? nothing() : store.list(options)),
    }),
  },
  'a refused create that stays': {
    store: (store, life) => ({
      ...store,
      delete: async (targets, options) => (life.command() === 'create' ? [] : store.delete(targets, options)),
    }),
  },
  'an undo that deletes what an edit without a look has built on': {
    store: (store, life) => ({
      ...store,
      head: async (key, options) => (editsBlindly(life) ? undefined : store.head(key, options)),
      list: (options) => (editsBlindly(life) ? nothing() : store.list(options)),
      delete: (targets, options) =>
        store.delete(life.command() === 'create' ? plain(targets) : targets, options),
    }),
  },
  'a rename of a directory that leaves a file': {
    store: (store, life) => ({
      ...store,
      delete: async (targets, options) => {
        const some = life.command() === 'rename' ? targets.slice(1) : targets;
        return some.length === 0 ? [] : store.delete(some, options);
      },
    }),
  },
  'a rename of a directory that loses a file': {
    store: (store, life) =>
      puts(store, life, async (key, body, options) =>
        life.command() === 'rename' && life.chance.happens(0.3) ? TAKEN : store.put(key, body, options),
      ),
  },
  'a rename of a directory that deletes sources that have changed': {
    store: (store, life) => ({
      ...store,
      delete: (targets, options) =>
        store.delete(life.command() === 'rename' ? plain(targets) : targets, options),
    }),
  },
  'a rename of a directory that overwrites what is at the target': {
    store: (store, life) => ({
      ...puts(store, life, (key, body, options) =>
        store.put(key, body, life.command() === 'rename' ? OVERWRITE : options),
      ),
      list: (options) =>
        life.command() === 'rename' && life.chance.happens(0.5) ? nothing() : store.list(options),
    }),
  },
  'a delete of a directory that leaves a file': {
    store: (store, life) => ({
      ...store,
      delete: (targets, options) =>
        store.delete(life.command() === 'delete' && targets.length > 1 ? targets.slice(1) : targets, options),
    }),
  },
};

const OVERWRITE: PutOptions = { mode: 'overwrite' };

function isEdit({ mode }: PutOptions): boolean {
  return typeof mode === 'object';
}

function editsBlindly(life: BuggyLife): boolean {
  return ['insert', 'str_replace'].includes(life.command() ?? '');
}

function isBlind(life: BuggyLife): boolean {
  return life.command() === 'create';
}

async function* nothing(): AsyncGenerator<ListPage, void, undefined> {}

function isConflict(answer: WriteResult, conflict: string): boolean {
  return 'conflict' in answer && answer.conflict === conflict;
}

function isLost(error: unknown): boolean {
  return error instanceof MemoryError && error.code === 'outcome_unknown';
}

function done({ command }: Command): { readonly ok: true; readonly content: string } {
  return { ok: true, content: command };
}

function plain(targets: readonly DeleteTarget[]): readonly DeleteTarget[] {
  return targets.map(({ key }) => ({ key }));
}
