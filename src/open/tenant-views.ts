import { isDeepStrictEqual } from 'node:util';
import { MemoryError, misconfigured } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import {
  type AgeClocks,
  createAges,
  type Instant,
  inTime,
  once,
  type SharedWork,
  shareWork,
} from '../time.ts';
import { refuseUnknownNames } from './options/known-names.ts';
import { judge, type Rule } from './options/option-table.ts';
import type { MemoryOptions, TenantSettings, TenantSource } from './options/options.ts';
import { type MountPoint, readMounts, readSettings, type Settings } from './options/settings.ts';

/** The settings of the turns of one tenant. */
export type OwnTurn = Pick<TenantSettings, 'model' | 'system' | 'maxTokens' | 'effort' | 'tokensPerDay'>;

/** The options as they are for one tenant. An answer that changed makes another one. */
export interface TenantView {
  readonly settings: Settings;
  readonly points: readonly MountPoint[];
  readonly turn: OwnTurn;
  /** The answer from which it was made; undefined: the tenant has no settings of its own. */
  readonly given: TenantSettings | undefined;
}

/** The view of one tenant, as it is now. */
export interface CurrentView {
  /**
   * Answers the view, from the last answer within its time to live; then, and from its last fifth on beside the answer,
   * it asks again. Calls at the same time share one question.
   *
   * @throws MemoryError `misconfigured` for settings that are malformed; `unavailable` where they cannot be read.
   */
  of(signal?: AbortSignal): Promise<TenantView>;
}

/** The time for which an answer counts, in milliseconds. */
const TTL_MS = 300_000;
/** The part of that time after which it is asked again beside the answer. */
const AHEAD_TTLS = 4 / 5;
/** The time for which a failure is remembered, in milliseconds: of many calls at once one asks. */
const FAILURE_MS = 1_000;

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
const OF_TENANT: ReadonlySet<string> = new Set<keyof TenantSettings>([
  ...OF_MEMORY,
  'expires',
  ...(Object.keys(TURN_RULES) as (keyof OwnTurn)[]),
]);

/** Makes the function that gives a tenant its view. Without `tenants` in the options all have the same one. */
export function openViews(
  options: Partial<MemoryOptions>,
  shared: Pick<TenantView, 'settings' | 'points'>,
  clocks: AgeClocks = { clock: Date.now, monotonic: () => performance.now() },
): (tenant: TenantId) => CurrentView {
  const { tenants: source, ...own } = options;
  const common: TenantView = { ...shared, turn: {}, given: undefined };
  if (source === undefined) return () => ({ of: async () => common });
  const judged = (tenant: TenantId, given: unknown): TenantView =>
    given === undefined ? common : judgeOwn(tenant, given, own);
  const asked = typeof source === 'string' ? sourceAt(source) : source;
  return (tenant) => watchView(tenant, { source: asked, judged, clocks });
}

/** Makes the source that a text stands for, which the first question loads. */
function sourceAt(text: string): TenantSource {
  const load = once(async () =>
    (await import('./tenant-file.ts')).openTenantFile(text.slice('file:'.length)),
  );
  return async (...asked) => (await load())(...asked);
}

function watchView(
  tenant: TenantId,
  {
    source,
    judged,
    clocks,
  }: {
    readonly source: TenantSource;
    readonly judged: (tenant: TenantId, given: unknown) => TenantView;
    readonly clocks: AgeClocks;
  },
): CurrentView {
  const { now, isWithin } = createAges(clocks);
  let last: { readonly view: TenantView; readonly since: Instant } | undefined;
  let failure: { readonly error: MemoryError; readonly since: Instant } | undefined;
  let running: SharedWork<TenantView> | undefined;

  const ask = async (signal: AbortSignal): Promise<TenantView> => {
    const since = now();
    try {
      const late = (): MemoryError => unreadable(tenant);
      const given = await inTime(() => source(tenant, { signal }), { signal, late });
      const isSame = last !== undefined && isDeepStrictEqual(given, last.view.given);
      const view = isSame && last !== undefined ? last.view : judged(tenant, given);
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
 * Judges the settings of one tenant, as options are judged.
 *
 * @throws MemoryError `misconfigured` that names the setting and the tenant, never the value.
 */
function judgeOwn(tenant: TenantId, given: unknown, options: Partial<MemoryOptions>): TenantView {
  const nameOf = (option: string): string => `${option} in the settings of tenant ${tenant}`;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw misconfigured(`The settings of tenant ${tenant} are no object.`);
  }
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  refuseUnknownNames(Object.keys(own), { known: OF_TENANT, what: `a setting of a tenant (${tenant})` });
  const { expires } = own;
  if (expires !== undefined && expires !== false) throw misconfigured(`${nameOf('expires')} must be false.`);
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
  return { settings, points, turn, given: given as TenantSettings };
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
