import type { Past, Version, VersionId } from './versions.ts';

/**
 * A version and what went before it, the newest first, as far as the history knows it; nothing from the first on that
 * `isPassed` names.
 */
export function chainOf(
  { versions }: Pick<Past, 'versions'>,
  newest: Version,
  isPassed: (id: VersionId) => boolean = () => false,
): readonly Version[] {
  const chain = new Set<Version>();
  for (let at: Version | undefined = newest; at !== undefined && !isPassed(at.id) && !chain.has(at); ) {
    chain.add(at);
    at = at.previous === undefined ? undefined : versions.get(at.previous);
  }
  return [...chain];
}
