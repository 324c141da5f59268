import { toBase64url } from '../../../src/format/encoding.ts';
import { readHistoryRecord } from '../../../src/history/past/records.ts';
import type { MemoryPath } from '../../../src/language/path.ts';
import { openTenant } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { readFile } from '../../../src/tree/read-file.ts';
import { listIds } from '../../../src/tree/records/list-ids.ts';
import { openWork } from '../../../src/tree/tenant.ts';

/** The texts of a tenant's files by their paths. */
export type Files = ReadonlyMap<string, string>;

export interface TenantTexts {
  /** Every text that a file has or had, by the version that has it. */
  readonly texts: ReadonlyMap<string, string>;
  readonly files: Files;
}

/** Reads the tenant from its store, of its files those at `paths`. */
export async function readTexts(options: MemoryOptions, paths: readonly string[]): Promise<TenantTexts> {
  const { parts, close } = await openTenant(options);
  try {
    const texts = new Map<string, string>();
    const files = new Map<string, string>();
    const decode = (text: Uint8Array): string => new TextDecoder().decode(text);
    const work = await openWork(parts.context, {});
    if (work === undefined) throw new Error('there is no tenant');
    for (const { id } of await listIds(work, 'history', '')) {
      const record = await readHistoryRecord(work, id);
      if (record?.kind === 'replaced') texts.set(toBase64url(record.version.id), decode(record.text));
    }
    for (const path of paths) {
      const file = await readFile(work, path as MemoryPath);
      if (file === undefined) continue;
      files.set(path, decode(file.content));
      texts.set(toBase64url(file.id), decode(file.content));
    }
    return { texts, files };
  } finally {
    await close();
  }
}
