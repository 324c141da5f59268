import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { Encrypter } from 'age-encryption';
import { createTarPacker } from 'modern-tar';
import { MemoryError, misconfigured } from '../../errors.ts';
import { fileCodeOf } from '../../store/failures.ts';

export interface ArchiveEntry {
  /** With slashes, below the archive's root. */
  readonly name: string;
  readonly modified: Date;
  readonly bytes: Uint8Array;
}

/**
 * Writes a tar archive of the entries, encrypted with age for the recipients, as one file of mode 0600. Nothing readable
 * touches the disk; the file is there as a whole or not at all.
 *
 * @throws MemoryError `misconfigured` for a text that is no recipient, or where the file exists and `force` is not given.
 */
export async function writeArchive(
  entries: AsyncIterable<ArchiveEntry>,
  {
    to,
    recipients,
    force,
    signal,
  }: {
    readonly to: string;
    readonly recipients: readonly string[];
    readonly force: boolean;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const encrypter = new Encrypter();
  for (const recipient of recipients) addRecipient(encrypter, recipient);
  if (existsSync(to) && !force) throw misconfigured(`${to} exists: --force replaces it.`);
  const partial = `${to}.${randomBytes(4).toString('hex')}.partial`;
  try {
    {
      await using file = await open(partial, 'wx', 0o600);
      const { readable, controller } = createTarPacker();
      const packing = pack(entries, controller);
      const written = encrypter.encrypt(readable).then((sealed) =>
        sealed.pipeTo(new WritableStream({ write: async (part) => void (await file.write(part)) }), {
          signal,
        }),
      );
      await Promise.all([packing, written]);
      await file.sync();
    }
    await rename(partial, to);
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof MemoryError) throw error;
    if (signal.aborted) throw new MemoryError('aborted', 'The export was cancelled.');
    throw misconfigured(`${to} cannot be written (${fileCodeOf(error) ?? 'unknown error'}).`);
  }
}

function addRecipient(encrypter: Encrypter, recipient: string): void {
  try {
    encrypter.addRecipient(recipient);
  } catch {
    throw misconfigured(
      '--age takes the public key of a recipient, which begins with age1: "age-keygen" makes one.',
    );
  }
}

async function pack(
  entries: AsyncIterable<ArchiveEntry>,
  controller: ReturnType<typeof createTarPacker>['controller'],
): Promise<void> {
  try {
    for await (const { name, modified, bytes } of entries) {
      const body = controller.add({ name, size: bytes.length, mode: 0o600, mtime: modified, type: 'file' });
      const writer = body.getWriter();
      await writer.write(bytes);
      await writer.close();
    }
    controller.finalize();
  } catch (error) {
    controller.error(error);
    throw error;
  }
}
