import { hasCode } from '../../errors.ts';
import { isWithin, type MemoryPath } from '../../language/path.ts';
import { type RegisterState, readRegister } from '../../tree/rename/register.ts';
import type { Work } from '../../tree/tenant.ts';

/** Tells which files belong to the rename of a directory that is under way, so that the migration leaves them alone. */
export interface RenameWatch {
  /** Looks at the register, and tells whether its lease is alive. */
  isUnderWay(work: Work): Promise<boolean>;
  /** Tells whether the file is one of those being renamed, or a copy, by a look that is at most a second old. */
  touches(work: Work, path: MemoryPath): Promise<boolean>;
}

const LOOK_AGAIN_MS = 1_000;

export function watchRenames(): RenameWatch {
  const entryOf = async (work: Work): Promise<RegisterState['entry']> => {
    const state = await readState(work);
    return state?.isLeased ? state.entry : undefined;
  };
  let last: { readonly at: number; readonly entry: ReturnType<typeof entryOf> } | undefined;

  return {
    isUnderWay: async (work) => (await entryOf(work)) !== undefined,
    async touches(work, path) {
      const now = work.tenant.monotonic();
      if (last === undefined || now - last.at >= LOOK_AGAIN_MS) last = { at: now, entry: entryOf(work) };
      const entry = await last.entry;
      return entry !== undefined && [entry.from, entry.to].some((directory) => isWithin(path, directory));
    },
  };
}

async function readState(work: Work): Promise<RegisterState | undefined> {
  try {
    return await readRegister(work);
  } catch (error) {
    // The process that holds the lease cannot continue either.
    if (hasCode(error, 'integrity')) return undefined;
    throw error;
  }
}
