import { type ErrorDetails, MemoryError } from '../errors.ts';
import { isWithin, MEMORY_ROOT, type MemoryPath, rebase } from '../language/path.ts';
import type { DirectoryListing, ListedEntry } from '../tree/list-directory.ts';
import type { KeptCall } from '../tree/tenant.ts';
import type { Touch } from '../tree/touches.ts';
import type { Tree } from '../tree/tree.ts';
import type { WalkedEntry } from '../tree/walk-directory.ts';

/** Another tree, whose files are seen below `at` instead of below the root. */
export interface Mount {
  /** One segment below the root, so that nothing but the root is above a mount. */
  readonly at: MemoryPath;
  readonly tree: Tree;
}

/** The tree that a path leads to, with the mappings between its own paths and those outside. */
interface MountPlace {
  readonly tree: Tree;
  readonly inward: (path: MemoryPath) => MemoryPath;
  readonly outward: (path: MemoryPath) => MemoryPath;
  /** Maps the options of a call, so that its listener hears of paths as the caller knows them. */
  readonly told: (options: KeptCall | undefined) => KeptCall;
}

/**
 * Makes one tree over several: `base`, and below each mount another one, a directory that is always there and can be
 * neither deleted nor renamed. What `base` itself has at the place of a mount is hidden. A rename stays within one
 * tree.
 */
export function createMountedTree(base: Tree, mounts: readonly Mount[]): Tree {
  const here: MountPlace = {
    tree: base,
    inward: (path) => path,
    outward: (path) => path,
    told: (options = {}) => options,
  };
  const places = new Map(mounts.map(({ at, tree }) => [at, placeBelow(at, tree)] as const));
  const mountOf = (path: MemoryPath): MemoryPath | undefined =>
    mounts.find(({ at }) => at === path || isWithin(path, at))?.at;
  const placeOf = (path: MemoryPath): MountPlace => places.get(mountOf(path) ?? MEMORY_ROOT) ?? here;
  const isHidden = (path: MemoryPath): boolean => mountOf(path) !== undefined;

  /** Runs a verb on the tree that the path leads to; errors name paths as the caller knows them. */
  const at = async <T>(
    path: MemoryPath,
    verb: (place: MountPlace, inner: MemoryPath) => Promise<T>,
  ): Promise<T> => {
    const place = placeOf(path);
    try {
      return await verb(place, place.inward(path));
    } catch (error) {
      throw outwardError(error, place);
    }
  };
  /** Runs a verb like `at`, and refuses a mount as its object: the verb takes files alone. */
  const atFile = <T>(
    path: MemoryPath,
    verb: (place: MountPlace, inner: MemoryPath) => Promise<T>,
  ): Promise<T> => {
    if (places.has(path)) throw new MemoryError('is_directory', 'A memory is mounted at that path.');
    return at(path, verb);
  };

  const list: Tree['list'] = async (directory, options = {}) => {
    if (directory !== MEMORY_ROOT) {
      return at(directory, async ({ tree, outward }, inner) =>
        outwardListing(await tree.list(inner, options), outward),
      );
    }
    const listings = await Promise.all(
      [here, ...places.values()].map(async ({ tree, outward }) =>
        outwardListing(await tree.list(MEMORY_ROOT, options), outward),
      ),
    );
    const [own, ...mounted] = listings;
    const files = [
      ...(own?.files.filter(({ path }) => !isHidden(path)) ?? []),
      ...mounted.flatMap((listing) => listing.files),
    ];
    const { maxFiles = files.length } = options;
    return {
      files: files.slice(0, maxFiles),
      directories: [...places.keys()],
      foreign: listings.reduce((sum, { foreign }) => sum + foreign, 0),
      truncated: files.length > maxFiles || listings.some(({ truncated }) => truncated),
    };
  };

  return {
    isAlwaysDirectory: (path) => base.isAlwaysDirectory(path) || places.has(path),
    wasDirectory: (path) => {
      const { tree, inward } = placeOf(path);
      return tree.wasDirectory(inward(path));
    },
    read: async (path, options) => at(path, ({ tree, told }, inner) => tree.read(inner, told(options))),
    readVersion: async (path, options) =>
      at(path, ({ tree, told }, inner) => tree.readVersion(inner, told(options))),
    async stat(path, options) {
      return at(path, async ({ tree, outward }, inner) => {
        const found = await tree.stat(inner, options);
        return found === undefined || found === 'directory' ? found : outwardEntry(found, outward);
      });
    },
    async *walk(directory, options = {}) {
      const { tree, inward, outward } = placeOf(directory);
      const isRoot = directory === MEMORY_ROOT;
      const { after } = options;
      const reached = isRoot && after !== undefined ? mountOf(after) : undefined;
      if (reached !== undefined) {
        const mounts = [...places.keys()];
        for (const mount of mounts.slice(mounts.indexOf(reached))) {
          yield* this.walk(mount, mount === reached ? options : { ...options, after: undefined });
        }
        return;
      }
      const inner = { ...options, after: after && inward(after) };
      for await (const page of tree.walk(inward(directory), inner)) {
        const outer = page.map((entry) => outwardWalked(entry, outward));
        yield isRoot
          ? outer.filter((entry) => !isHidden('directory' in entry ? entry.directory : entry.path))
          : outer;
      }
      if (!isRoot) return;
      if (options.recursive !== true) yield [...places.keys()].map((mount) => ({ directory: mount }));
      else for (const mount of places.keys()) yield* this.walk(mount, { ...options, after: undefined });
    },
    list,
    create: async (path, content, options) =>
      atFile(path, ({ tree, told }, inner) => tree.create(inner, content, told(options))),
    overwrite: async (path, content, options) =>
      atFile(path, ({ tree, told }, inner) => tree.overwrite(inner, content, told(options))),
    replace: async (path, replacement, options) =>
      atFile(path, ({ tree, told }, inner) => tree.replace(inner, replacement, told(options))),
    edit: async (path, edit, options) => {
      if (places.has(path)) throw new MemoryError('not_found', 'A memory is mounted at that path.');
      return at(path, ({ tree, told }, inner) => tree.edit(inner, edit, told(options)));
    },
    async remove(path, options) {
      refuseMount(path, places);
      return at(path, ({ tree, told }, inner) => tree.remove(inner, told(options)));
    },
    async rename(rename, options) {
      const { from, to } = rename;
      refuseMount(from, places);
      if (places.has(to)) throw new MemoryError('already_exists', 'A memory is mounted at that path.');
      if (mountOf(from) !== mountOf(to)) {
        throw new MemoryError('invalid_command', 'The two paths lie in different memories.', {
          details: { reason: 'across_mounts' },
        });
      }
      return at(from, ({ tree, inward, told }, inner) =>
        tree.rename({ ...rename, from: inner, to: inward(to) }, told(options)),
      );
    },
    async wasMade(deed, options) {
      if (deed.kind === 'renamed' && mountOf(deed.path) !== mountOf(deed.to)) return false;
      return at(deed.path, ({ tree, inward, told }, inner) =>
        tree.wasMade(
          deed.kind === 'renamed' ? { ...deed, path: inner, to: inward(deed.to) } : { ...deed, path: inner },
          told(options),
        ),
      );
    },
  };
}

function placeBelow(at: MemoryPath, tree: Tree): MountPlace {
  const outward: MountPlace['outward'] = (path) => rebase(path, MEMORY_ROOT, at);
  const toldTouch = (touch: Touch): Touch => {
    const path = outward(touch.path as MemoryPath);
    return touch.kind === 'renamed'
      ? { ...touch, path, to: outward(touch.to as MemoryPath) }
      : { ...touch, path };
  };
  return {
    tree,
    inward: (path) => rebase(path, at, MEMORY_ROOT),
    outward,
    told({ onTouch, ...options } = {}) {
      return onTouch === undefined ? options : { ...options, onTouch: (touch) => onTouch(toldTouch(touch)) };
    },
  };
}

function refuseMount(path: MemoryPath, places: ReadonlyMap<MemoryPath, MountPlace>): void {
  if (!places.has(path)) return;
  throw new MemoryError('invalid_command', 'A mounted memory can be neither deleted nor renamed.', {
    details: { reason: 'mount' },
  });
}

function outwardEntry(entry: ListedEntry, outward: MountPlace['outward']): ListedEntry {
  return { ...entry, path: outward(entry.path) };
}

function outwardWalked(entry: WalkedEntry, outward: MountPlace['outward']): WalkedEntry {
  return 'directory' in entry ? { directory: outward(entry.directory) } : outwardEntry(entry, outward);
}

function outwardListing(listing: DirectoryListing, outward: MountPlace['outward']): DirectoryListing {
  return { ...listing, files: listing.files.map((entry) => outwardEntry(entry, outward)) };
}

function outwardError(error: unknown, { outward }: MountPlace): unknown {
  if (!(error instanceof MemoryError)) return error;
  const { code, message, retry, cause, details } = error;
  const { paths } = details;
  const below = outward(MEMORY_ROOT);
  const told: Record<string, ErrorDetails[string]> = {};
  if (Array.isArray(paths)) told['paths'] = paths.map((path) => outward(path as MemoryPath));
  // The error says whose limit it is: only files in that mount make room for it, and segments count from there.
  const isLimit = code === 'limit_exceeded' || details['rule'] === 'too_many_segments';
  if (isLimit && below !== MEMORY_ROOT) told['below'] = below;
  if (Object.keys(told).length === 0) return error;
  return new MemoryError(code, message, { retry, cause, details: { ...details, ...told } });
}
