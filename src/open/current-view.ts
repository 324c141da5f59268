import type { TenantSettings } from './options/options.ts';
import type { MountPoint, Settings } from './options/settings.ts';

/** The settings of the turns of one tenant. */
export type OwnTurn = Pick<TenantSettings, 'model' | 'system' | 'maxTokens' | 'effort' | 'tokensPerDay'>;

/** The options as they are for one tenant. An answer that changed makes another one. */
export interface TenantView {
  readonly settings: Settings;
  readonly points: readonly MountPoint[];
  readonly turn: OwnTurn;
  /** The same object for as long as the root keys stay. */
  readonly keys: object;
  /** The answer from which it was made; undefined: the tenant has no settings of its own. */
  readonly given: TenantSettings | undefined;
}

/** The view of one tenant, as it is now. */
export interface CurrentView {
  /**
   * Answers the view, from the last answer within its time to live; after that it asks again, and in the last fifth
   * already it asks in the background. Calls at the same time share one question.
   *
   * @throws MemoryError `misconfigured` for settings that are malformed; `unavailable` where they cannot be read.
   */
  of(signal?: AbortSignal): Promise<TenantView>;
}
