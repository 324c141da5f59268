import type { ChangeConflict, ChangeResult, Changes, ObjectStore, PutTarget, SendBound } from 'sealed-memory';

/** Wraps a store so that it tells what it keeps; what makes several changes as one has to be wrapped as well. */
export function told(store: ObjectStore, tell: (line: string) => void): ObjectStore {
  const changeAll = async (changes: Changes, options?: { sendBy?: SendBound }): Promise<ChangeResult> => {
    const puts: readonly PutTarget[] = changes.puts;
    const result = await store.changeAll?.(changes, options);
    if (result === undefined) throw new Error('only a store that has changeAll is asked for it');
    const conflicts: readonly ChangeConflict[] = 'conflicts' in result ? result.conflicts : [];
    tell(`${puts.length} puts, ${conflicts.length} conflicts`);
    return result;
  };
  return {
    get: (key, options) => store.get(key, options),
    head: (key, options) => store.head(key, options),
    put: (key, body, options) => store.put(key, body, options),
    delete: (targets, options) => store.delete(targets, options),
    list: (options) => store.list(options),
    ...(store.changeAll && { changeAll }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
