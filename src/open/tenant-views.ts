import { isDeepStrictEqual } from 'node:util';
import { hasCode, keyHolderOf, MemoryError, misconfigured } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import { heldByTenant } from '../keys/held-by-tenant.ts';
import { createAges, type Instant, inTime, once, type SharedWork, shareWork } from '../time.ts';
import type { CurrentView, OwnTurn, TenantView } from './current-view.ts';
import { refuseUnknownNames } from './options/known-names.ts';
import { judge, type Rule } from './options/option-table.ts';
import type { MemoryOptions, TenantSettings, TenantSource } from './options/options.ts';
import { type MountPoint, readMounts, readSettings } from './options/settings.ts';

/** The time for which an answer counts, in milliseconds. */
const TTL_MS = 300_000;
/** The part of that time after which a call asks again in the background. */
const AHEAD_TTLS = 4 / 5;
/** The time for which a failure is remembered, in milliseconds: of many calls at once one asks. */
const FAILURE_MS = 1_000;

/**
 * The codes with which a source may fail. Another code, such as one from a memory that the source itself reads, would
 * pass for an answer about the file that was asked for.
 */
const OF_SOURCE = ['unavailable', 'access_denied', 'misconfigured', 'integrity'] as const;

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];
const TEXT: Rule = { kind: 'text', check: refuseEmpty };
/** The rules of what `MemoryOptions` has no row for. */
const TURN_RULES: Readonly<Record<keyof OwnTurn, Rule>> = {
  model: TEXT,
  system: TEXT,
  maxTokens: { kind: 'number', least: 1, most: 1_000_000 },
  effort: { kind: 'choice', of: EFFORTS },
  tokensPerDay: { kind: 'number', least: 1, most: Number.MAX_SAFE_INTEGER },
};
const OF_MEMORY = [
  ...(['rootKey', 'readOnly', 'limits', 'policy', 'mounts', 'history', 'expireAfterDays'] as const),
] satisfies readonly (keyof TenantSettings)[];
/** The names of all settings. */
export const OF_TENANT: ReadonlySet<string> = new Set<keyof TenantSettings>([
  ...OF_MEMORY,
  'expires',
  ...(Object.keys(TURN_RULES) as (keyof OwnTurn)[]),
]);

/** Reads where the settings lie, of a text that was judged: the path of a file, or the name or ARN of a table. */
export function readSource(text: string): { readonly kind: 'file' | 'table'; readonly at: string } {
  const [kind = ''] = text.split(':', 1);
  return { kind: kind === 'file' ? 'file' : 'table', at: text.slice(kind.length + 1) };
}

/** Opens the source that the option names; for a text the first question loads it. */
export function openSource(given: TenantSource | string): TenantSource {
  if (typeof given !== 'string') return given;
  const { kind, at } = readSource(given);
  const load = once(async () =>
    kind === 'file'
      ? (await import('./tenant-file.ts')).openTenantFile(at)
      : (await import('./tenant-table.ts')).openTenantTable(at),
  );
  return async (...asked) => (await load())(...asked);
}

/** Watches the settings of one tenant: asks for them, judges them, and tells when they are others. */
export function watchView(
  tenant: TenantId,
  {
    source,
    common,
    options,
  }: {
    readonly source: TenantSource;
    /** The view of tenants without settings of their own. */
    readonly common: TenantView;
    /** The options of the pool. */
    readonly options: Partial<MemoryOptions>;
  },
): CurrentView {
  const { now, isWithin } = createAges({ clock: Date.now, monotonic: () => performance.now() });
  let last: { readonly view: TenantView; readonly since: Instant } | undefined;
  let failure: { readonly error: MemoryError; readonly since: Instant } | undefined;
  let running: SharedWork<TenantView> | undefined;

  const viewOf = (given: unknown): TenantView => {
    if (last !== undefined && isSame(given, last.view.given)) return last.view;
    const view = given === undefined ? common : ofHolder(judgeOwn(tenant, given, options), common);
    if (last === undefined || !isSame(view.given?.rootKey, last.view.given?.rootKey)) return view;
    // The same keys stay behind the same gate, with what it knows of their service, and on the same connections.
    const { keys, settings } = last.view;
    return { ...view, keys, settings: { ...view.settings, rootKeys: settings.rootKeys } };
  };
  const ask = async (signal: AbortSignal): Promise<TenantView> => {
    const since = now();
    try {
      const late = (): MemoryError => unreadable(tenant);
      const given = await inTime(() => source(tenant, { signal }), { signal, late }).catch(
        (cause: unknown) => {
          throw hasCode(cause, ...OF_SOURCE) && keyHolderOf(cause) === undefined
            ? cause
            : unreadable(tenant, cause instanceof MemoryError ? undefined : cause);
        },
      );
      const view = viewOf(given);
      last = { view, since };
      failure = undefined;
      return view;
    } catch (cause) {
      const error = cause instanceof MemoryError ? cause : unreadable(tenant, cause);
      if (!signal.aborted) failure = { error, since: now() };
      throw error;
    }
  };
  const start = (): SharedWork<TenantView> => {
    const shared = shareWork(ask);
    running = shared;
    void shared.ended.then(() => {
      if (running === shared) running = undefined;
    });
    return shared;
  };
  const current = (): SharedWork<TenantView> | undefined => (running?.abandoned ? undefined : running);
  const hasJustFailed = (): boolean => failure !== undefined && isWithin(failure.since, FAILURE_MS);

  return {
    async of(signal) {
      if (last !== undefined && isWithin(last.since, TTL_MS)) {
        const isDue = !isWithin(last.since, TTL_MS * AHEAD_TTLS);
        if (isDue && current() === undefined && !hasJustFailed())
          void start()
            .join()
            .catch(() => {});
        return last.view;
      }
      if (failure !== undefined && hasJustFailed()) throw failure.error;
      return (current() ?? start()).join(signal);
    },
  };
}

/**
 * Refuses the mounts of a tenant that say of another one that it does not expire, unless that one says so itself: an
 * expiry run asks each tenant's own settings alone.
 *
 * @param daysOf answers the days after which unused files of a tenant expire; undefined: they stay.
 * @throws MemoryError `misconfigured`.
 */
export async function refuseExpiring(
  tenant: string,
  points: readonly MountPoint[],
  daysOf: (mounted: TenantId) => Promise<number | undefined>,
): Promise<void> {
  for (const { tenant: mounted, expires } of points) {
    if (expires !== false || (await daysOf(mounted)) === undefined) continue;
    throw misconfigured(
      `${tenant} mounts ${mounted} with expires: false, and the settings of ${mounted} let its files expire: say expires: false there as well.`,
    );
  }
}

/**
 * Judges the settings of one tenant, as options are judged.
 *
 * @throws MemoryError `misconfigured` that names the setting and the tenant, never the value.
 */
export function judgeOwn(tenant: TenantId, given: unknown, options: Partial<MemoryOptions>): TenantView {
  const nameOf = (option: string): string => `${option} in the settings of tenant ${tenant}`;
  if (!isPlain(given))
    throw misconfigured(`The settings of tenant ${tenant} are no object such as JSON has.`);
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  refuseUnknownSettings(Object.keys(own), tenant);
  const { expires } = own;
  if (expires !== undefined && expires !== false)
    throw misconfigured(`${nameOf('expires')} must be false; leave it out where files expire.`);
  const turn = pick(own, Object.keys(TURN_RULES));
  for (const [name, value] of Object.entries(turn)) {
    judge(TURN_RULES[name as keyof OwnTurn], value, nameOf(name));
  }
  const merged: Partial<MemoryOptions> = {
    ...options,
    ...pick(own, OF_MEMORY),
    ...(expires === false && { expireAfterDays: undefined }),
  };
  const settings = readSettings(merged, nameOf);
  const points = readMounts(merged);
  const isOpen = own['mounts'] !== undefined && points.some((point) => point.expires === undefined);
  if (isOpen) {
    throw misconfigured(
      `Each of ${nameOf('mounts')} must say expires: true or false: a run of the expiry does not see them.`,
    );
  }
  return { settings, points, turn, keys: {}, given: given as TenantSettings };
}

/**
 * Marks the root keys of a tenant whose settings name some as held by him: nothing else tells whose a key is. Where they
 * name none, the tenant has the pool's, with their one gate and their connections.
 */
function ofHolder(view: TenantView, { settings: { rootKeys: common } }: TenantView): TenantView {
  const isHis = view.given?.rootKey !== undefined;
  const rootKeys = isHis ? heldByTenant(view.settings.rootKeys, common) : common;
  return { ...view, settings: { ...view.settings, rootKeys } };
}

/** Refuses names that are no settings. @throws MemoryError `misconfigured` that names the nearest one. */
export function refuseUnknownSettings(names: readonly string[], tenant: string): void {
  refuseUnknownNames(names, { known: OF_TENANT, what: `a setting of a tenant (${tenant})` });
}

/**
 * Tells whether an object has nothing but its own members: of another one, such as a `Map`, settings would be missed.
 */
function isPlain(given: unknown): given is object {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false;
  const parent: unknown = Object.getPrototypeOf(given);
  // Another realm has an `Object` of its own.
  return (
    parent === null ||
    (Object.getPrototypeOf(parent) === null && Object.hasOwn(Object(parent), 'isPrototypeOf'))
  );
}

/**
 * Tells whether two settings are the same. Lists, bytes and plain objects are compared by what is in them; of anything
 * else, such as a root key of a class of its own, only the same object is the same, as its state cannot be seen.
 */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (one instanceof Uint8Array) return isDeepStrictEqual(one, other);
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, index) => isSame(each, other[index]));
  if (!isPlain(one) || !isPlain(other)) return false;
  const [of, to] = [new Map(Object.entries(one)), new Map(Object.entries(other))];
  return [...of.keys(), ...to.keys()].every((name) => isSame(of.get(name), to.get(name)));
}

function pick(own: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(own, name)).map((name) => [name, own[name]]),
  );
}

function refuseEmpty(text: string, label: string): void {
  if (text === '') throw misconfigured(`${label} must not be empty.`);
}

function unreadable(tenant: TenantId, cause?: unknown): MemoryError {
  return new MemoryError('unavailable', `The settings of tenant ${tenant} could not be read.`, { cause });
}
