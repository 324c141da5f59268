import type { Move } from './moves.ts';
import type { Past, Version, VersionId } from './versions.ts';

/** A time, a step within it, and how many versions went before. */
export type Order = readonly [time: number, step: 0 | 1, depth: number];

export function compareOrders(a: Order, b: Order): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

/** No version is older than the one that it replaced. */
export function createOrder({ versions }: Past): (version: Version) => Order {
  const known = new Map<VersionId, Order>();
  return (version) => {
    const chain: Version[] = [];
    const seen = new Set<VersionId>();
    for (let at: Version | undefined = version; at !== undefined && !known.has(at.id); ) {
      if (seen.has(at.id)) break;
      seen.add(at.id);
      chain.push(at);
      at = at.previous === undefined ? undefined : versions.get(at.previous);
    }
    for (const each of chain.reverse()) {
      const before = each.previous === undefined ? undefined : known.get(each.previous);
      const [time, , depth] = before ?? [0, 0, 0];
      known.set(each.id, [Math.max(time, each.mtime), 0, depth + 1]);
    }
    return known.get(version.id) ?? [version.mtime, 0, 0];
  };
}

export function movedOrder(
  { versions }: Past,
  { version, at }: Move,
  order: (version: Version) => Order,
): Order {
  const moved = versions.get(version);
  const [time, , depth] = moved === undefined ? [at, 0, 0] : order(moved);
  return [Math.max(time, at), 1, depth];
}
