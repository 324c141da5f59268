import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Finds the folder of the worker's bundle that the package carries.
 *
 * @throws RangeError where it is missing, as in a checkout that was not built.
 */
export function packedBundle(): string {
  const folder = fileURLToPath(new URL('../lambda', import.meta.url));
  if (existsSync(folder)) return folder;
  throw new RangeError(
    'The package has no bundle of the worker here: give `bundle`, the folder that holds it.',
  );
}
