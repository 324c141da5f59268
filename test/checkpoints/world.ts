import { writeCheckpoint } from '../../src/admin/checkpoints/checkpoint.ts';
import type { Finding } from '../../src/admin/findings.ts';
import { turnTenantHistory } from '../../src/admin/keys/turn-history.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { MemoryError } from '../../src/errors.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { push } from '../../src/history/past/model.ts';
import { createStamps, SAME_TIME_MS } from '../../src/stamps.ts';
import { type Chance, createChance } from '../simulation/chance.ts';
import { type Bucket, readBucket } from '../stage/bucket.ts';
import { createOperator } from '../stage/key-operator.ts';
import { at, bytes, createSite, STORE_KINDS, type TestClient, type TestSite } from '../stage/test-tree.ts';
import { type BucketStore, openBucketStore } from './bucket-store.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
/** Clocks of processes differ by up to so much from the store's, and where that tells no time, by no more than the last. */
const SKEW_MS = 3 * HOUR;
const FAR_SKEW_MS = 47 * HOUR;
const UNTOLD_SKEW_MS = MINUTE;
/** How long each process goes on with a keyring, as it does unless told otherwise. */
const TTL_MS = 5 * MINUTE;
/** A store tells the time in whole seconds. */
const DATE_STEP_MS = 1_000;

/** A tenant that keeps history, and what lies and lay in its bucket. */
export interface World {
  readonly site: TestSite & { readonly base: BucketStore };
  readonly chance: Chance;
  /** The bodies that ever lay under a key, the oldest first. */
  readonly laid: ReadonlyMap<ObjectKey, readonly Uint8Array[]>;
  /** One more process, with a clock of its own. */
  process(): Promise<TestClient>;
  bucket(): Promise<Bucket>;
  put(key: ObjectKey, body: Uint8Array): Promise<void>;
  drop(key: ObjectKey): Promise<void>;
  /** Everything below the tenant's prefix and `part` is as it was then. */
  putBack(then: Bucket, part: string): Promise<void>;
  checkpoint(): Promise<string>;
  /** Answers what a process finds that has seen nothing. */
  since(line: string): Promise<readonly Finding[]>;
  /** As after a restore on purpose: the history begins anew, and so do checkpoints. */
  beginAnew(): Promise<string>;
  /**
   * Rotates the keys, brings every object under the new one, and retires the others once no process seals with them.
   */
  migrate(reencrypt: boolean): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly delayMs?: number;
  readonly history?: 'on' | 'off';
  /** `hours off`: on a store that tells the time every process is a day or two ahead or behind, or in time. */
  readonly clocks?: 'near' | 'hours off';
}

export async function createWorld(
  seed: string,
  { history = 'on', clocks = 'near', ...options }: WorldOptions = {},
): Promise<World> {
  const chance = createChance(seed);
  const kind = chance.pick(STORE_KINDS);
  const site = await createSite(kind, chance.between(1, 2 ** 30), (_, { clock }) => openBucketStore(clock));
  const tellsTime = chance.happens(0.8);
  const laid = new Map<ObjectKey, Uint8Array[]>();
  const fresh = (most = tellsTime ? SKEW_MS : UNTOLD_SKEW_MS): Promise<TestClient> => {
    const isFar = clocks === 'hours off' && most === SKEW_MS;
    const skew = isFar ? drawFarSkew(chance) : drawSkew(chance, most);
    const own = { clock: () => site.time.clock() + skew, monotonic: site.time.clock };
    const stamps = createStamps(own);
    return site.client({
      keepsHistory: history === 'on',
      ttlMs: TTL_MS,
      ...options,
      ...own,
      stamps,
      async beneath(call, proceed) {
        const answer = await proceed();
        if (tellsTime) stamps.observe(site.base.date());
        const isPut = call.verb === 'put' && !Object.hasOwn(Object(answer), 'conflict');
        if (isPut) push(laid, call.key, call.body);
        return answer;
      },
    });
  };
  const bucket = (): Promise<Bucket> => readBucket(site);
  const put = async (key: ObjectKey, body: Uint8Array): Promise<void> => {
    await site.base.put(key, body, { mode: 'overwrite' });
  };
  const drop = async (key: ObjectKey): Promise<void> => {
    await site.base.delete([{ key }]);
  };
  return {
    site,
    chance,
    laid,
    bucket,
    put,
    drop,
    process: () => fresh(),
    async putBack(then, part) {
      const now = await bucket();
      for (const key of now.keys()) if (key.includes(part) && !then.has(key)) await drop(key);
      for (const [key, body] of then) if (key.includes(part)) await put(key, body);
    },
    checkpoint: async () => (await writeCheckpoint((await fresh()).tenant)).line,
    since: async (line) => (await verifyTree((await fresh()).tenant, { since: line })).findings,
    async beginAnew() {
      // With a clock that is off further it is refused.
      const { editor, client } = await createOperator(site, await fresh(SAME_TIME_MS - DATE_STEP_MS));
      await turnTenantHistory({ editor, stamps: client.tenant.stamps }, 'anew');
      return (await writeCheckpoint((await fresh()).tenant)).line;
    },
    async migrate(reencrypt) {
      const operator = await createOperator(site, await fresh());
      await operator.rotate();
      await operator.migrate({ reencrypt, ttlMs: TTL_MS, wait: true });
    },
    async close() {
      await site.base[Symbol.asyncDispose]();
    },
  };
}

/** Seconds, minutes and hours come alike; milliseconds. */
function drawSkew(chance: Chance, most: number): number {
  const share = chance.between(-1_000, 1_000) / 1_000;
  return Math.round(Math.sign(share) * most * share ** 6);
}

function drawFarSkew(chance: Chance): number {
  return chance.pick([-1, 0, 1]) * chance.between(FAR_SKEW_MS / 2, FAR_SKEW_MS);
}

const NAMES = ['a', 'b', 'c', 'd/a', 'd/b', 'e/a'];
const DIRECTORIES = ['d', 'e', 'f'];

/** One command of a process, which may be refused. */
export async function act({ tree, ...client }: TestClient, chance: Chance): Promise<void> {
  const path = `/memories/${chance.pick(NAMES)}`;
  const directory = `/memories/${chance.pick(DIRECTORIES)}`;
  const text = `${chance.between(0, 2 ** 30)}`;
  const kind = chance.fraction();
  try {
    if (kind < 0.3) await client.append(path, text);
    else if (kind < 0.6) await tree.overwrite(at(path), bytes(text));
    else if (kind < 0.7) await client.remove(path);
    else if (kind < 0.73) await client.remove(directory);
    else if (kind < 0.9) await client.rename(path, `/memories/${chance.pick([...NAMES, 'g', 'h'])}`);
    else await client.rename(directory, `/memories/${chance.pick([...DIRECTORIES, 'i'])}`);
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
  }
}

/** The path that a finding names, or its kind. */
export function placeOf(finding: Finding): string {
  if ('path' in finding) return finding.path;
  return 'name' in finding ? finding.name : finding.kind;
}
