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
