import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Plugin } from 'vitest/config';
import { SEEDED_BUGS } from './catalogue.ts';
import type { SeededBug } from './seeded-bug.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COLLECTED = resolve(import.meta.dirname, 'collected-tests.ts');
const QUERY = /\?planted=([\w-]+)$/;
const IMPORTED = /^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';|import\('([^']+)'\)/gms;

/** Answers the path under which a module is found with a bug planted in what it imports. */
export function withBug(path: string, { name }: Pick<SeededBug, 'name'>): string {
  return `${path}?planted=${slugOf(name)}`;
}

/** Names no bug: a suite is collected, and its code is as it is. */
export const NO_BUG = { name: 'nothing' } as const;

function slugOf(name: string): string {
  return name.replace(/\W+/g, '-');
}

/**
 * Gives a module whose name ends with `?planted=…` a copy of its own of whatever it imports that imports, be it through
 * other files, the file of the bug. In that copy the text of the bug stands in place of the text that is replaced, and
 * what test files take from `vitest` collects their tests for the caller.
 */
export function plantBugs(): Plugin {
  const imports = new Map<string, readonly string[]>();
  const reached = new Map<string, boolean>();
  const importsOf = (file: string): readonly string[] => {
    const known = imports.get(file);
    if (known !== undefined) return known;
    const names = existsSync(file)
      ? [...readFileSync(file, 'utf8').matchAll(IMPORTED)].map(([, one, other]) => one ?? other ?? '')
      : [];
    const found = names.map((name) => (name.startsWith('.') ? resolve(dirname(file), name) : name));
    imports.set(file, found);
    return found;
  };
  /** Tells whether the file is, or imports, one of the targets. */
  const reaches = (file: string, targets: readonly string[], seen = new Set<string>()): boolean => {
    if (targets.includes(file)) return true;
    const key = `${file} ${targets.join(' ')}`;
    const known = reached.get(key);
    if (known !== undefined || seen.has(file)) return known ?? false;
    seen.add(file);
    const answer = importsOf(file).some((each) => reaches(each, targets, seen));
    // A look that a ring of imports has cut short says nothing of the others in that ring.
    if (answer || seen.values().next().value === file) reached.set(key, answer);
    return answer;
  };
  const textOf = (slug: string | undefined) => {
    const planted = SEEDED_BUGS.find(({ name }) => slugOf(name) === slug)?.planted;
    return planted === undefined || planted === 'seam' ? undefined : planted;
  };
  return {
    name: 'seeded bugs',
    enforce: 'pre',
    async resolveId(source, importer, options) {
      const slug = importer?.match(QUERY)?.[1];
      if (importer === undefined || slug === undefined) return null;
      const file = importer.replace(QUERY, '');
      if (source === 'vitest' && file !== COLLECTED) return `${COLLECTED}?planted=${slug}`;
      const found = await this.resolve(source, file, { ...options, skipSelf: true });
      if (found === null || found.external || !found.id.startsWith(ROOT)) return found;
      const text = textOf(slug);
      const targets = ['vitest', ...(text === undefined ? [] : [resolve(ROOT, text.file)])];
      return reaches(found.id, targets) ? `${found.id}?planted=${slug}` : found;
    },
    transform(code, id) {
      const text = textOf(id.match(QUERY)?.[1]);
      if (text === undefined || relative(ROOT, id.replace(QUERY, '')) !== text.file) return null;
      if (code.split(text.replaces).length !== 2)
        throw new Error(`${text.file} does not have this once: ${text.replaces}`);
      return code.replace(text.replaces, () => text.by);
    },
  };
}
