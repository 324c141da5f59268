import { hasCode } from '../errors.ts';
import { isWithin, type MemoryPath } from '../language/path.ts';
import { LEASE_MS } from '../tree/rename/lease.ts';
import { type RegisterState, type RenameEntry, readRegister } from '../tree/rename/register.ts';
import type { OpenVault } from '../tree/session.ts';

/** Tells what belongs to the rename of a directory that is under way, so that it is left alone. */
export interface RenameWatch {
  /** Looks at the register: whether its lease is alive. */
  isUnderWay(vault: OpenVault): Promise<boolean>;
  /** Whether the file is one of those being renamed, or a copy; by a look that is at most a second old. */
  touches(vault: OpenVault, path: MemoryPath): Promise<boolean>;
}

const LOOK_AGAIN_MS = 1_000;

/** With `deadToo`, a rename whose lease has run out is taken for one under way as long as the register names it. */
export function watchRenames({ deadToo }: { readonly deadToo: boolean }): RenameWatch {
  const entryOf = async (vault: OpenVault): Promise<RenameEntry | undefined> => {
    const state = await readState(vault);
    return state !== undefined && (deadToo || state.ageMs <= LEASE_MS) ? state.entry : undefined;
  };
  let last: { readonly at: number; readonly entry: Promise<RenameEntry | undefined> } | undefined;

  return {
    isUnderWay: async (vault) => (await entryOf(vault)) !== undefined,
    async touches(vault, path) {
      const now = vault.monotonic();
      if (last === undefined || now - last.at >= LOOK_AGAIN_MS) last = { at: now, entry: entryOf(vault) };
      const entry = await last.entry;
      return entry !== undefined && [entry.from, entry.to].some((directory) => isWithin(path, directory));
    },
  };
}

/** @throws MemoryError `unsupported_format` when a later version of the library may be renaming something. */
async function readState(vault: OpenVault): Promise<RegisterState | undefined> {
  try {
    return await readRegister(vault);
  } catch (error) {
    // Whoever holds the lease cannot go on either.
    if (hasCode(error, 'integrity')) return undefined;
    throw error;
  }
}
