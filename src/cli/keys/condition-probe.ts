import type { ObjectKey } from '../../format/object-keys.ts';
import type { DeleteTarget, ETag, ObjectStore, PutMode, WriteResult } from '../../store/port.ts';
import { settlePut } from '../../store/settle.ts';

const RACERS = 16;

/** One line of the doctor's: what was looked at and, unless all is well, what to do. */
export interface ProbeFinding {
  readonly ok: boolean;
  readonly what: string;
  readonly advice?: string | undefined;
}

interface ProbeOptions {
  /** The store without wrappers, sending conditional deletes as such. */
  readonly store: ObjectStore;
  /** The beginning of every scratch key; these objects are removed at the end. */
  readonly scratch: string;
  /** True where deletes are trusted to be atomic, by the configuration or because the endpoint is AWS's own. */
  readonly isTrustedGuarded: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Tries on scratch keys what the protocols rest on: conditions of a PUT, alone and raced, and of a DELETE.
 * Throws what the store throws.
 */
export async function* probeConditions(options: ProbeOptions): AsyncGenerator<ProbeFinding> {
  let isClean = false;
  try {
    yield await probeCreate(options);
    yield await probeIfMatch(options);
    yield await probeRaces(options);
    yield await probeDelete(options);
    yield await probeCreateAgain(options);
  } finally {
    isClean = await removeScratch(options);
  }
  if (!isClean) {
    yield {
      ok: false,
      what: 'scratch objects: not all could be removed',
      advice: 'let the credentials list and delete below the prefix, and remove the objects beside the probe',
    };
  }
}

async function probeCreate(options: ProbeOptions): Promise<ProbeFinding> {
  const key = keyOf(options, 'create');
  await put(options, key, 'create');
  const second = await put(options, key, 'create');
  return {
    ok: 'conflict' in second,
    what: 'conditions: a create never replaces what is there',
    advice: 'this server ignores If-None-Match and would lose edits: use another one',
  };
}

async function probeIfMatch(options: ProbeOptions): Promise<ProbeFinding> {
  const key = keyOf(options, 'if-match');
  const first = etagOf(await put(options, key, 'create'));
  const second = first && etagOf(await put(options, key, { ifMatch: first }));
  const stale = first && (await put(options, key, { ifMatch: first }));
  const missing = first && (await put(options, keyOf(options, 'missing'), { ifMatch: first }));
  return {
    ok: second !== undefined && isConflict(stale) && isConflict(missing),
    what: 'conditions: an edit replaces only the version it was made from',
    advice: 'this server does not honour If-Match and would lose edits: use another one',
  };
}

async function probeRaces(options: ProbeOptions): Promise<ProbeFinding> {
  const key = keyOf(options, 'race');
  const race = async (mode: 'create' | { readonly ifMatch: ETag }): Promise<number> => {
    const results = await Promise.all(Array.from({ length: RACERS }, () => put(options, key, mode)));
    return results.filter((result) => 'etag' in result).length;
  };
  const creators = await race('create');
  const base = await options.store.head(key, { signal: options.signal });
  const editors = base === undefined ? 0 : await race({ ifMatch: base.etag });
  return {
    ok: creators === 1 && editors === 1,
    what: `conditions: of ${RACERS} racing writers exactly one wins`,
    advice: `${creators} creators and ${editors} editors won: this server would lose edits, use another one`,
  };
}

async function probeDelete(options: ProbeOptions): Promise<ProbeFinding> {
  const { store, signal, isTrustedGuarded } = options;
  const key = keyOf(options, 'delete');
  const stale = etagOf(await put(options, key, 'create'));
  await put(options, key, 'overwrite');
  await store.delete([{ key, ifMatch: stale }], { signal }).catch(() => []);
  const isHonoured = (await store.head(key, { signal })) !== undefined;
  if (isTrustedGuarded) {
    return {
      ok: isHonoured,
      what: 'deletes: a guarded store, it deletes exactly the version that was seen, in one request',
      advice: 'this server ignores the condition and would lose edits: set SEALED_MEMORY_S3_GUARDED=0',
    };
  }
  const hint = isHonoured
    ? '; it honoured one condition: if its maker promises that such deletes are atomic, SEALED_MEMORY_S3_GUARDED=1 saves one request each'
    : '';
  return {
    ok: true,
    what: `deletes: an unguarded store, each delete takes one more request to be safe, and one that is cut off midway holds its path back for three minutes${hint}`,
  };
}

async function probeCreateAgain(options: ProbeOptions): Promise<ProbeFinding> {
  const { store, signal } = options;
  const key = keyOf(options, 'again');
  const first = etagOf(await put(options, key, 'create'));
  await store.delete([{ key }], { signal });
  const again = await put(options, key, 'create');
  await store.delete([{ key }], { signal });
  const late = first && (await put(options, key, { ifMatch: first }));
  return {
    ok: 'etag' in again && isConflict(late),
    what: 'conditions: what was deleted can be created again, and not edited',
    advice:
      'this server takes what was deleted for still there, as some do in a bucket with versioning: use a bucket on which versioning was never turned on, or another server',
  };
}

/** Removes what the probe wrote, without the caller's signal: an interrupted probe cleans up too. */
async function removeScratch({ store, scratch }: ProbeOptions): Promise<boolean> {
  try {
    const targets: DeleteTarget[] = [];
    for await (const page of store.list({ prefix: scratch })) {
      targets.push(...page.objects.map(({ key }) => ({ key })));
    }
    return (await store.delete(targets)).length === 0;
  } catch {
    return false;
  }
}

/** Writes an object; a write that met its own earlier attempt counts as written. */
async function put({ store, signal }: ProbeOptions, key: ObjectKey, mode: PutMode): Promise<WriteResult> {
  const bytes = crypto.getRandomValues(new Uint8Array(64));
  if (mode === 'overwrite') return store.put(key, bytes, { mode, signal });
  const settled = await settlePut(store, { key, mode, body: { bytes }, signal });
  return settled === 'replaced' ? { conflict: 'changed' } : settled;
}

function keyOf(options: ProbeOptions, name: string): ObjectKey {
  return `${options.scratch}-${name}` as ObjectKey;
}

function etagOf(result: WriteResult): ETag | undefined {
  return 'etag' in result ? result.etag : undefined;
}

function isConflict(result: WriteResult | undefined): boolean {
  return result !== undefined && 'conflict' in result;
}
