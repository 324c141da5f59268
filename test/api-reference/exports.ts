import { readFileSync } from 'node:fs';
import { parseAst } from 'vitest/node';
import manifest from '../../package.json' with { type: 'json' };
import { sourcesOfEntryPoints } from '../runner/entry-points.ts';

interface Declared {
  readonly type: string;
  readonly id?: { readonly name: string };
  readonly declarations?: readonly { readonly id: { readonly name: string } }[];
}
interface Statement {
  readonly type: string;
  readonly declaration?: Declared | null;
  readonly specifiers?: readonly { readonly exported: { readonly name: string } }[];
}

/** The names that each entry point exports, types as well, by its subpath; a star counts as the name `*`. */
export function exportsOfEntryPoints(): Readonly<Record<string, readonly string[]>> {
  const exported = sourcesOfEntryPoints().map(([name, source]) => {
    const { body } = parseAst(readFileSync(source, 'utf8'), { lang: 'ts' });
    const names = (body as unknown as readonly Statement[]).flatMap(namesOf);
    return [name.replace(manifest.name, '.'), [...new Set(names)]] as const;
  });
  return Object.fromEntries(exported);
}

function namesOf({ type, declaration, specifiers = [] }: Statement): readonly string[] {
  if (type === 'ExportAllDeclaration') return ['*'];
  if (type !== 'ExportNamedDeclaration') return [];
  const declared = declaration?.id ? [declaration.id] : (declaration?.declarations ?? []).map(({ id }) => id);
  return [...declared, ...specifiers.map((specifier) => specifier.exported)].map(({ name }) => name);
}
