import { concat } from '../../src/format/encoding.ts';
import type { Keyring } from '../../src/format/keyring-bytes.ts';
import { SHRED_MARKER } from '../../src/format/keyring-bytes.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyring, openKeyring, sealKeyring } from '../../src/keys/keyring.ts';
import { createKeyringCache, type KeyringCache } from '../../src/keys/keyring-cache.ts';
import { encodeText } from '../../src/language/text.ts';
import { osRandom } from '../../src/store/os-random.ts';
import type { AttackKind, Attempt } from './attack-kind.ts';
import type { AttackSite } from './attack-site.ts';
import { equal } from './object-kinds.ts';
import { call, executeAnew } from './outcome.ts';
import type { Party } from './party.ts';

/** The attacks that can be tried on a tenant's one keyring. */
export function keyringKinds(site: AttackSite): readonly AttackKind[] {
  const watchers = new Map<Party, Promise<Watcher>>();
  const watcherOf = (victim: Party): Promise<Watcher> => {
    const known = watchers.get(victim) ?? startWatcher(site, victim);
    watchers.set(victim, known);
    return known;
  };

  return [
    {
      title: 'replaces or damages a keyring',
      refusals: ['integrity', 'key_unavailable', 'unsupported_format'],
      writes: true,
      perTenant: true,
      async attempt(attempt) {
        const { lane, entitled, chance } = attempt;
        const { layout, keyring, open } = lane.victim;
        const forged = entitled ? keyring.second : await forgedKeyring(site, attempt);
        await site.raw.write(layout.keyring, forged);
        const { path, text } = lane.one;
        const viewing = { command: 'view', path };
        const creating = {
          command: 'create',
          path: `${lane.directory}/new.md`,
          file_text: 'under which key?',
        };
        const input = entitled ? viewing : chance.pick([viewing, viewing, creating]);
        const outcome = await executeAnew(open, input);
        if (entitled)
          return 'got' in outcome && !outcome.got.includes(text) ? { refusedAs: 'other text' } : outcome;
        const stays = input === viewing || equal(await site.raw.read(layout.keyring), forged);
        return stays ? outcome : { got: 'another keyring in the place of the forged one' };
      },
    },
    {
      title: 'rolls the keyring of a living process back, or gives it another one',
      refusals: ['integrity'],
      writes: true,
      perTenant: true,
      async attempt({ lane, entitled, chance }) {
        const { layout, keyring } = lane.victim;
        const watcher = await watcherOf(lane.victim);
        const choice = entitled ? keyring.second : chance.pick(watcher.authentic);
        await site.raw.write(layout.keyring, choice);
        return call(async () => (await watcher.load())?.epoch);
      },
    },
  ];
}

/** A long-lived process that has seen the keyring's second epoch, and reads it again at every load. */
interface Watcher {
  load(): ReturnType<KeyringCache['load']>;
  /** Keyrings under the right root key for the right tenant that are not the one this process has seen. */
  readonly authentic: readonly Uint8Array[];
}

async function startWatcher(
  site: AttackSite,
  { layout, tenant, keyring, storeFor }: Party,
): Promise<Watcher> {
  const rootKey = envRootKey(site.rootKey);
  // A failed load is remembered for ten seconds.
  let now = Date.now();
  const clock = (): number => {
    now += 11_000;
    return now;
  };
  const keyrings = createKeyringCache({
    store: storeFor(layout),
    layout,
    rootKeys: [rootKey],
    ttlMs: 0,
    clock,
    monotonic: clock,
  });
  const current = await openKeyring({ bytes: keyring.second, tenant, rootKeys: [rootKey] });
  const sealed = (other: Keyring): Promise<Uint8Array> =>
    sealKeyring({ keyring: other, tenant, rootKey, random: osRandom });
  const another = createKeyring({ nameMode: site.names, random: osRandom, created: Date.now() });
  const authentic = [
    keyring.first,
    await sealed(current),
    await sealed({ ...current, epoch: 1 }),
    await sealed({ ...another, epoch: 3 }),
    await sealed({ ...current, epoch: 3, keyringId: osRandom(16) }),
  ];
  await site.raw.write(layout.keyring, keyring.second);
  await keyrings.load();
  return { load: () => keyrings.load(), authentic };
}

/** A keyring that is none of this tenant's: another's, a stranger's, made up, or changed in some byte. */
async function forgedKeyring(site: AttackSite, { lane, chance }: Attempt): Promise<Uint8Array> {
  const { keyring, tenant } = lane.victim;
  const original = keyring.second;
  const at = chance.between(0, original.length - 1);
  const made = createKeyring({ nameMode: site.names, random: osRandom, created: Date.now() });
  const sealed = (
    rootKey: Parameters<typeof sealKeyring>[0]['rootKey'],
    whose: string,
  ): Promise<Uint8Array> => sealKeyring({ keyring: made, tenant: whose, rootKey, random: osRandom });
  const root = envRootKey(site.rootKey);
  const stranger = envRootKey(chance.bytes(32));
  const neighbour = chance.pick(site.victims.filter((party) => party !== lane.victim));
  const ways: readonly (() => Uint8Array | Promise<Uint8Array>)[] = [
    () => original.with(at, (original[at] ?? 0) ^ chance.between(1, 255)),
    () => original.with(8 + (at % 4), 9),
    () => original.subarray(0, at),
    () => concat(original, chance.bytes(44)),
    () => site.intruder.keyring.second,
    () => neighbour.keyring.first,
    () => sealed(stranger, tenant),
    () => sealed({ ...stranger, id: root.id }, tenant),
    () => sealed(root, site.intruder.tenant),
    () => SHRED_MARKER,
    () => lane.one.sealed,
    () => encodeText('no keyring'),
    () => chance.bytes(chance.between(0, 16_500)),
  ];
  return chance.pick(ways)();
}
