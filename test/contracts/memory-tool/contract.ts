import { describe } from 'vitest';
import type { CheckedMemory, OpenDriver } from './driver.ts';

/**
 * The part of the setting on which the outcome of a case may depend:
 * `language` on nothing but the tool's own code, so that one setting decides for all;
 * `store` on the object store, so that every store must show it;
 * `names` on how names are stored, so that every name mode must show it, on every store;
 * `entry` on the way in, be it the library or `exec --jsonl`.
 */
export type Part = 'language' | 'store' | 'names' | 'entry';

/** The setting of one run of the contract. */
export interface Contract {
  /** One memory for all cases, empty at the start of each. */
  readonly memory: CheckedMemory;
  readonly open: OpenDriver;
  /** The parts that the setting shows. */
  readonly shown: readonly Part[];
  /** `describe` for cases that depend on one of these parts; does nothing where the setting shows none of them. */
  readonly about: (...parts: readonly Part[]) => (title: string, body: () => void) => void;
  readonly names: 'encrypted' | 'plain';
  /** Drivers of one tenant see the same files. */
  readonly shared: boolean;
  /** Files of a large directory. */
  readonly manyFiles: number;
}

/** Tells whether a setting that shows `shown` shows any of the `parts`. */
export function shows(shown: readonly Part[], parts: readonly Part[]): boolean {
  return parts.some((part) => shown.includes(part));
}

/** Picks the cases of a setting that shows these parts. */
export function casesAbout(shown: readonly Part[]): Contract['about'] {
  return (...parts) =>
    (title, body) => {
      if (shows(shown, parts)) describe(title, body);
    };
}
