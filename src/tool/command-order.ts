import { ancestorsOf, inNfc, isWithin, MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import { untilAborted } from '../time.ts';

/**
 * A path that a command touches, with everything below it. Edits of one path may run together, because the tree queues
 * them itself; all other commands that overlap wait, unless both only read.
 */
export interface Claim {
  readonly path: MemoryPath;
  readonly mode: 'read' | 'edit' | 'write';
}

export interface CommandOrder {
  /**
   * Runs `action` once every earlier call that overlaps one of `claims` has ended, well or badly. Two claims
   * overlap when one path is the other or lies below it and at least one of them writes. The place in the order
   * is taken at the call itself, so commands on overlapping paths take effect as they were called; unrelated ones
   * run at once. Rejects with `aborted` when `signal` fires before the turn comes, or has fired before the call.
   */
  run<T>(claims: readonly Claim[], action: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Resolves when all earlier calls have ended. */
  idle(): Promise<void>;
}

interface OrderedCommand {
  readonly claims: readonly Claim[];
  readonly begun: Promise<void>;
  readonly ended: Promise<void>;
}

export function createCommandOrder(): CommandOrder {
  const entries = createEntries();

  return {
    async run(given, action, signal) {
      const claims = given.map(claimInNfc);
      const earlier = [...entries.near(claims)].map((entry) => waitOn(entry, claims));
      const turn = Promise.all(earlier);
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const entry: OrderedCommand = { claims, begun, ended };
      entries.add(entry);
      try {
        await untilAborted(turn, signal);
        const running = action();
        begin();
        return await running;
      } finally {
        // A cancelled call keeps its place until its turn, so that those after it still wait for those before it.
        void turn.then(() => {
          entries.delete(entry);
          begin();
          end();
        });
      }
    },
    async idle() {
      await Promise.all([...entries.all].map((entry) => entry.ended));
    },
  };
}

/**
 * Puts a claim's path into NFC: all forms of one name are one place in the order. Only a request tells which of them an
 * edit means, so in another form it claims the path as a write does, which keeps all others waiting.
 */
function claimInNfc({ path: given, mode }: Claim): Claim {
  const path = inNfc(given);
  return path === given || mode === 'read' ? { path, mode } : { path, mode: 'write' };
}

interface Entries {
  readonly all: ReadonlySet<OrderedCommand>;
  add(entry: OrderedCommand): void;
  delete(entry: OrderedCommand): void;
  /** Finds the entries with a claim on one of these paths, or above or below one: only these can overlap. */
  near(claims: readonly Claim[]): ReadonlySet<OrderedCommand>;
}

/** Makes an index of the entries by their paths, which spares comparing thousands of calls on paths of their own. */
function createEntries(): Entries {
  const all = new Set<OrderedCommand>();
  const at = new Map<MemoryPath, Set<OrderedCommand>>();
  /** Entries by their paths, and by each directory above them. */
  const within = new Map<MemoryPath, Set<OrderedCommand>>();
  return {
    all,
    add(entry) {
      all.add(entry);
      for (const { path } of entry.claims) {
        put(at, path, entry);
        for (const each of lineageOf(path)) put(within, each, entry);
      }
    },
    delete(entry) {
      all.delete(entry);
      for (const { path } of entry.claims) {
        take(at, path, entry);
        for (const each of lineageOf(path)) take(within, each, entry);
      }
    },
    near: (claims) =>
      new Set(
        claims.flatMap(({ path }) => [
          ...(within.get(path) ?? []),

          ...lineageOf(path).flatMap((each) => [...(at.get(each) ?? [])]),
        ]),
      ),
  };
}

function put(index: Map<MemoryPath, Set<OrderedCommand>>, path: MemoryPath, entry: OrderedCommand): void {
  const known = index.get(path);
  if (known === undefined) index.set(path, new Set([entry]));
  else known.add(entry);
}

function take(index: Map<MemoryPath, Set<OrderedCommand>>, path: MemoryPath, entry: OrderedCommand): void {
  const known = index.get(path);
  known?.delete(entry);
  if (known?.size === 0) index.delete(path);
}

/** Lists the path and every directory above it. */
function lineageOf(path: MemoryPath): readonly MemoryPath[] {
  return path === MEMORY_ROOT ? [path] : [MEMORY_ROOT, ...ancestorsOf(path), path];
}

/**
 * Answers a promise that resolves when a call with `claims` may pass the earlier one; undefined where the two do not
 * overlap.
 */
function waitOn(earlier: OrderedCommand, claims: readonly Claim[]): Promise<void> | undefined {
  const pairs = earlier.claims.flatMap((a) => claims.map((b) => [a, b] as const)).filter(overlap);
  if (pairs.length === 0) return undefined;
  const onlyEdits = pairs.every(([a, b]) => a.mode === 'edit' && b.mode === 'edit' && a.path === b.path);
  return onlyEdits ? earlier.begun : earlier.ended;
}

function overlap([a, b]: readonly [Claim, Claim]): boolean {
  if (a.mode === 'read' && b.mode === 'read') return false;
  return a.path === b.path || isWithin(a.path, b.path) || isWithin(b.path, a.path);
}
