import pLimit from 'p-limit';

import { hasCode } from '../../errors.ts';
import { fromBase64, toBase64 } from '../../format/encoding.ts';
import { joinPath, MEMORY_ROOT, type MemoryPath, parseMemoryPath, segmentsOf } from '../../language/path.ts';
import { decodeText } from '../../language/text.ts';
import type { Answer } from './exec-jsonl.ts';
import { invalidRequest, type RequestFields, refuseOtherFields } from './request-fields.ts';

const SIDE_BY_SIDE = 32;

/** The part of the tree that the harness and the file commands use: whole files, past the tool's language. */
interface FileTree {
  list(directory: MemoryPath): Promise<{ readonly files: readonly { readonly path: MemoryPath }[] }>;
  read(path: MemoryPath): Promise<Uint8Array | undefined>;
  create(path: MemoryPath, content: Uint8Array): Promise<unknown>;
  overwrite(path: MemoryPath, content: Uint8Array): Promise<unknown>;
  remove(path: MemoryPath): Promise<unknown>;
}

/** A file in a dump: its text, or its bytes when they are not UTF-8. */
type DumpedFile = string | { readonly base64: string };

/**
 * Requests for programs that test memories: `dump` every file, `put` one, `reset` the tenant to no files. They work
 * on the stored tree itself, so that a test can compare it with what the model was told.
 *
 * @throws MemoryError `invalid_command` for anything else; `invalid_path`; whatever the tree throws.
 */
export function createHarness(tree: FileTree): (request: RequestFields) => Promise<Answer> {
  return async (request) => {
    const { harness } = request;
    switch (harness) {
      case 'dump':
        refuseOtherFields(request, ['harness']);
        return { ok: true, files: await dump(tree) };
      case 'put':
        refuseOtherFields(request, ['harness', 'path', 'base64']);
        await tree.overwrite(parseMemoryPath(stringField(request, 'path')), bytesField(request, 'base64'));
        return { ok: true };
      case 'reset':
        refuseOtherFields(request, ['harness']);
        await reset(tree);
        return { ok: true };
      default:
        throw invalidRequest('"harness" must be dump, put or reset.');
    }
  };
}

async function dump(tree: FileTree): Promise<Readonly<Record<string, DumpedFile>>> {
  const { files } = await tree.list(MEMORY_ROOT);
  const limit = pLimit(SIDE_BY_SIDE);
  const entries = await Promise.all(
    files.map(({ path }) => limit(async () => [path, await tree.read(path)] as const)),
  );
  const present = entries.flatMap(([path, content]) =>
    content === undefined ? [] : [[path, shown(content)] as const],
  );
  return Object.fromEntries(present.sort(([left], [right]) => (left < right ? -1 : 1)));
}

function shown(content: Uint8Array): DumpedFile {
  return decodeText(content) ?? { base64: toBase64(content) };
}

async function reset(tree: FileTree): Promise<void> {
  const { files } = await tree.list(MEMORY_ROOT);
  const names = new Set(files.flatMap(({ path }) => segmentsOf(path).slice(0, 1)));
  const limit = pLimit(SIDE_BY_SIDE);
  await Promise.all([...names].map((name) => limit(() => removeIfThere(tree, joinPath(MEMORY_ROOT, name)))));
}

async function removeIfThere(tree: FileTree, path: MemoryPath): Promise<void> {
  try {
    await tree.remove(path);
  } catch (error) {
    if (!hasCode(error, 'not_found')) {
      throw error;
    }
  }
}

function stringField(request: RequestFields, name: string): string {
  const value = request[name];
  if (typeof value !== 'string') {
    throw invalidRequest(`"${name}" must be a string.`);
  }
  return value;
}

function bytesField(request: RequestFields, name: string): Uint8Array {
  const text = stringField(request, name);
  const bytes = fromBase64(text);
  if (bytes === undefined) throw invalidRequest(`"${name}" must be padded base64.`);
  return bytes;
}
