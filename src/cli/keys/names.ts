import type { Command } from 'commander';
import { MemoryError } from '../../errors.ts';
import { runOnAdmin } from '../run/admin.ts';
import type { ChosenVerb, Invocation } from '../run/invocation.ts';
import { pathArgument } from '../run/typed.ts';

/** Declares `names encode`. */
export function declareEncodeName(names: Command, run: ChosenVerb<typeof runEncodeName>): void {
  names
    .command('encode')
    .addArgument(pathArgument('<path>'))
    .description('print the object key of the file at a path')
    .action((path: string) => run(path));
}

/** Prints the object key of the file at a path. */
export function runEncodeName(path: string, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const key = await report.during('reaching the store', () => admin.encodeName(path, { signal }));
      await report.done({ path, key }, [key]);
      return 0;
    },
    { invocation },
  );
}

/** Declares `names decode`. */
export function declareDecodeName(names: Command, run: ChosenVerb<typeof runDecodeName>): void {
  names
    .command('decode <key>')
    .description('print the path of the file under an object key')
    .action((key: string) => run(key));
}

/** Prints the path of the file under an object key. @throws MemoryError `not_found` when it is none of the tenant's. */
export function runDecodeName(key: string, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const path = await report.during('reaching the store', () => admin.decodeName(key, { signal }));
      if (path === undefined) {
        throw new MemoryError('not_found', 'That is not the object key of a file of this tenant.');
      }
      await report.done({ path, key }, [path]);
      return 0;
    },
    { invocation },
  );
}
