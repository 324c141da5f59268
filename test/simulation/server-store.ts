import type { ListPage, ObjectStore } from '../../src/store/port.ts';
import type { Server } from './server.ts';

/** Makes a store that reads the server at once and unwatched, for judges, who come when all is over. */
export function createServerStore(server: Server): ObjectStore {
  const refuse = async (): Promise<never> => {
    throw new Error('a judge changes nothing');
  };
  return {
    get: async (key) => server.get(key),
    head: async (key) => server.head(key),
    put: refuse,
    delete: refuse,
    async *list({ prefix, startAfter = '' }) {
      const page: ListPage['objects'][number][] = [];
      for (let next = server.next(prefix, startAfter); next !== undefined; ) {
        page.push(next);
        next = server.next(prefix, next.key);
      }
      yield { objects: page, servedAt: server.date() };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}
