import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const CLIENT = 'src/page/client';
const paths = (pattern: string): readonly string[] => globSync(pattern, { cwd: CLIENT }).sort();
const read = (path: string): string => readFileSync(`${CLIENT}/${path}`, 'utf8');

/** The classes that each module gives to elements. */
const used = new Map(
  paths('**/*.tsx').map((path) => {
    const given = [...read(path).matchAll(/\bclass=(?:"([^"]*)"|\{([^}]*)\})/g)];
    const words = given.flatMap(
      ([, plain, code = '']) => plain ?? [...code.matchAll(/'([^']*)'/g)].map(([, word]) => word),
    );
    return [path, new Set(words.flatMap((word) => word?.split(' ') ?? []))];
  }),
);

/** The classes of each selector of a sheet. */
function selectorsOf(path: string): readonly (readonly string[])[] {
  const text = read(path).replaceAll(/\/\*.*?\*\/|"[^"]*"/gs, '');
  return [...text.matchAll(/([^{};]+)\{/g)]
    .flatMap(([, selectors = '']) => selectors.split(/,(?![^(]*\))/))
    .filter((selector) => !selector.trim().startsWith('@'))
    .map((selector) => [...selector.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name = '']) => name));
}

const sheets = paths('**/*.css').filter((path) => path !== 'page.css');
const usersOf = (name: string): readonly string[] =>
  [...used].filter(([, names]) => names.has(name)).map(([path]) => path);

describe('the sheets of the page', () => {
  it('are all joined, each once', () => {
    const joined = [...read('page.css').matchAll(/@import "\.\/([^"]+)";/g)].map(([, path]) => path ?? '');
    expect(joined.toSorted()).toEqual(sheets);
  });

  it('have a user for every class, and a rule for every class that is used', () => {
    const ruled = new Set(sheets.flatMap(selectorsOf).flat());
    const named = new Set([...used.values()].flatMap((names) => [...names]));
    expect([...ruled].filter((name) => !named.has(name))).toEqual([]);
    expect([...named].filter((name) => !ruled.has(name))).toEqual([]);
  });

  it.each(sheets)('%s is about the module beside it, or about what several have', (sheet) => {
    const module = sheet.replace(/css$/, 'tsx');
    const isOwn = (name: string): boolean =>
      existsSync(`${CLIENT}/${module}`) ? usersOf(name).includes(module) : usersOf(name).length > 1;
    const foreign = selectorsOf(sheet).filter((names) => names.length > 0 && !names.some(isOwn));
    expect(foreign).toEqual([]);
  });
});
