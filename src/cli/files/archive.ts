import { existsSync } from 'node:fs';
import { Encrypter } from 'age-encryption';
import { createTarPacker } from 'modern-tar';
import { MemoryError, misconfigured } from '../../errors.ts';
import { cannotWrite, existsAlready, writeOwnFile } from '../run/own-file.ts';

interface ArchiveEntry {
  /** The path below the archive's root, with slashes. */
  readonly name: string;
  readonly modified: Date;
  readonly bytes: Uint8Array;
}

/**
 * Writes a tar archive of the entries, encrypted with age for the recipients, as one file of mode 0600. Nothing
 * readable touches the disk; the file is there as a whole or not at all.
 *
 * @throws MemoryError `misconfigured` for a text that is no recipient; `already_exists` where the file exists and
 * `force` is not given; `invalid_command` where it cannot be written.
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
  if (existsSync(to) && !force) throw existsAlready(to);
  try {
    await writeOwnFile(to, async (file) => {
      const { readable, controller } = createTarPacker();
      const packing = pack(entries, controller);
      const written = encrypter.encrypt(readable).then((sealed) =>
        // The whole of each part: a single write may take less of it where a disk is nearly full.
        sealed.pipeTo(new WritableStream({ write: (part) => file.writeFile(part) }), { signal }),
      );
      await Promise.all([packing, written]);
    });
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    if (signal.aborted) throw new MemoryError('aborted', 'The export was cancelled.');
    throw cannotWrite(to, error);
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
