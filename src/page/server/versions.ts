import { unlessDamaged } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import { NO_ID } from '../../format/wrap.ts';
import type { History } from '../../history/history.ts';
import { readActors } from '../../history/save/actors.ts';
import { openWork, type Tenant } from '../../tree/tenant.ts';
import type { Tree } from '../../tree/tree.ts';
import { type Answerers, progressTo } from './answer-questions.ts';
import { contentOf, countUnseen } from './content.ts';

/** Names the actor whose hash a version carries. */
interface WriterNames {
  /**
   * The actor; the hash where no record names it; undefined for none. Asks the store only for a hash that is new to it.
   */
  nameOf(writer: Uint8Array, signal: AbortSignal): Promise<string | undefined>;
}

export function createWriterNames(tenant: Tenant): WriterNames {
  const names = new Map<string, string>();
  const read = new Set<string>();
  let reading: Promise<void> = Promise.resolve();
  const readOn = async (signal: AbortSignal): Promise<void> => {
    const work = await openWork(tenant, { signal });
    if (work === undefined) return;
    for (const [hash, actor] of await readActors(work, read)) names.set(hash, actor);
  };
  return {
    async nameOf(writer, signal) {
      const hash = toBase64url(writer);
      if (hash === toBase64url(NO_ID)) return undefined;
      // One after the other: what the first finds out is enough for all.
      reading = reading.catch(() => {}).then(() => (names.has(hash) ? undefined : readOn(signal)));
      await reading;
      if (!names.has(hash)) names.set(hash, hash);
      return names.get(hash);
    },
  };
}

/** Answers what the page asks about versions and who wrote them. Nothing is written. */
export function answerVersions(
  history: History,
  { tree, names }: { readonly tree: Tree; readonly names: WriterNames },
): Answerers {
  return {
    async versions({ path }, asking) {
      const { signal } = asking;
      const entries = await history.list(path, { signal, onProgress: progressTo(asking) });
      return { path, entries: entries.map((entry) => ({ ...entry, time: entry.time.getTime() })) };
    },
    async version({ path, version: wanted }, { signal }) {
      const { version, bytes } = await history.read({ path, version: wanted }, { signal });
      return { path, version, size: bytes.length, content: contentOf(path, bytes) };
    },
    async writers({ paths }, { signal }) {
      const writers = paths.map(async (path) => {
        const found = await unlessDamaged(tree.readVersion(path, { signal }));
        if (found === undefined) return [];
        const writer = await names.nameOf(found.writer, signal);
        const unseen = await countUnseen(found.content, signal);
        return [{ path, version: String(found.etag), unseen, ...(writer !== undefined && { writer }) }];
      });
      return { writers: (await Promise.all(writers)).flat() };
    },
  };
}
