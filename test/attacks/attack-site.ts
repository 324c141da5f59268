import { randomBytes } from 'node:crypto';
import type { NameMode } from '../../src/format/names.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import type { RawBucket } from '../stage/raw-stores.ts';
import { rawBucket } from '../stage/raw-stores.ts';
import { createTestBucket, type S3Server, type TestBucket } from '../stage/s3.ts';
import { succeed } from '../stage/succeed.ts';
import { fileOf, openParty, type Party, type SealedFile } from './party.ts';

/** A directory of a victim's that one attempt after the other is made on. */
export interface Lane {
  readonly index: number;
  readonly victim: Party;
  readonly directory: string;
  readonly one: SealedFile;
  /** A file of two chunks. */
  readonly two: SealedFile;
  /** In a directory of its own, which may be renamed. */
  readonly below: SealedFile;
}

export interface AttackSite extends AsyncDisposable {
  readonly bucket: TestBucket;
  readonly raw: RawBucket;
  readonly names: NameMode;
  /** Wraps the keyring of every tenant here, as one key in KMS would. */
  readonly rootKey: Uint8Array;
  /** A worker of another tenant, with files at the same paths. */
  readonly intruder: Party;
  readonly victims: readonly Party[];
  readonly lanes: readonly Lane[];
  /** Every object of every tenant as its owner left it. */
  readonly originals: ReadonlyMap<string, Uint8Array>;
  /** Puts back what is not as its owner left it, and removes what no owner wrote. */
  restore(): Promise<void>;
  /** New processes for all workers. */
  reopen(): Promise<void>;
}

export interface SiteSize {
  readonly victims: number;
  readonly lanesEach: number;
}

const INTRUDER = 'acme';

/** Tenants in one bucket, under one root key, each with a worker whose credentials come from the server's STS. */
export async function openAttackSite(
  server: S3Server,
  { names, victims: count, lanesEach }: SiteSize & { readonly names: NameMode },
): Promise<AttackSite> {
  await loadSodium();
  const bucket = await createTestBucket(server);
  const raw = rawBucket(bucket);
  const rootKey = new Uint8Array(randomBytes(32));
  const ground = { server, bucket, raw, rootKey, names };
  const indices = Array.from({ length: count * lanesEach }, (_, index) => index);
  const intruder = await openParty(ground, {
    tenant: INTRUDER,
    texts: textsOf(INTRUDER, indices),
  });
  const victims = await Promise.all(
    Array.from({ length: count }, (_, at) => {
      // An operator who writes a policy as `tenants/acme*` lets the intruder's neighbours in.
      const tenant = `${INTRUDER}-${at + 1}`;
      return openParty(ground, {
        tenant,
        texts: textsOf(
          tenant,
          indices.filter((index) => index % count === at),
        ),
      });
    }),
  );
  const parties = [intruder, ...victims];
  await Promise.all(parties.map((party) => leaveRegister(party.memory())));
  const lanes = indices.map((index): Lane => {
    const victim = victims[index % count] as Party;
    const directory = directoryOf(index);
    return {
      index,
      victim,
      directory,
      one: fileOf(victim, `${directory}/one.md`),
      two: fileOf(victim, `${directory}/two.md`),
      below: fileOf(victim, `${directory}/sub/below.md`),
    };
  });
  const keys = await raw.keys();
  const originals = new Map(await Promise.all(keys.map(async (key) => [key, await raw.read(key)] as const)));
  const whole = new Set(await raw.snapshot());

  return {
    bucket,
    raw,
    names,
    rootKey,
    intruder,
    victims,
    lanes,
    originals,
    async restore() {
      const present = await raw.snapshot();
      const keyOf = (line: string): string => line.slice(0, line.lastIndexOf(' '));
      const foreign = present.map(keyOf).filter((key) => !originals.has(key));
      const intact = new Set(present.filter((line) => whole.has(line)).map(keyOf));
      const damaged = [...originals].filter(([key]) => !intact.has(key));
      await Promise.all(foreign.map((key) => raw.remove(key)));
      await Promise.all(damaged.map(([key, bytes]) => raw.write(key, bytes)));
    },
    async reopen() {
      await Promise.all(parties.map((party) => party.reopen()));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(parties.map((party) => party[Symbol.asyncDispose]()));
      await bucket.remove();
    },
  };
}

/** The one lane of a site that has one, or the lane of that number. */
export function laneOf({ lanes }: AttackSite, index = 0): Lane {
  const lane = lanes[index];
  if (lane === undefined) throw new Error('there is no such lane');
  return lane;
}

function directoryOf(index: number): string {
  return `/memories/lane-${String(index).padStart(2, '0')}`;
}

/** The texts of a party's files: they say who wrote them, and share nothing else. */
function textsOf(tenant: string, indices: readonly number[]): ReadonlyMap<string, string> {
  return new Map(
    indices.flatMap((index): readonly (readonly [string, string])[] => {
      const directory = directoryOf(index);
      const text = (name: string): string =>
        `Secret words of ${tenant}: ${randomBytes(12).toString('hex')} in ${name} of lane ${index}.`;
      return [
        [`${directory}/one.md`, text('one')],
        [`${directory}/two.md`, `${text('two')}\n${'x'.repeat(70_000)}`],
        [`${directory}/sub/below.md`, text('below')],
      ];
    }),
  );
}

/** Renames a directory, so that there is a register, and removes what was made for that. */
async function leaveRegister(memory: Memory): Promise<void> {
  await succeed(memory, { command: 'create', path: '/memories/there/file', file_text: '' });
  await succeed(memory, { command: 'rename', old_path: '/memories/there', new_path: '/memories/elsewhere' });
  await succeed(memory, { command: 'delete', path: '/memories/elsewhere' });
}
