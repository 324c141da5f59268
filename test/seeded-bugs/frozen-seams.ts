import { MemoryError } from '../../src/errors.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { isResentConflict, type ListedObject } from '../../src/store/port.ts';
import { type Command, underWay } from '../simulation/history.ts';
import type { Bug } from '../simulation/process.ts';
import { LAYOUT, pathOf } from '../simulation/tenant.ts';

/** Mistakes that were made once, as they look from the store. */
export const FROZEN_SEAMS: Readonly<Record<string, () => Bug>> = {
  'a new file in a moved directory copied over the one that was moved before': () => ({
    above: (store) => ({
      ...store,
      async put(key, body, options) {
        const answer = await store.put(key, body, options);
        if (!('conflict' in answer) || options.mode !== 'create' || !isAtTarget(key)) return answer;
        const found = await store.head(key);
        return found === undefined
          ? answer
          : store.put(key, body, { ...options, mode: { ifMatch: found.etag } });
      },
    }),
  }),
  'a file created while its directory is deleted taken by a second round': () => ({
    above: (store) => ({
      ...store,
      async delete(targets, options) {
        const failures = await store.delete(targets, options);
        const command = commandNow();
        if (command?.command !== 'delete' || targets.some(({ key }) => pathOf(key) === command.path)) {
          return failures;
        }
        const left: ListedObject[] = [];
        const prefix = `${LAYOUT.data}${command.path.slice('/memories/'.length)}/`;
        for await (const page of store.list({ prefix })) left.push(...page.objects);
        if (left.length > 0) await store.delete(left.map(({ key, etag }) => ({ key, ifMatch: etag })));
        return failures;
      },
    }),
  }),
  'a batch without an answer told as one that changed nothing': () => ({
    above: (store) => ({
      ...store,
      delete: (targets, options) =>
        store.delete(targets, options).catch((error: unknown) => {
          if (!(error instanceof MemoryError) || error.code !== 'outcome_unknown') throw error;
          throw new MemoryError('unavailable', 'nothing was deleted');
        }),
    }),
  }),
  'a resend that is refused taken for the first attempt': () => ({
    above: (store) => ({
      ...store,
      put: (key, body, options) =>
        store.put(key, body, options).catch((error: unknown) => {
          if (!isResentConflict(error)) throw error;
          return { conflict: options.mode === 'create' ? 'exists' : 'changed' };
        }),
    }),
  }),
  'a create that landed told as unavailable when the look after it fails': () => ({
    above: (store) => ({
      ...store,
      put: (key, body, options) =>
        store.put(key, body, options).catch(async (error: unknown) => {
          if (!(error instanceof MemoryError) || error.code !== 'outcome_unknown') throw error;
          await store.get(key);
          throw error;
        }),
    }),
  }),
};

function commandNow(): Command | undefined {
  return underWay.getStore()?.command;
}

/** Below or at the new path of the rename that is under way. */
function isAtTarget(key: ObjectKey): boolean {
  const command = commandNow();
  return (
    command?.command === 'rename' &&
    key.startsWith(LAYOUT.data) &&
    `${pathOf(key)}/`.startsWith(`${command.new_path}/`)
  );
}
