import { readdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Links what is installed here into the `node_modules` of another folder, scopes as a whole. */
export function linkModules(modules: string): void {
  for (const name of readdirSync('node_modules')) {
    if (!name.startsWith('.')) symlinkSync(resolve('node_modules', name), join(modules, name));
  }
}
