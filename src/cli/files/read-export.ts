import { createReadStream } from 'node:fs';
import { open, readdir, readFile as readOwn, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { Readable } from 'node:stream';
import { Decrypter } from 'age-encryption';
import { createTarDecoder } from 'modern-tar';
import { MemoryError, misconfigured } from '../../errors.ts';
import { readPrivateFile } from '../../keys/private-file.ts';
import { MEMORY_ROOT, type MemoryPath, parseMemoryPath } from '../../language/path.ts';
import type { ExportedFiles } from '../../page/server/export-view.ts';
import { cannotRead, isPartial } from '../run/own-file.ts';
import { joined } from '../run/source.ts';

/** The most bytes of an archive, which is held in memory as a whole. */
const MOST_BYTES = 268_435_456;
const AGE = 'age-encryption.org/v1';

const IDENTITY = {
  label: '--identity',
  kind: 'identity file',
  remedy: 'name the file that "age-keygen" made',
};

/**
 * Reads the files of an export: those of a folder when they are asked for, those of an archive all at once. Links and
 * special files are passed over.
 *
 * @throws MemoryError `invalid_command` for what cannot be read or is no export; `misconfigured` where an archive needs
 * an identity; `limit_exceeded` above 256 MiB.
 */
export async function readExport(
  from: string,
  {
    identity,
    maxBytes,
    signal,
  }: { readonly identity?: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<ExportedFiles> {
  try {
    if ((await stat(from)).isDirectory()) return await readFolder(from, maxBytes);
    return await readArchive(from, { identity, maxBytes, signal });
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    if (signal.aborted) throw new MemoryError('aborted', 'The reading was cancelled.');
    throw cannotRead(from, error);
  }
}

async function readFolder(folder: string, maxBytes: number): Promise<ExportedFiles> {
  const files: ExportedFiles['files'][number][] = [];
  let foreign = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const file = join(entry.parentPath, entry.name);
    const path =
      entry.isFile() && !isPartial(entry.name)
        ? pathOf(relative(folder, file).split(sep).join('/'))
        : undefined;
    if (path === undefined) {
      foreign += 1;
      continue;
    }
    const { size, mtimeMs: modified } = await stat(file);
    const read = async (): Promise<Uint8Array> => {
      if ((await stat(file)).size > maxBytes) throw tooLarge(maxBytes);
      return readOwn(file);
    };
    files.push({ path, size, modified, read });
  }
  return { files, foreign };
}

async function readArchive(
  archive: string,
  {
    identity,
    maxBytes,
    signal,
  }: { readonly identity: string | undefined; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<ExportedFiles> {
  const bytes = Readable.toWeb(createReadStream(archive, { signal })) as ReadableStream<Uint8Array>;
  const tar = (await beginningOf(archive)) === AGE ? await decrypted(bytes, identity) : bytes;
  const files: ExportedFiles['files'][number][] = [];
  let [foreign, total] = [0, 0];
  try {
    for await (const { header, body } of tar.pipeThrough(createTarDecoder({ strict: true }))) {
      const { name, size, mtime, type } = header;
      const path = type === 'file' ? pathOf(name) : undefined;
      if (path === undefined) {
        foreign += type === 'directory' ? 0 : 1;
        await body.cancel();
        continue;
      }
      total += size;
      if (total > MOST_BYTES) throw tooLarge(MOST_BYTES);
      const parts: Uint8Array[] = [];
      for await (const part of body) parts.push(part);
      const content = await joined(parts);
      const read = async (): Promise<Uint8Array> => {
        if (content.length > maxBytes) throw tooLarge(maxBytes);
        return content;
      };
      files.push({ path, size: content.length, modified: mtime?.getTime() ?? 0, read });
    }
  } catch (error) {
    if (error instanceof MemoryError || signal.aborted) throw error;
    throw new MemoryError('invalid_command', `${archive} is no export, or was changed or cut off.`);
  }
  return { files, foreign };
}

async function beginningOf(path: string): Promise<string> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(AGE.length), 0, AGE.length, 0);
  return buffer.toString('latin1', 0, bytesRead);
}

async function decrypted(
  sealed: ReadableStream<Uint8Array>,
  identity: string | undefined,
): Promise<ReadableStream<Uint8Array>> {
  if (identity === undefined) {
    throw misconfigured("The archive is encrypted: --identity names the file of a recipient's secret key.");
  }
  const decrypter = new Decrypter();
  const keys = readPrivateFile(identity, IDENTITY)
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  try {
    for (const key of keys) decrypter.addIdentity(key.trim());
    return await decrypter.decrypt(sealed);
  } catch {
    throw misconfigured('No key in the file that --identity names opens the archive.');
  }
}

/** Parses a name as a path of the memory; undefined for a name under which no memory holds a file. */
function pathOf(name: string): MemoryPath | undefined {
  try {
    return parseMemoryPath(`${MEMORY_ROOT}/${name}`);
  } catch {
    return undefined;
  }
}

function tooLarge(max: number): MemoryError {
  return new MemoryError(
    'limit_exceeded',
    `The export holds more than ${max} bytes: "age" and "tar" open it.`,
    {
      details: { limit: 'file_bytes', max },
    },
  );
}
