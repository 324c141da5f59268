import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { parseAst } from 'vitest/node';

export interface Import {
  /** The module as written: `./path.ts`, `node:fs`, `p-limit`. */
  readonly from: string;
  /** True when nothing of it remains at run time. */
  readonly typeOnly: boolean;
  /** Imported names; `*` for a namespace, a re-export of everything or a dynamic import. */
  readonly names: readonly string[];
}

export interface SourceFile {
  readonly imports: readonly Import[];
  /** Names used as plain identifiers or as `object.property`: `Buffer`, `Math.random`, `process.env`. */
  readonly uses: ReadonlySet<string>;
  /** Names of the interfaces and type aliases that it declares. */
  readonly types: readonly string[];
}

export interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

const DECLARES_TYPE: ReadonlySet<string> = new Set(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration']);

/** Parses the imports, mentions and declarations of a TypeScript module. Throws on a syntax error. */
export function parseSource(text: string, lang: 'ts' | 'tsx' = 'ts'): SourceFile {
  const imports: Import[] = [];
  const uses = new Set<string>();
  const types: string[] = [];
  visit(parseAst(text, { lang }), (node) => {
    const found = importOf(node);
    if (found) imports.push(found);
    if (DECLARES_TYPE.has(node.type)) types.push(String((node['id'] as Node)['name']));
    if (node.type === 'Identifier') uses.add(String(node['name']));
    const member = memberName(node);
    if (member) uses.add(member);
  });
  return { imports, uses, types };
}

export function readSource(path: string): SourceFile {
  return parseSource(readFileSync(path, 'utf8'), path.endsWith('x') ? 'tsx' : 'ts');
}

/**
 * Resolves the path of a relative import, seen from the same root as `importer`; a built file stands for its source.
 */
export function resolveImport(importer: string, from: string): string {
  return posix.join(posix.dirname(importer), from).replace(/\.js$/, '.ts');
}

/** Names the package of a bare import: `@scope/name/deep` → `@scope/name`. */
export function packageOf(from: string): string {
  const parts = from.split('/');
  return parts.slice(0, from.startsWith('@') ? 2 : 1).join('/');
}

function importOf(node: Node): Import | undefined {
  const from = textOf(node['source']);
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration': {
      if (from === undefined) return undefined;
      const specifiers = (node['specifiers'] ?? []) as readonly Node[];
      const isType = (part: Node) => part['importKind'] === 'type' || part['exportKind'] === 'type';
      // `import {} from 'x'` and `import 'x'` run the module, so an empty list is no type import.
      const typeOnly = isType(node) || (specifiers.length > 0 && specifiers.every(isType));
      return { from, typeOnly, names: specifiers.map(importedName) };
    }
    case 'ExportAllDeclaration':
      return from === undefined ? undefined : { from, typeOnly: node['exportKind'] === 'type', names: ['*'] };
    case 'ImportExpression':
      return { from: from ?? '(computed)', typeOnly: false, names: ['*'] };
    case 'CallExpression': {
      const callee = node['callee'] as Node;
      if (callee.type !== 'Identifier' || callee['name'] !== 'require') return undefined;
      const [argument] = node['arguments'] as readonly Node[];
      return { from: textOf(argument) ?? '(computed)', typeOnly: false, names: ['*'] };
    }
    case 'TSImportType':
      return { from: from ?? '(computed)', typeOnly: true, names: ['*'] };
    default:
      return undefined;
  }
}

function importedName(specifier: Node): string {
  const named = (specifier['imported'] ?? specifier['local']) as Node | undefined;
  return specifier.type === 'ImportNamespaceSpecifier' ? '*' : String(named?.['name'] ?? named?.['value']);
}

function memberName(node: Node): string | undefined {
  if (node.type !== 'MemberExpression') return undefined;
  const object = node['object'] as Node;
  const property = node['property'] as Node;
  if (object.type !== 'Identifier') return undefined;
  const name = node['computed'] ? textOf(property) : property['name'];
  return name === undefined ? undefined : `${String(object['name'])}.${String(name)}`;
}

function textOf(node: unknown): string | undefined {
  const value = (node as Node | null | undefined)?.['value'];
  return typeof value === 'string' ? value : undefined;
}

/** Walks every node but skips names that are only labels: `x.Date`, `{ Date: 1 }`, an interface's `Date`. */
export function visit(node: unknown, see: (node: Node) => void): void {
  if (Array.isArray(node)) {
    for (const item of node) visit(item, see);
    return;
  }
  if (typeof node !== 'object' || node === null || !('type' in node)) return;
  const current = node as Node;
  see(current);
  for (const [field, child] of Object.entries(current)) {
    const isLabel = (field === 'property' || field === 'key') && !current['computed'];
    if (!isLabel) visit(child, see);
  }
}
