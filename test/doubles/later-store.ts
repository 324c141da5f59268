import type { ObjectStore } from '../../src/store/port.ts';

/** The same store whose server's clock has gone on by so many milliseconds: what lies there is older by that. */
export function laterStore(store: ObjectStore, ms: number): ObjectStore {
  const dated = <T extends { readonly servedAt: number }>(answer: T): T => ({
    ...answer,
    servedAt: answer.servedAt + ms,
  });
  return {
    async get(key, options) {
      const answer = await store.get(key, options);
      return typeof answer === 'object' ? dated(answer) : answer;
    },
    async head(key, options) {
      const answer = await store.head(key, options);
      return answer && dated(answer);
    },
    put: (key, body, options) => store.put(key, body, options),
    delete: (targets, options) => store.delete(targets, options),
    async *list(options) {
      for await (const page of store.list(options)) yield dated(page);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}
