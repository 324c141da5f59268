import { amount } from '../runner/thorough.ts';
import type { Keeping } from './process.ts';
import type { Theme } from './workload.ts';

/**
 * The number of seeds of each theme that CI runs, on each class of store. Every seeded bug has to turn one of them red
 * in its theme.
 */
export const CI_SEEDS: Readonly<Record<Theme['name'], number>> = {
  'one file': 300,
  files: 100,
  clashes: 100,
  'edited clashes': 150,
  directories: 200,
  'moving directories': 100,
  'contested directories': 100,
  'clashing directories': 100,
  'busy readers': 60,
  'changing keys': 100,
  'edits under changing keys': 120,
};

/** Answers the number of seeds of this run. */
export function seedsOf(theme: Theme['name']): number {
  return amount({ usual: Math.ceil(CI_SEEDS[theme] / 8), thorough: CI_SEEDS[theme] });
}

/**
 * Answers the number of seeds of each theme that CI runs with a tenant that keeps history, and with one in which a
 * process takes back as well.
 */
export function keptSeedsOf(theme: Theme['name'], history: 'kept' | 'taken back'): number {
  if (history === 'taken back') return 12;
  return theme === 'one file' ? 40 : 16;
}

/** Draws when a tenant keeps history: every fourth one turns it on while processes work. */
export function keepingOf(seed: number): Keeping {
  return seed % 4 === 0 ? 'turned on' : 'always';
}
