import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { hasCode, MemoryError } from '../../errors.ts';
import { decodeText } from '../../language/text.ts';
import { type ChosenVerb, EXIT_FAILED, type Invocation, wrongCall } from '../run/invocation.ts';
import { type FileRun, ofFiles, readFile, runOnFiles } from '../run/memory.ts';
import { ownChunks } from '../run/own-chunks.ts';
import { cannotRead } from '../run/own-file.ts';
import { readAll } from '../run/source.ts';
import { tellHistoryOff } from '../run/tenant-state.ts';
import {
  type DiffWords,
  isOfTheMemory,
  isOfVersions,
  orRefused,
  typedHere,
  typedSide,
  typedVersion,
} from '../run/typed.ts';
import { changeLines, patchOf, type Side, type TextPatch } from '../show/patch.ts';

/** Declares `diff`. */
export function declareDiff(program: Command, run: ChosenVerb<typeof runDiff>): void {
  program
    .command('diff')
    .usage('[options] <left> <right> | <path> <version> [version]')
    .argument('<left>', 'a path of the memory; a file of yours begins with ./ or ../ or /')
    .argument('<right>', 'the same, or a version of the file at the first one')
    .argument('[version]', 'a second version; without it, what the file holds now')
    .description('show how two files differ, or two versions of a file as "log" names them')
    .action((first: string, second: string, version: string | undefined, _: unknown, command: Command) => {
      const left = orRefused(command, () => typedSide(first));
      const right = isOfVersions({ left, right: second, version })
        ? second
        : orRefused(command, () => typedSide(second));
      run({ left, right, version });
    });
}

/**
 * Shows how two files or two versions of a file differ; what does not lie below /memories is a file of the user's.
 * Resolves to 1 when they do.
 */
export function runDiff(asked: DiffWords, invocation: Invocation): Promise<number> {
  return runOnFiles(async (run) => {
    const { report, terminal, signal } = invocation;
    const state = isOfTheMemory(asked.left) && isOfVersions(asked) ? await tellHistoryOff(ofFiles(run)) : {};
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

async function sidesOf(run: FileRun, { left, right, version }: DiffWords): Promise<readonly [Side, Side]> {
  if (version !== undefined && !isOfTheMemory(left)) {
    throw wrongCall('Two versions are of one file: the first argument must be its path below /memories.');
  }
  if (version !== undefined) return [await versionAt(run, left, right), await versionAt(run, left, version)];
  return isOfVersions({ left, right })
    ? [await versionAt(run, left, right), await fileAt(run, left)]
    : [await fileAt(run, left), await fileAt(run, right)];
}

async function versionAt({ history, invocation }: FileRun, path: string, version: string): Promise<Side> {
  const { report, signal } = invocation;
  const found = await report
    .during('reading the history', () => history.read({ path, version: typedVersion(version) }, { signal }))
    .catch((error: unknown) => {
      if (!hasCode(error, 'not_found') || error.details['reason'] !== undefined) throw error;
      throw new MemoryError(
        'not_found',
        `The history of ${path} has no version ${version}; a file of the memory of that name is written /memories/${version}, one of yours ./${version}.`,
      );
    });
  return { path, text: textOf(found.bytes, `version ${version} of ${path}`), version: found.version };
}

async function fileAt(run: FileRun, path: string): Promise<Side> {
  const bytes = isOfTheMemory(path)
    ? await readFile(run, path).catch(orLocal(path))
    : await readLocal(path, run.invocation.signal);
  return { path, text: textOf(bytes, path) };
}

/**
 * Makes a handler of failures that tells a person who typed the name of a file of their own how such a name is written.
 */
function orLocal(path: string): (error: unknown) => never {
  const own = typedHere(path);
  return (error) => {
    if (!hasCode(error, 'not_found') || !existsSync(own)) throw error;
    throw new MemoryError('not_found', `There is no file at ${path}; a file of yours is written ${own}.`);
  };
}

function textOf(bytes: Uint8Array, what: string): string {
  const text = decodeText(bytes);
  if (text !== undefined) return text;
  throw new MemoryError('not_text', `${what} is not text.`);
}

async function readLocal(path: string, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await readAll(ownChunks(path, signal));
  } catch (error) {
    throw cannotRead(path, error);
  }
}
