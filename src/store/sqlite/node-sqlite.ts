import { misconfigured } from '../../errors.ts';

type NodeSqlite = typeof import('node:sqlite');

/**
 * Loads `node:sqlite` without the line by which Node 22 calls it experimental: a user who stores a memory cannot act on
 * it. All other warnings appear as ever. Where the program has loaded the module before, the line appeared then.
 *
 * @throws MemoryError `misconfigured` where this Node has none.
 */
export function loadNodeSqlite(): NodeSqlite {
  const tell = process.emitWarning;
  const tellOthers = (...[warning, ...kind]: readonly unknown[]): void => {
    if (kind[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return;
    Reflect.apply(tell, process, [warning, ...kind]);
  };
  // A program may have frozen `process`: then the line appears.
  Reflect.set(process, 'emitWarning', tellOthers);
  try {
    const found: NodeSqlite | undefined = process.getBuiltinModule('node:sqlite');
    if (found !== undefined) return found;
  } finally {
    Reflect.set(process, 'emitWarning', tell);
  }
  throw misconfigured(
    'This Node has no node:sqlite, which memory: and sqlite: need: start it without --no-experimental-sqlite, or install another build.',
  );
}
