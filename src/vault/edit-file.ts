import { MemoryError } from '../errors.ts';
import type { MemoryPath } from '../memory/path.ts';
import { fileKey } from '../sealing/object-keys.ts';
import { confirmedPut } from './confirmed-put.ts';
import type { OpenVault } from './context.ts';
import { sealFor } from './create-file.ts';
import { readFile } from './read-file.ts';
import { untilSettled } from './retry.ts';

/** What an edit makes of a file: the new content, and what to tell about it once it is written. */
export interface Edited<T> {
  readonly content: Uint8Array;
  readonly result: T;
}

/**
 * Reads, applies `edit`, and writes if the file is still the version that was read; otherwise reads and judges
 * again. An error thrown by `edit` ends it and nothing is written. A GET and a PUT when nobody interferes.
 *
 * @throws MemoryError `not_found`; `version_conflict` when others were faster at every attempt; `outcome_unknown`.
 */
export async function editFile<T>(
  vault: OpenVault,
  path: MemoryPath,
  edit: (content: Uint8Array) => Edited<T>,
): Promise<T> {
  const key = fileKey(vault.layout, vault.keyring.names, path);
  return untilSettled(vault, async () => {
    const current = await readFile(vault, path);
    if (current === undefined) throw missingFile();
    const { content, result } = edit(current.content);
    const outcome = await confirmedPut(vault, {
      key,
      sealed: sealFor(vault, path, content),
      mode: { ifMatch: current.stored.etag },
    });
    if ('etag' in outcome) return result;
    if (outcome.conflict === 'missing') throw missingFile();
    return 'again';
  });
}

function missingFile(): MemoryError {
  return new MemoryError('not_found', 'there is no file of that path');
}
