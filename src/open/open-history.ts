import type { History } from '../history/history.ts';
import { heardVerbs } from '../listeners.ts';
import type { ObjectVersions } from '../store/port.ts';
import type { Session } from '../tree/session.ts';
import type { Tree } from '../tree/tree.ts';
import { callLazily, type Run } from './call-lazily.ts';

/** The history of one tenant. */
export function openHistory(
  run: Run,
  tenant: {
    readonly context: Session;
    /** The tenant's own, without what is mounted in it. */
    readonly tree: Tree;
    /** The tree as its users see it, where something is mounted in it. */
    readonly seen?: Pick<Tree, 'isAlwaysDirectory'> | undefined;
    /** Who asks where a call does not say it. */
    readonly actor?: string | undefined;
    /** What the bucket keeps beside the current versions. */
    readonly versions?: ObjectVersions | undefined;
    /** How long an expiry run keeps versions. */
    readonly retentionDays?: number | undefined;
  },
): History {
  const { context, tree, actor, ...surroundings } = tenant;
  const call = callLazily(run, async () => {
    const { createHistory } = await import('../history/history.ts');
    return createHistory(context, tree, surroundings);
  });
  const verbs: History = {
    state: (options) => call((history) => history.state(options), options),
    list: (path, options) => call((history) => history.list(path, options), options),
    read: (version, options) => call((history) => history.read(version, options), options),
    trace: (of, options) => call((history) => history.trace(of, options), options),
    restore: (version, options) =>
      call((history) => history.restore(version, { actor, ...options }), options),
    restoreAt: (time, options) => call((history) => history.restoreAt(time, { actor, ...options }), options),
    undo: (options) => call((history) => history.undo({ actor, ...options }), options),
    redact: (version, options) => call((history) => history.redact(version, { actor, ...options }), options),
  };
  return heardVerbs(verbs, context.logger);
}
