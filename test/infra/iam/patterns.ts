import type { Context } from './conditions.ts';

const VARIABLE = /\$\{([^}]*)\}/g;
const KNOWN_VARIABLE = /^aws:principaltag\/[\w-]+$/;

/**
 * The text with its variables replaced by what the request defines.
 *
 * @returns undefined when a variable is not defined.
 * @throws Error for a variable that the simulator does not know, one with several values, or a value that could act
 *   as a pattern (STS lets none of these into a tag).
 */
export function substitute(text: string, context: Context): string | undefined {
  let defined = true;
  const replaced = text.replace(VARIABLE, (_, name: string) => {
    const key = name.toLowerCase();
    if (!KNOWN_VARIABLE.test(key)) throw new Error(`unknown variable: ${name}`);
    const values = context.get(key);
    if (values === undefined) defined = false;
    if (values !== undefined && values.length !== 1) throw new Error(`${name} has several values`);
    const value = values?.[0] ?? '';
    if (/[*?$]/.test(value)) throw new Error(`the value of ${name} could act as a pattern`);
    return value;
  });
  return defined ? replaced : undefined;
}

/** IAM's wildcards: `*` is any text, slashes and colons included, `?` one character. */
export function matchesPattern(value: string, pattern: string): boolean {
  const source = [...pattern].map((character) => {
    if (character === '*') return '.*';
    if (character === '?') return '.';
    return character.replace(/[\\^$.|+()[\]{}/]/u, '\\$&');
  });
  return new RegExp(`^${source.join('')}$`, 'su').test(value);
}

/** As resources, but without regard to case. */
export function matchesAction(action: string, pattern: string): boolean {
  return matchesPattern(action.toLowerCase(), pattern.toLowerCase());
}
