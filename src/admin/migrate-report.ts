import type { Progress } from '../tree/session.ts';
import type { MigrationPass, MigrationProblem } from './migrate-pass.ts';

export interface MigrationProgress extends Progress {
  /** From 1. */
  readonly pass: number;
  /** Nothing happens before that: milliseconds since the epoch, by this machine's clock. */
  readonly waitingUntil?: number;
}

export interface KeyVersionUse {
  readonly version: number;
  readonly active: boolean;
  /** Objects that stand under it. */
  readonly objects: number;
}

export interface MigrationReport {
  readonly passes: number;
  /** Objects that the last pass looked at. */
  readonly objects: number;
  /** Objects brought under the active key, by all passes. */
  readonly rebound: number;
  /** Times that somebody else wrote an object first. */
  readonly skipped: number;
  /** Objects that the last pass left alone, because a rename or a turn is at work with them. */
  readonly busy: number;
  /** Objects that the last pass left to the next one, because they were written less than a minute before. */
  readonly young: number;
  readonly problems: readonly MigrationProblem[];
  /** The keys that the keyring holds at the end, with what the last pass left under them. */
  readonly versions: readonly KeyVersionUse[];
  readonly retired: readonly number[];
  /** Old versions that stay until the damaged or too large objects among the problems are mended or removed. */
  readonly blocked: readonly number[];
  /**
   * Undefined when no old key is left; otherwise a migration that begins from then on can retire what is left, unless it
   * is blocked: milliseconds since the epoch, by the server's clock.
   */
  readonly retireAfter: number | undefined;
}

export function reportOf(
  pass: MigrationPass,
  rest: Pick<MigrationReport, 'passes' | 'rebound' | 'skipped' | 'retired' | 'blocked' | 'retireAfter'> & {
    readonly active: number;
    readonly old: readonly number[];
  },
): MigrationReport {
  const { active, old, ...facts } = rest;
  const { objects, busy, young, problems, left } = pass;
  const versions = [...old, active].map((version) => ({
    version,
    active: version === active,
    objects: left.get(version) ?? 0,
  }));
  return { ...facts, objects, busy, young: young.length, problems, versions };
}

/** Of a tenant that has no keyring, and so nothing to migrate. */
export const NOTHING_TO_MIGRATE: MigrationReport = {
  ...{ passes: 0, objects: 0, rebound: 0, skipped: 0, busy: 0, young: 0 },
  ...{ problems: [], versions: [], retired: [], blocked: [], retireAfter: undefined },
};
