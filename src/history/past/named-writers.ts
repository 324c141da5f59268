import { unlessDamaged } from '../../errors.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { listDirectory } from '../../tree/list-directory.ts';
import { readListed } from '../../tree/read-file.ts';
import { type Work, withoutLimit } from '../../tree/tenant.ts';
import { idOf } from '../save/history-record.ts';
import { readWholePast } from './read.ts';

/**
 * Collects the hashes (base64url) of all actors that files and history name. Undefined: one of these cannot be opened.
 */
export async function readNamedWriters(given: Work): Promise<ReadonlySet<string> | undefined> {
  const work = withoutLimit(given);
  const { versions, leaves, files, damaged } = await readWholePast(work);
  let isWhole = damaged.files.length + damaged.records.length === 0;
  const named = new Set<string | undefined>(leaves.map(({ by }) => by));
  for (const { writer, redacted } of versions.values()) named.add(writer).add(redacted?.by);
  // A file that was renamed during the read may have been missed at both paths.
  const { files: listed } = await listDirectory(work, MEMORY_ROOT);
  const late = listed.filter(({ path }) => !files.has(path));
  const readLate = async (entry: (typeof late)[number]): Promise<void> => {
    const file = await unlessDamaged(readListed(work, entry), () => {
      isWhole = false;
    });
    if (file !== undefined) named.add(idOf(file.writer));
  };
  await eachConcurrently(work.tenant, late, readLate, ({ size }) => size);
  return isWhole ? new Set([...named].filter((writer) => writer !== undefined)) : undefined;
}
