import { open } from '../../src/format/object.ts';
import { logicalName } from '../../src/format/object-keys.ts';
import { ID_BYTES } from '../../src/format/wrap.ts';
import { VERSION_SAVER } from '../../src/history/save/version-saver.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { openWork, type Tenant } from '../../src/tree/tenant.ts';
import { isBelow } from '../simulation/answer.ts';
import { type Operation, underWay } from '../simulation/history.ts';
import type { Bug } from '../simulation/process.ts';
import { LAYOUT, pathOf } from '../simulation/tenant.ts';

/** The same for bugs of what history keeps. */
export const KEPT_SEAMS: Readonly<Record<string, () => Bug>> = {
  'a version saved after the PUT that replaces it': () => {
    const held = new Map<Operation | undefined, (() => Promise<void>)[]>();
    return {
      saver: (saver) => ({
        ...saver,
        async saveReplaced(...version) {
          const operation = underWay.getStore();
          held.set(operation, [...(held.get(operation) ?? []), () => saver.saveReplaced(...version)]);
        },
        saveListed: (...files) => saver.saveListed(...files),
      }),
      above: (store) => ({
        ...store,
        async put(key, body, options) {
          const answer = await store.put(key, body, options);
          const operation = underWay.getStore();
          if (!key.startsWith(LAYOUT.data)) return answer;
          const waiting = held.get(operation) ?? [];
          held.delete(operation);
          for (const save of waiting) await save().catch(() => {});
          return answer;
        },
      }),
    };
  },
  'a version saved without create-only': () => ({
    above: (store) => ({
      ...store,
      put: (key, body, options) =>
        store.put(
          key,
          body,
          key.includes('/history/') && options.mode === 'create'
            ? { ...options, mode: 'overwrite' }
            : options,
        ),
    }),
  }),
  'the record of a directory written before its rename is decided': () => {
    let contexts: readonly Tenant[] = [];
    return {
      saver(saver, context) {
        if (!contexts.includes(context)) contexts = [...contexts, context];
        return saver;
      },
      above(store) {
        const above: typeof store = {
          ...store,
          async put(key, body, options) {
            const answer = await store.put(key, body, options);
            const context = contexts.find((each) => each.store === above);
            if (context !== undefined && 'etag' in answer) await recordCopy(context, key, body);
            return answer;
          },
        };
        return above;
      },
    };
  },
  'a predecessor taken from an earlier read': () => {
    const first = new Map<string, Uint8Array>();
    return {
      saver: (saver) => ({
        ...saver,
        async saveReplaced(work, path, version, before) {
          await saver.saveReplaced(work, path, version, before);
          const earlier = first.get(path) ?? version.id;
          first.set(path, earlier);
          Object.assign(version, { id: earlier });
        },
        saveListed: (...files) => saver.saveListed(...files),
      }),
    };
  },
  'an edit that keeps its id when it is judged on another base': () => {
    const drawn = new Map<Operation, Uint8Array>();
    return {
      random: (random) => (length) => {
        const operation = underWay.getStore();
        if (length !== ID_BYTES || operation === undefined) return random(length);
        const id = drawn.get(operation) ?? random(length);
        drawn.set(operation, id);
        return id;
      },
    };
  },
  'edits of two actors merged': () => ({
    actor(actor, others) {
      const [other] = others;
      return other === undefined ? actor : other.actor;
    },
  }),
  'a delete that saves nothing': () => ({
    saver: (saver) => ({
      ...saver,
      saveListed: (work, files) =>
        saver.saveListed.call({ ...saver, saveReplaced: async () => {} }, work, files),
    }),
  }),
  'a delete written down before it is certain': () => ({
    saver: (saver) => ({
      ...saver,
      async saveListed(work, files) {
        const saved = await saver.saveListed(work, files);
        for (const file of saved) await saver.noteDeleted(work, file[0], [file]);
        return saved;
      },
      noteDeleted: async () => {},
    }),
  }),
};

/** Writes down where a copy that a directory's rename has just made comes from. */
async function recordCopy(context: Tenant, key: string, object: Uint8Array): Promise<void> {
  const command = underWay.getStore()?.command;
  if (command?.command !== 'rename' || !key.startsWith(LAYOUT.data)) return;
  const path = pathOf(key as never);
  const work = await openWork(context, {});
  if (work === undefined || !isBelow(path, command.new_path)) return;
  const name = logicalName(parseMemoryPath(path));
  const { origin, id, bound } = open({ keys: work.keyring.keys, name, object });
  const [from, to] = [parseMemoryPath(command.old_path), parseMemoryPath(command.new_path)];
  const source = parseMemoryPath(command.old_path + path.slice(command.new_path.length));
  await VERSION_SAVER.saveMoves(work, { from, to, id: origin }, [[source, id, bound]]).catch(() => {});
}
