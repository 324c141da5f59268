import type { History } from '../tree/history/history.ts';
import type { Call, Session } from '../tree/session.ts';
import type { Tree } from '../tree/tree.ts';

/** Stands around every call. */
type Run = <T>(call: () => Promise<T>, options: Call) => Promise<T>;

/** The history of one tenant. Its module is loaded by the first call, within `run`, so that a close waits for it. */
export function openHistory(
  run: Run,
  tenant: {
    readonly context: Session;
    /** The tenant's own, without what is mounted in it. */
    readonly tree: Tree;
    /** Who asks where a call does not say it. */
    readonly actor?: string | undefined;
  },
): History {
  const { context, tree, actor } = tenant;

  let loading: Promise<History> | undefined;
  const load = async (): Promise<History> => {
    const { createHistory } = await import('../tree/history/history.ts');
    return createHistory(context, tree);
  };
  const call = <T>(act: (history: History) => Promise<T>, options: Call = {}): Promise<T> =>
    run(async () => {
      loading ??= load();
      return act(await loading);
    }, options);

  return Object.freeze<History>({
    list: (path, options) => call((history) => history.list(path, options), options),
    read: (version, options) => call((history) => history.read(version, options), options),
    restore: (version, options) =>
      call((history) => history.restore(version, { actor, ...options }), options),
  });
}
