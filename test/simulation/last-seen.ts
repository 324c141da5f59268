import { MemoryError } from '../../src/errors.ts';
import type { SightingOrder, Sightings, VersionIdentity } from '../../src/tree/sightings.ts';

/**
 * Makes sightings by the rule that one would think of first, which is wrong: a version that was seen before, and is not
 * the one seen last, is old.
 */
export function createLastSeenSightings(): Sightings {
  const seen = new Map<string, Set<VersionIdentity>>();
  const last = new Map<string, VersionIdentity | undefined>();

  const note: Sightings['wrote'] = ({ key, version }) => {
    const versions = seen.get(key) ?? new Set();
    seen.set(key, versions.add(version));
    last.set(key, version);
  };

  return {
    begin: () => 0 as SightingOrder,
    isSuperseded: () => false,
    saw(sighting) {
      const { key, version } = sighting;
      if (last.get(key) !== version && seen.get(key)?.has(version)) {
        throw new MemoryError('integrity', 'an older version of an object was put back in its place');
      }
      note(sighting);
    },
    wrote: note,
    sawNothing: ({ key }) => last.set(key, undefined),
    knowsOther: () => false,
    noteStays: () => {},
    stays: () => false,
  };
}
