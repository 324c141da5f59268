import type { ObjectKey } from '../../src/format/object-keys.ts';
import { lateness, type ObjectStore } from '../../src/store/port.ts';

/** A store whose mark of a delete counts as an object for a create, as on VersityGW with versioning. */
export function keepMarks(store: ObjectStore): ObjectStore {
  const marks = new Set<ObjectKey>();
  return {
    get: store.get,
    head: store.head,
    list: store.list,
    async put(key, body, options) {
      if (options.mode === 'create' && marks.has(key)) {
        const late = lateness(options.sendBy);
        if (late !== undefined) throw late;
        return { conflict: 'exists' };
      }
      const answer = await store.put(key, body, options);
      if ('etag' in answer) marks.delete(key);
      return answer;
    },
    async delete(targets, options) {
      const there = await Promise.all(targets.map(({ key }) => store.head(key)));
      const failures = await store.delete(targets, options);
      for (const [index, { key }] of targets.entries()) {
        const isFailed = failures.some((failure) => failure.key === key);
        if (there[index] !== undefined && !isFailed) marks.add(key);
      }
      return failures;
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
