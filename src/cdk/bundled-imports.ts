import { isBuiltin } from 'node:module';
import type { Plugin } from 'esbuild';

/**
 * Loads Node's own modules at their first use instead of at the start. `node:https`, which brings all of TLS with it,
 * takes as long as an empty process, and `import` would read every name of `node:http`, and so load its WebSocket.
 */
export const builtinsAtFirstUse: Plugin = {
  name: 'builtins at first use',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?[a-z_/0-9]+$/ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return undefined;
      if (kind === 'import-statement') return { path, namespace: 'builtin' };
      return kind === 'dynamic-import' ? { path, namespace: 'builtin in time' } : undefined;
    });
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({ contents: lazyExports(path) }));
    onLoad({ filter: /.*/, namespace: 'builtin in time' }, ({ path }) => ({ contents: plainExports(path) }));
  },
};

function namesOf(builtin: string): readonly string[] {
  return Object.keys(process.getBuiltinModule(builtin) ?? {});
}

function lazyExports(builtin: string): string {
  return `
const load = () => process.getBuiltinModule(${JSON.stringify(builtin)});
const lazily = (name, get) => Object.defineProperty(exports, name, { enumerable: true, get });
for (const name of ${JSON.stringify(namesOf(builtin))}) lazily(name, () => load()[name]);
lazily('default', load);
exports.__esModule = true;`;
}

/** The names of `node:http` whose reading loads undici; every one is a global as well. */
const OF_UNDICI: readonly string[] = ['WebSocket', 'CloseEvent', 'MessageEvent'];

/** Writes the exports for an `import()`, which comes at the first use. */
function plainExports(builtin: string): string {
  const names = namesOf(builtin).filter((name) => !OF_UNDICI.includes(name));
  return `
const builtin = process.getBuiltinModule(${JSON.stringify(builtin)});
export default builtin;
export const { ${names.join(', ')} } = builtin;`;
}
