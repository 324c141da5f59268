import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseAst } from 'vitest/node';
import { type Node, visit } from '../stage/source-file.ts';

/** A declaration file: what it declares, and where its other names come from. */
interface Declarations {
  readonly declared: ReadonlyMap<string, readonly Node[]>;
  readonly imported: ReadonlyMap<string, Source>;
  readonly exported: ReadonlyMap<string, Source>;
  /** Files whose exports are all passed on. */
  readonly passedOn: readonly string[];
}

interface Source {
  readonly from: string;
  readonly name: string;
}

/** A declaration of the package: the file below `dist`, and the name there. */
type Declaration = `${string}#${string}`;

/** The types that the signatures behind the package's entry points name. */
export interface NamedTypes {
  /** Declarations of the package that no entry point exports, each with one that names it. */
  readonly unexported: readonly string[];
  /** Packages whose types the given entry points name. */
  readonly packages: readonly string[];
}

/** @param entries declaration files below `dist`; types that any of `others` exports count as exported. */
export function namedTypes(
  dist: string,
  { entries, others = [] }: { readonly entries: readonly string[]; readonly others?: readonly string[] },
): NamedTypes {
  const files = new Map<string, Declarations>();
  const read = (file: string): Declarations => {
    const known = files.get(file) ?? declarationsOf(readFileSync(join(dist, file), 'utf8'));
    files.set(file, known);
    return known;
  };
  /** The declaration behind a name, the package that has it, or nothing for a name of the language. */
  const resolve = (
    file: string,
    name: string,
  ): { readonly at: Declaration } | { readonly package: string } | undefined => {
    const { declared, imported, exported } = read(file);
    if (declared.has(name)) return { at: `${file}#${name}` };
    const source = imported.get(name) ?? exported.get(name);
    if (source === undefined) return undefined;
    return source.from.startsWith('.')
      ? resolve(besides(file, source.from), source.name)
      : { package: source.from };
  };
  const exportsOf = (file: string): readonly Declaration[] => {
    const { exported, passedOn } = read(file);
    const own = [...exported.keys()].flatMap((name) => {
      const found = resolve(file, name);
      return found !== undefined && 'at' in found ? [found.at] : [];
    });
    return [...own, ...passedOn.flatMap((from) => exportsOf(besides(file, from)))];
  };

  const exported = new Set([...entries, ...others].flatMap(exportsOf));
  const unexported = new Map<string, string>();
  const packages = new Set<string>();
  for (const at of new Set(entries.flatMap(exportsOf))) {
    const [file = '', name = ''] = at.split('#');
    for (const node of read(file).declared.get(name) ?? []) {
      for (const used of typesIn(node)) {
        const found = resolve(file, used);
        if (found === undefined) continue;
        if ('package' in found) packages.add(found.package);
        else if (!exported.has(found.at)) unexported.set(found.at, name);
      }
    }
  }
  return {
    unexported: [...unexported].map(([at, by]) => `${at}, which ${by} names`).sort(),
    packages: [...packages].sort(),
  };
}

/** The declaration file that an import in `file` means. */
function besides(file: string, from: string): string {
  return normalize(join(dirname(file), from)).replace(/\.(js|ts)$/, '.d.ts');
}

function declarationsOf(text: string): Declarations {
  const declared = new Map<string, Node[]>();
  const imported = new Map<string, Source>();
  const exported = new Map<string, Source>();
  const passedOn: string[] = [];
  const declare = (node: Node, isExported: boolean): void => {
    const names = node.type === 'VariableDeclaration' ? nodes(node['declarations']) : [node];
    for (const { id } of names as readonly (Node & { readonly id: Node })[]) {
      const name = String(id['name']);
      declared.set(name, [...(declared.get(name) ?? []), node]);
      if (isExported) exported.set(name, { from: '.', name });
    }
  };
  for (const node of nodes((parseAst(text, { lang: 'dts' }) as unknown as Node)['body'])) {
    const from = node['source'] ? String((node['source'] as Node)['value']) : undefined;
    const specifiers = nodes(node['specifiers']);
    if (node.type === 'ImportDeclaration') {
      for (const each of specifiers)
        imported.set(nameOf(each, 'local'), { from: from ?? '', name: nameOf(each, 'imported') });
    } else if (node.type === 'ExportAllDeclaration') passedOn.push(from ?? '');
    else if (node.type !== 'ExportNamedDeclaration') {
      if ('id' in node || 'declarations' in node) declare(node, false);
    } else if (node['declaration']) declare(node['declaration'] as Node, true);
    else
      for (const each of specifiers)
        exported.set(nameOf(each, 'exported'), { from: from ?? '', name: nameOf(each, 'local') });
  }
  return { declared, imported, exported, passedOn };
}

/** Names that stand where a type stands. */
function typesIn(declaration: Node): ReadonlySet<string> {
  const found = new Set<string>();
  visit(declaration, (node) => {
    for (const field of ['typeName', 'exprName', 'expression']) {
      const named = node[field] as Node | undefined;
      if (named?.type === 'Identifier') found.add(String(named['name']));
    }
  });
  return found;
}

function nodes(field: unknown): readonly Node[] {
  return Array.isArray(field) ? field : [];
}

function nameOf(specifier: Node, field: string): string {
  return String((specifier[field] as Node | undefined)?.['name']);
}
