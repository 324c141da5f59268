import { resolve } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };

/** The name of each entry point of the package, and the file of the sources in which it lies. */
export function sourcesOfEntryPoints(): readonly (readonly [name: string, source: string])[] {
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    const types = typeof target === 'object' && 'types' in target ? target.types : undefined;
    if (types === undefined) return [];
    const source = types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts');
    return [[subpath.replace(/^\./, manifest.name), resolve(source)] as const];
  });
}
