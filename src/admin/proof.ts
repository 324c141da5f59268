import { MemoryError } from '../errors.ts';
import { fromBase64url, toBase64url } from '../format/encoding.ts';
import { hashLeaf, hashRoot, pathToRoot, rootFromPath, saltOf } from '../format/hash-tree.ts';
import { inNfc, parseGivenPath } from '../language/path.ts';
import { encodeText } from '../language/text.ts';
import { parseFields } from '../tree/sealed-record.ts';
import { type Call, openWork, type Session } from '../tree/session.ts';
import { decodeEntry, encodeEntry, encodeFacts, lineOf, parseLine, rootOf } from './checkpoint-record.ts';
import { newestNumber, readCheckpoint } from './read-checkpoint.ts';

/** That a checkpoint has a file as one version. It shows nothing of other files but how many there are. */
export interface CheckpointProof {
  readonly line: string;
  /** What the root of the line is a hash of, as JSON, and its salt. */
  readonly facts: string;
  readonly factsSalt: string;
  /** The file's entry, as JSON, its salt and its place among all. */
  readonly entry: string;
  readonly entrySalt: string;
  readonly index: number;
  /** Hashes beside the way from the entry to the root of the tree. */
  readonly path: readonly string[];
}

/** What a proof shows. */
export interface ProvedFile {
  readonly path: string;
  /** Its content id. */
  readonly version: string;
  readonly size: number;
  /** When it was written, by its writer's clock. */
  readonly time: Date;
  /** Between these moments it was current. */
  readonly began: Date;
  readonly ended: Date;
}

/**
 * Proves which version of a file the last checkpoint has.
 *
 * @throws MemoryError `not_found` without a checkpoint, or where it has no such file; `integrity`.
 */
export async function proveFile(session: Session, path: string, call: Call = {}): Promise<CheckpointProof> {
  const work = await openWork(session, call);
  const number = work === undefined ? 0 : await newestNumber(work);
  const checkpoint = work === undefined || number === 0 ? 'missing' : await readCheckpoint(work, { number });
  if (checkpoint === 'missing') throw new MemoryError('not_found', 'There is no checkpoint of this tenant.');
  if (typeof checkpoint === 'string')
    throw new MemoryError('integrity', 'The last checkpoint cannot be read.');
  const { head, leaves } = checkpoint;
  const given = parseGivenPath(path);
  const [index = -1] = [given, inNfc(given)]
    .map((wanted) => leaves.findIndex(({ entry }) => entry.path === wanted))
    .filter((found) => found >= 0);
  const leaf = leaves[index];
  if (leaf === undefined)
    throw new MemoryError(
      'not_found',
      'The last checkpoint has no such file: write a new one, and take the proof from that.',
    );
  const hashes = leaves.map(({ line }, at) => hashLeaf(saltOf(head.secret, at), line));
  const text = new TextDecoder();
  return {
    line: lineOf({ number, root: rootOf(head) }),
    facts: text.decode(encodeFacts(head)),
    factsSalt: toBase64url(saltOf(head.secret, head.files)),
    entry: text.decode(encodeEntry(leaf.entry)),
    entrySalt: toBase64url(saltOf(head.secret, index)),
    index,
    path: pathToRoot(hashes, index).map(toBase64url),
  };
}

/**
 * Checks a proof, as JSON, against the line of a checkpoint; no key and no store is needed.
 *
 * @throws MemoryError `integrity` when it does not show what it says; `invalid_command` for what is no line.
 */
export function checkProof(json: string, line: string): ProvedFile {
  const { root } = parseLine(line);
  const { facts, factsSalt, entry, entrySalt, index, path } = parseFields(json) ?? {};
  const salts = [factsSalt, entrySalt].map(bytesOf);
  const beside = Array.isArray(path) ? (path as readonly unknown[]).map(bytesOf) : [undefined];
  const [headSalt, leafSalt] = salts;
  const isWhole = typeof facts === 'string' && typeof entry === 'string' && typeof index === 'number';
  if (
    !isWhole ||
    headSalt === undefined ||
    leafSalt === undefined ||
    !beside.every((hash) => hash !== undefined)
  )
    throw refused();
  const told = parseFacts(facts);
  const file = decodeEntry(entry);
  if (told === undefined || file === undefined || !Number.isSafeInteger(index) || index < 0) throw refused();
  const tree = rootFromPath(hashLeaf(leafSalt, encodeText(entry)), {
    index,
    count: told.files,
    path: beside,
  });
  const isProved =
    tree !== undefined &&
    toBase64url(tree) === told.tree &&
    told.number === parseLine(line).number &&
    toBase64url(hashRoot(headSalt, encodeText(facts))) === root;
  if (!isProved) throw refused();
  const { began, ended } = told;
  return {
    ...{ path: file.path, version: file.id, size: file.size, time: new Date(file.mtime) },
    ...{ began: new Date(began), ended: new Date(ended) },
  };
}

function bytesOf(text: unknown): Uint8Array | undefined {
  const bytes = typeof text === 'string' ? fromBase64url(text) : undefined;
  return bytes?.length === 32 ? bytes : undefined;
}

/** What is used of the facts before their hash is known to be right. */
function parseFacts(
  text: string,
): Readonly<Record<'number' | 'files' | 'began' | 'ended', number> & { tree: unknown }> | undefined {
  try {
    const [number, files, tree, began, ended] = JSON.parse(text) as readonly unknown[];
    const isRight = [number, files, began, ended].every((value) => Number.isSafeInteger(value));
    return isRight ? ({ number, files, tree, began, ended } as never) : undefined;
  } catch {
    return undefined;
  }
}

function refused(): MemoryError {
  return new MemoryError(
    'integrity',
    'That is no proof for this line: give the proof and the line of one checkpoint.',
  );
}
