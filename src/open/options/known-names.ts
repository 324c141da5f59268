import { misconfigured } from '../../errors.ts';

/**
 * The most letters in which two names may differ to be taken for the same, or a third of the name's letters if that is
 * fewer.
 */
const MOST_EDITS = 4;

/** Former names of options by what they are called now: a profile is a section of the configuration file alone. */
const RENAMED: ReadonlyMap<string, string> = new Map([['profile', 'wording']]);
const VARIABLE = /^(SEALED_MEMORY_)(.+)$/;

/**
 * Refuses names that are not known. `what` says what the names are, as in "an option"; where no known name is near, the
 * error lists `listed`.
 *
 * @throws MemoryError `misconfigured` for the first name that is not known; it names the nearest known one.
 */
export function refuseUnknownNames(
  names: readonly string[],
  {
    known,
    listed = [...known],
    what,
  }: { readonly known: ReadonlySet<string>; readonly listed?: readonly string[]; readonly what: string },
): void {
  const unknown = names.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw misconfigured(`${unknown} is not ${what}. ${adviceFor(unknown, { known, listed })}`);
}

/**
 * Makes the sentence that names the known name nearest to an unknown one; where none is near, those that are `listed`.
 */
export function adviceFor(
  unknown: string,
  { known, listed = [...known] }: { readonly known: Iterable<string>; readonly listed?: readonly string[] },
): string {
  const renamed = newNameOf(unknown);
  if (renamed !== undefined && [...known].includes(renamed)) return `It is called ${renamed} now.`;
  const nearest = nearestOf(unknown, known);
  return nearest === undefined ? `Known are ${listed.join(', ')}.` : `Did you mean ${nearest}?`;
}

/** Finds what an option or its variable is called now; undefined for one that was not renamed. */
function newNameOf(name: string): string | undefined {
  const [, prefix, rest = ''] = VARIABLE.exec(name) ?? [];
  if (prefix === undefined) return RENAMED.get(name);
  const renamed = RENAMED.get(rest.toLowerCase());
  return renamed === undefined ? undefined : prefix + renamed.toUpperCase();
}

/** Finds the known name that is nearest to `name`; undefined where none is near. */
export function nearestOf(name: string, known: Iterable<string>): string | undefined {
  const most = Math.min(MOST_EDITS, Math.floor(name.length / 3));
  const near = [...known]
    .map((each) => ({ each, edits: editsBetween(name.toLowerCase(), each.toLowerCase()) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits);
  return near[0]?.each;
}

/** Counts the letters that must be put in, taken out or replaced to make one text of the other. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    let diagonal = row[0] ?? 0;
    row = row.reduce<number[]>((next, above, j) => {
      const left = next[j - 1];
      next.push(
        left === undefined ? i + 1 : Math.min(above, left, diagonal - (letter === b[j - 1] ? 1 : 0)) + 1,
      );
      diagonal = above;
      return next;
    }, []);
  }
  return row[b.length] ?? a.length;
}
