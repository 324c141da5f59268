import { readFile as readOwn } from 'node:fs/promises';
import { hasCode, MemoryError } from '../../errors.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { decodeText } from '../../language/text.ts';
import { EXIT_FAILED, type Invocation, wrongCall } from './invocation.ts';
import { type FileRun, ofFiles, readFile, runOnFiles } from './memory.ts';
import { cannotRead } from './own-file.ts';
import { changeLines, patchOf, type Side, type TextPatch } from './patch.ts';
import { tellHistoryOff } from './tenant-state.ts';

interface DiffArguments {
  readonly left: string;
  readonly right: string;
  readonly version?: string | undefined;
}

/** What may name a version. A file of the user's of such a name is written with its folder. */
const VERSION = /^[\w-]{4,22}$/;

/**
 * Shows how two files or two versions of a file differ; what does not lie below /memories is a file of the user's. Resolves
 * to 1 when they do.
 */
export function runDiff(asked: DiffArguments, invocation: Invocation): Promise<number> {
  return runOnFiles(async (run) => {
    const { report, terminal, signal } = invocation;
    const state = isOfVersions(asked) ? await tellHistoryOff(ofFiles(run)) : {};
    const [before, after] = await sidesOf(run, asked);
    const differ = before.text !== after.text;
    const found: TextPatch = differ ? await patchOf(before, after, signal) : { patch: '' };
    const named = {
      ...(before.version !== undefined && { fromVersion: before.version }),
      ...(after.version !== undefined && { toVersion: after.version }),
    };
    await report.done(
      { ...named, differ, ...found, ...state },
      differ ? await changeLines(found, terminal, signal) : [],
    );
    return differ ? EXIT_FAILED : 0;
  }, invocation);
}

async function sidesOf(
  run: FileRun,
  { left, right, version }: DiffArguments,
): Promise<readonly [Side, Side]> {
  if (version !== undefined && !isOfTheMemory(left)) {
    throw wrongCall('Two versions are of one file: the first argument must be its path below /memories.');
  }
  if (version !== undefined) return [await versionAt(run, left, right), await versionAt(run, left, version)];
  return isOfVersions({ left, right })
    ? [await versionAt(run, left, right), await fileAt(run, left)]
    : [await fileAt(run, left), await fileAt(run, right)];
}

function isOfVersions({ left, right, version }: DiffArguments): boolean {
  return isOfTheMemory(left) && (version !== undefined || VERSION.test(right));
}

function isOfTheMemory(path: string): boolean {
  return `${path}/`.startsWith(`${MEMORY_ROOT}/`);
}

async function versionAt({ history, invocation }: FileRun, path: string, version: string): Promise<Side> {
  const { report, signal } = invocation;
  const found = await report
    .during('reading the history', () => history.read({ path, version }, { signal }))
    .catch((error: unknown) => {
      if (!hasCode(error, 'not_found') || error.details['reason'] !== undefined) throw error;
      throw new MemoryError(
        'not_found',
        `The history of ${path} has no version ${version}; a file of yours of that name is written ./${version}.`,
      );
    });
  return { path, text: textOf(found.bytes, `version ${version} of ${path}`), version: found.version };
}

async function fileAt(run: FileRun, path: string): Promise<Side> {
  const bytes = isOfTheMemory(path) ? await readFile(run, path) : await readLocal(path);
  return { path, text: textOf(bytes, path) };
}

function textOf(bytes: Uint8Array, what: string): string {
  const text = decodeText(bytes);
  if (text !== undefined) return text;
  throw new MemoryError('not_text', `${what} is not text.`);
}

async function readLocal(path: string): Promise<Uint8Array> {
  return readOwn(path).catch((error: unknown) => {
    throw cannotRead(path, error);
  });
}
