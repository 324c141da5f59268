import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import type { Plugin } from 'esbuild';

/**
 * Loads what Node has at its first use instead of at the start. `node:https`, which brings all of TLS with it, takes as
 * long as an empty process, and `import` would read every name of `node:http`, and so load its WebSocket.
 */
export const builtinsAtFirstUse: Plugin = {
  name: 'builtins at first use',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?[a-z_/0-9]+$/ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({ contents: lazyExports(path) }));
  },
};

function lazyExports(builtin: string): string {
  const names = Object.keys(process.getBuiltinModule(builtin) ?? {});
  return `
const load = () => process.getBuiltinModule(${JSON.stringify(builtin)});
const lazily = (name, get) => Object.defineProperty(exports, name, { enumerable: true, get });
for (const name of ${JSON.stringify(names)}) lazily(name, () => load()[name]);
lazily('default', load);
exports.__esModule = true;`;
}

/** Sources whose `import()` the bundle turns into `import`: ours, and those of the SDKs that all their clients share. */
const DELAYING = new RegExp(
  [
    'src/(keys|open|tool|worker)/[^/]+\\.ts$',
    '@smithy/core/.*/HttpProtocol\\.js$',
    '@anthropic-ai/sdk/(core|lib)/.*\\.mjs$',
  ]
    .join('|')
    .replaceAll('/', '[/\\\\]'),
);
const DELAYED = /(?<!typeof )\bimport\((["'][^"']+["'])\)/g;

/**
 * In one file nothing can be loaded later, and what an `import()` may reach is wrapped in functions, module by module:
 * Node then parses it twice.
 */
export const plainImports: Plugin = {
  name: 'plain imports',
  setup({ onLoad }) {
    onLoad({ filter: DELAYING }, async ({ path }) => {
      const imports: string[] = [];
      const source = (await readFile(path, 'utf8')).replace(DELAYED, (_, module: string) => {
        imports.push(`import * as __delayed${imports.length} from ${module};`);
        return `Promise.resolve(__delayed${imports.length - 1})`;
      });
      return { contents: [...imports, source].join('\n'), loader: path.endsWith('.ts') ? 'ts' : 'js' };
    });
  },
};
