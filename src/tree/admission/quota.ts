import { hasCode, MemoryError } from '../../errors.ts';
import type { ObjectKey, TenantId } from '../../format/object-keys.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { createRecent } from '../../recent.ts';
import { type Ages, createAges, type Instant, type SharedWork, shareWork, untilAborted } from '../../time.ts';
import { listDirectory } from '../list-directory.ts';
import type { Quota, Room, Tenant, Work } from '../tenant.ts';

/** Limits of a tenant: files, and bytes of content in all of them together. */
export interface TenantLimits {
  readonly files?: number | undefined;
  readonly tenantBytes?: number | undefined;
}

/**
 * The amount that a tenant holds, as one process knows it: a listing, and what the process itself has changed since.
 */
export interface TenantUsage {
  total: Amount;
  /** The moment when the listing began; undefined before the first. */
  countedAt: Instant | undefined;
  counting: SharedWork<void> | undefined;
  /**
   * One map for each listing under way: the amounts that this process has certainly left at keys since that listing
   * began.
   */
  readonly listings: Set<Map<ObjectKey, Amount>>;
  /** The room of writes under way, which count as if they had landed. */
  readonly held: Set<HeldRoom>;
  /** Renames under way in this process: a listing could show their files at both places, or at neither. */
  readonly renames: Set<Promise<unknown>>;
}

interface HeldRoom {
  readonly key: ObjectKey;
  readonly amount: Amount;
}

interface Amount {
  readonly files: number;
  readonly bytes: number;
}

const COUNTED_FOR_MS = 60_000;
/** The most tenants whose counts this process keeps; it counts any other one again. */
const MOST_TENANTS = 100_000;
const NOTHING: Amount = { files: 0, bytes: 0 };

/** Creates the usage that all writers of the tenant in this process share. */
export function createTenantUsage(): TenantUsage {
  return {
    total: NOTHING,
    countedAt: undefined,
    counting: undefined,
    listings: new Set(),
    held: new Set(),
    renames: new Set(),
  };
}

const usages = createRecent<string, TenantUsage>({ most: MOST_TENANTS });
const stores = new WeakMap<object, number>();
let storeCount = 0;

/**
 * Opens the quota of a tenant for one of its memories. All memories of the process share what was counted of the tenant
 * and what they write.
 *
 * @param place equal for two ways to one store.
 */
export function openQuota(
  { place, tenant }: { readonly place: string | object; readonly tenant: TenantId },
  limits: TenantLimits,
  clocks: Pick<Tenant, 'clock' | 'monotonic'>,
): Quota {
  const name = `${nameOf(place)} ${tenant}`;
  const usage = usages.get(name) ?? createTenantUsage();
  usages.set(name, usage);
  return createQuota(usage, limits, clocks);
}

function nameOf(place: string | object): string {
  if (typeof place === 'string') return place;
  const number = stores.get(place) ?? ++storeCount;
  stores.set(place, number);
  return `store ${number}`;
}

/**
 * Holds a tenant to its limits. When something is to grow, a listing counts what the tenant holds, at most once a
 * minute; in between this process adds its own writes, each before it is sent, so that its writes never exceed a limit
 * together.
 */
export function createQuota(
  usage: TenantUsage,
  limits: TenantLimits,
  clocks: Pick<Tenant, 'clock' | 'monotonic'>,
): Quota {
  const ages = createAges(clocks);

  const open: Quota['open'] = (work, { key, replaced }) => {
    const before = amountOf(replaced);
    let held: HeldRoom | undefined;
    let taken = before;
    const room: Room = {
      async take(size) {
        const amount = { files: 1, bytes: Math.max(before.bytes, size) };
        const asks = (): Amount => minus(amount, held?.amount ?? before);
        if (isLimited(limits, asks())) await count(work, usage, ages);
        const refusal = refusalBeyond(limits, usage.total, asks());
        if (refusal !== undefined) throw refusal;
        usage.total = plus(usage.total, asks());
        if (held !== undefined) usage.held.delete(held);
        held = { key, amount };
        usage.held.add(held);
        taken = amountOf(size);
      },
      close(outcome) {
        if (held === undefined) return;
        const left = { written: taken, not_written: before, unknown: held.amount }[outcome];
        usage.total = plus(usage.total, minus(left, held.amount));
        usage.held.delete(held);
        held = undefined;
        for (const listing of usage.listings) listing.set(key, left);
      },
    };
    return room;
  };

  return {
    open,
    async within(work, { size, ...place }, write) {
      const room = open(work, place);
      await room.take(size);
      try {
        const result = await write();
        room.close(result === 'again' ? 'not_written' : 'written');
        return result;
      } catch (error) {
        room.close(hasCode(error, 'outcome_unknown') ? 'unknown' : 'not_written');
        throw error;
      }
    },
    async left(work) {
      await count(work, usage, ages);
      const { files = Number.POSITIVE_INFINITY, tenantBytes = Number.POSITIVE_INFINITY } = limits;
      return minus({ files, bytes: tenantBytes }, usage.total);
    },
    refusalOf: (size) => refusalBeyond(limits, NOTHING, amountOf(size)),
    freed(files) {
      for (const { key, size } of files) {
        usage.total = plus(usage.total, minus(NOTHING, amountOf(size)));
        for (const listing of usage.listings) listing.set(key, NOTHING);
      }
    },
    async beside(rename) {
      while (usage.counting !== undefined) await usage.counting.ended;
      const running = rename();
      usage.renames.add(running);
      try {
        return await running;
      } finally {
        usage.renames.delete(running);
      }
    },
  };
}

/**
 * Counts the tenant's files again when the last count is more than a minute old. No count runs while this process
 * renames.
 */
async function count(work: Work, usage: TenantUsage, ages: Ages): Promise<void> {
  const { signal } = work.call;
  while (usage.countedAt === undefined && usage.renames.size > 0) {
    await untilAborted(Promise.allSettled(usage.renames), signal);
  }
  const { countedAt } = usage;
  if (countedAt !== undefined && (usage.renames.size > 0 || ages.isWithin(countedAt, COUNTED_FOR_MS))) return;
  if (usage.counting === undefined || usage.counting.abandoned) {
    const since = ages.now();
    const counting = shareWork(async (shared) => {
      const total = await listAmount({ ...work, call: { signal: shared } }, usage).finally(() => {
        if (usage.counting === counting) usage.counting = undefined;
      });
      usage.total = total;
      usage.countedAt = since;
    });
    usage.counting = counting;
  }
  await usage.counting.join(signal);
}

/**
 * Counts the stored files by a listing. A key that this process changes meanwhile counts with the amount that the
 * process has left there, or the most that it may leave.
 */
async function listAmount(work: Work, usage: TenantUsage): Promise<Amount> {
  const changed = new Map<ObjectKey, Amount>();
  usage.listings.add(changed);
  try {
    const { files } = await listDirectory(work, MEMORY_ROOT, { concurrent: true });
    for (const { key } of usage.held) changed.set(key, NOTHING);
    const others = files.filter(({ key }) => !changed.has(key)).map(({ size }) => amountOf(size));
    return [...others, ...changed.values(), ...[...usage.held].map(({ amount }) => amount)].reduce(
      plus,
      NOTHING,
    );
  } finally {
    usage.listings.delete(changed);
  }
}

/** Names the limit, its number, and the number that there would be. */
function refusalBeyond(limits: TenantLimits, total: Amount, asked: Amount): MemoryError | undefined {
  const { files = Number.POSITIVE_INFINITY, tenantBytes = Number.POSITIVE_INFINITY } = limits;
  const next = plus(total, asked);
  if (asked.files > 0 && next.files > files) {
    return new MemoryError('limit_exceeded', 'The memory would hold more files than its limit.', {
      details: { limit: 'files', value: next.files, max: files },
    });
  }
  if (asked.bytes > 0 && next.bytes > tenantBytes) {
    return new MemoryError('limit_exceeded', 'The memory would hold more bytes than its limit.', {
      details: { limit: 'tenant_bytes', value: next.bytes, max: tenantBytes },
    });
  }
  return undefined;
}

function isLimited({ files, tenantBytes }: TenantLimits, asked: Amount): boolean {
  return (asked.files > 0 && files !== undefined) || (asked.bytes > 0 && tenantBytes !== undefined);
}

function amountOf(size: number | undefined): Amount {
  return size === undefined ? NOTHING : { files: 1, bytes: size };
}

function plus(a: Amount, b: Amount): Amount {
  return { files: a.files + b.files, bytes: a.bytes + b.bytes };
}

function minus(a: Amount, b: Amount): Amount {
  return { files: a.files - b.files, bytes: a.bytes - b.bytes };
}
