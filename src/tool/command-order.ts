import { ancestorsOf, inNfc, isWithin, MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import { untilAborted } from '../time.ts';

/**
 * What a command touches: the path itself and everything below it. Edits of one path may run together, because the
 * tree queues them itself; all else that overlaps waits, unless both only read.
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
  /** Resolves when nothing that was called before is still running. */
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
      const earlier = [...entries.near(claims)].flatMap((entry) => waitOn(entry, claims) ?? []);
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
        // A cancelled call keeps its place until its turn, so that those behind it still wait for those before it.
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
 * Forms of one name are one place in the order. Which of them an edit means takes a request to find out, so that no other may
 * begin in between.
 */
function claimInNfc({ path: given, mode }: Claim): Claim {
  const path = inNfc(given);
  return path === given || mode === 'read' ? { path, mode } : { path, mode: 'write' };
}

interface Entries {
  readonly all: ReadonlySet<OrderedCommand>;
  add(entry: OrderedCommand): void;
  delete(entry: OrderedCommand): void;
  /** Those with a claim on one of these paths, on what is above it or on what is below: no others can overlap. */
  near(claims: readonly Claim[]): ReadonlySet<OrderedCommand>;
}

/** The entries by their paths: thousands of calls on paths of their own need not be compared with one another. */
function createEntries(): Entries {
  const all = new Set<OrderedCommand>();
  const at = new Map<MemoryPath, Set<OrderedCommand>>();
  /** By each directory above their paths, and by the paths. */
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

/** The path and every directory above it. */
function lineageOf(path: MemoryPath): readonly MemoryPath[] {
  return path === MEMORY_ROOT ? [path] : [MEMORY_ROOT, ...ancestorsOf(path), path];
}

/** Resolves when a call with `claims` may pass the earlier one. */
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
