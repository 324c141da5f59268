import { MemoryError, type MemoryErrorCode } from '../errors.ts';
import { hasBytesAt } from '../format/encoding.ts';
import type { MemoryPath } from '../language/path.ts';
import { LEASE_MS } from '../tree/rename/lease.ts';
import { type RenameEntry, type RenamePhase, readRegister } from '../tree/rename/register.ts';
import { createRenameRegister } from '../tree/rename/rename-register.ts';
import type { Call, Session, Work } from '../tree/session.ts';
import { checkFiles, type FileFinding, type KeyVersionCount, type Place } from './check-files.ts';
import { settleTwins, type TwinFinding } from './duplicates.ts';

export interface VerifyOptions extends Call {
  /** Remove the older place of twins and finish a directory rename whose process is gone; nothing else is changed. */
  readonly repair?: boolean | undefined;
}

/**
 * `under_way`: a directory is being renamed. `expired`: its process is gone; the next command finishes it.
 * `finished`: it was finished here. `unfinished`: that was tried and failed, by `code`.
 */
export interface RenameFinding {
  readonly kind: 'rename';
  readonly state: 'under_way' | 'expired' | 'finished' | 'unfinished';
  readonly phase: RenamePhase;
  readonly from: MemoryPath;
  readonly to: MemoryPath;
  /** Since the register was written last, by the server's clock. */
  readonly ageMs: number;
  /** Files that lie at both places because of it. */
  readonly files: number;
  readonly code?: MemoryErrorCode;
}

export type Finding =
  | FileFinding
  | TwinFinding
  | RenameFinding
  /** The register of renames cannot be opened. */
  | { readonly kind: 'register'; readonly code: MemoryErrorCode };

export interface Verification {
  /** Files that were read and are whole, and their content in bytes. */
  readonly files: number;
  readonly bytes: number;
  readonly findings: readonly Finding[];
  /** How many objects, files or not, name which version of the tenant key; empty for a tenant without a keyring. */
  readonly keyVersions: readonly KeyVersionCount[];
}

/**
 * Reads and opens every object of the tenant: its files, the register of its renames, and what lies beside them. What is wrong is a value; a tenant that
 * was never written to has nothing wrong. Without `repair` nothing is written.
 *
 * @throws MemoryError what the store and the keyring throw.
 */
export async function verifyTree(
  context: Session,
  { repair = false, signal, onProgress }: VerifyOptions = {},
): Promise<Verification> {
  const keyring = await context.keyrings.load({ signal });
  if (keyring === undefined) return { files: 0, bytes: 0, findings: [], keyVersions: [] };
  const work: Work = { session: context, keyring, call: { signal, onProgress } };

  const recovered = repair ? await recoverRename(work) : undefined;
  const { files, bytes, findings, groups, keyVersions } = await checkFiles(work);
  // Only now: a rename that began later has left no copies that are old enough to be taken for twins.
  const register = await lookAtRegister(work);
  const { own, others } = splitByOrigin(groups, register.entry);
  const renames = renameFindings(register, recovered, own.length);
  // A look at many files takes long, and nothing is sealed with keys that are not the newest any more.
  const later = repair ? await context.keyrings.load({ signal }) : undefined;
  const settling = { ...work, keyring: later ?? keyring };
  const twins = await settleTwins(settling, { groups: others, isRenaming: isAlive(register), repair });
  return { files, bytes, findings: [...renames, ...twins, ...findings], keyVersions };
}

/** Whether something is still to be done about it, be it to look again. */
export function isLeft(finding: Finding): boolean {
  if (finding.kind === 'twins') return finding.state !== 'removed';
  return finding.kind !== 'rename' || finding.state !== 'finished';
}

interface Register {
  readonly entry: RenameEntry | undefined;
  readonly ageMs: number;
  /** Why it could not be opened. */
  readonly fault?: MemoryErrorCode;
}

async function lookAtRegister(work: Work): Promise<Register> {
  try {
    return await readRegister(work);
  } catch (error) {
    if (!(error instanceof MemoryError) || !REGISTER_FAULTS.includes(error.code)) throw error;
    return { entry: undefined, ageMs: 0, fault: error.code };
  }
}

const REGISTER_FAULTS: readonly MemoryErrorCode[] = ['integrity', 'unsupported_format', 'limit_exceeded'];

function isAlive({ entry, ageMs, fault }: Register): boolean {
  return fault !== undefined || (entry !== undefined && ageMs <= LEASE_MS);
}

interface Recovered {
  readonly entry: RenameEntry;
  readonly ageMs: number;
  readonly failure: MemoryErrorCode | undefined;
}

/** Finishes a rename whose lease has run out. Undefined: there was none, or somebody else does it. */
async function recoverRename(work: Work): Promise<Recovered | undefined> {
  const { entry, ageMs } = await lookAtRegister(work);
  if (entry === undefined || ageMs <= LEASE_MS) return undefined;
  try {
    const isOurs = (await createRenameRegister().recover(work)) === 'finished';
    return isOurs ? { entry, ageMs, failure: undefined } : undefined;
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code === 'aborted') throw error;
    return { entry, ageMs, failure: causeOf(error).code };
  }
}

/** A rename that was left says so first; why is behind it. */
function causeOf(error: MemoryError): MemoryError {
  const isFront = error.code === 'outcome_unknown' || error.code === 'unavailable';
  return isFront && error.cause instanceof MemoryError ? causeOf(error.cause) : error;
}

function renameFindings(
  { entry, ageMs, fault }: Register,
  recovered: Recovered | undefined,
  files: number,
): readonly Finding[] {
  if (fault !== undefined) return [{ kind: 'register', code: fault }];
  if (entry === undefined) {
    return recovered?.failure === undefined && recovered !== undefined
      ? [renameFinding(recovered, 'finished', files)]
      : [];
  }
  const code = recovered?.failure;
  if (code !== undefined) return [{ ...renameFinding({ entry, ageMs }, 'unfinished', files), code }];
  return [renameFinding({ entry, ageMs }, ageMs > LEASE_MS ? 'expired' : 'under_way', files)];
}

function renameFinding(
  { entry, ageMs }: { readonly entry: RenameEntry; readonly ageMs: number },
  state: RenameFinding['state'],
  files: number,
): RenameFinding {
  const { phase, from, to } = entry;
  return { kind: 'rename', state, phase, from, to, ageMs, files };
}

/** Copies that carry the id of the rename in the register are its own to finish or to take back. */
function splitByOrigin(
  groups: readonly (readonly Place[])[],
  entry: RenameEntry | undefined,
): {
  readonly own: readonly (readonly Place[])[];
  readonly others: readonly (readonly Place[])[];
} {
  const isOwn = (group: readonly Place[]): boolean =>
    entry !== undefined && group.some(({ origin }) => hasBytesAt(origin, 0, entry.id));
  return { own: groups.filter(isOwn), others: groups.filter((group) => !isOwn(group)) };
}
