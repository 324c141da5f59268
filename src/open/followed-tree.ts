import type { KeyringCache } from '../keys/keyring-cache.ts';
import type { CallOptions } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';

/** A function that runs around a call, and gives it the place that counts when it begins. */
export type PlaceNow<Place = { readonly tree: Tree }> = <T>(
  call: (place: Place) => Promise<T>,
  request?: Pick<CallOptions, 'signal'>,
) => Promise<T>;

/**
 * Makes a tree whose every verb is that of the tree which counts when it is called. Until a verb has met another tree,
 * `first` answers the verbs that ask no store.
 */
export function followTree(now: PlaceNow, first: Tree): Tree {
  let known = first;
  const at = <T>(options: CallOptions | undefined, verb: (tree: Tree) => Promise<T>): Promise<T> =>
    now(({ tree }) => {
      known = tree;
      return verb(tree);
    }, options);
  return {
    wasDirectory: (path) => known.wasDirectory(path),
    isAlwaysDirectory: (path) => known.isAlwaysDirectory(path),
    read: (path, options) => at(options, (tree) => tree.read(path, options)),
    readVersion: (path, options) => at(options, (tree) => tree.readVersion(path, options)),
    stat: (path, options) => at(options, (tree) => tree.stat(path, options)),
    async *walk(directory, options) {
      // A listing ends on the tree on which it began, which stays open as long.
      const [found, end] = [Promise.withResolvers<Tree>(), Promise.withResolvers<void>()];
      const walking = at(options, (tree) => {
        found.resolve(tree);
        return end.promise;
      });
      walking.catch(found.reject);
      try {
        yield* (await found.promise).walk(directory, options);
      } finally {
        end.resolve();
      }
    },
    list: (directory, options) => at(options, (tree) => tree.list(directory, options)),
    create: (path, content, options) => at(options, (tree) => tree.create(path, content, options)),
    overwrite: (path, content, options) => at(options, (tree) => tree.overwrite(path, content, options)),
    replace: (path, replacement, options) => at(options, (tree) => tree.replace(path, replacement, options)),
    edit: (path, edit, options) => at(options, (tree) => tree.edit(path, edit, options)),
    remove: (path, options) => at(options, (tree) => tree.remove(path, options)),
    wasMade: (deed, options) => at(options, (tree) => tree.wasMade(deed, options)),
    rename: (rename, options) => at(options, (tree) => tree.rename(rename, options)),
  };
}

/**
 * Makes a keyring cache that loads from the one which counts when it is asked, for records that outlive a change of the
 * root key, such as those of a turn. `held` answers the one that was met last, which its owner closes.
 */
export function followKeyrings(
  now: PlaceNow<{ readonly keyrings: KeyringCache }>,
  held: () => KeyringCache,
): KeyringCache {
  return {
    load: (request) => now(({ keyrings }) => keyrings.load(request), request),
    look: (request) => now(({ keyrings }) => keyrings.look(request), request),
    lookFor: (keyId, request) => now(({ keyrings }) => keyrings.lookFor(keyId, request), request),
    sendBy: () => held().sendBy(),
    forgetFailure: () => held().forgetFailure(),
    close: () => held().close(),
  };
}
