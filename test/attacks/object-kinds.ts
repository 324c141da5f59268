import { concat } from '../../src/format/encoding.ts';
import { HEADER_BYTES, readHeader } from '../../src/format/header.ts';
import { open, seal } from '../../src/format/object.ts';
import { logicalName } from '../../src/format/object-keys.ts';
import { newVersion } from '../../src/format/version.ts';
import type { SealingKeys } from '../../src/format/wrap.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { openKeyring } from '../../src/keys/keyring.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { encodeText } from '../../src/language/text.ts';
import { osRandom } from '../../src/store/os-random.ts';
import type { Chance } from '../simulation/chance.ts';
import type { AttackKind, Attempt } from './attack-kind.ts';
import type { AttackSite } from './attack-site.ts';
import { call, execute, type Outcome, view } from './outcome.ts';
import { fileOf, type SealedFile } from './party.ts';

/** The offsets at which the fields of an object begin, and its second chunk. */
const BOUNDARIES = [8, 12, 28, 60, 76, 100, HEADER_BYTES, HEADER_BYTES + 65_552];

/** The attacks of a party that writes the bucket at will and holds no key: all of them end when the owner reads. */
export function objectKinds(site: AttackSite): readonly AttackKind[] {
  /** Puts what `forge` makes in a file's place; the worker that read the file before then reads it again. */
  const forging = (
    title: string,
    forge: (attempt: Attempt & { readonly file: SealedFile }) => Uint8Array,
  ): AttackKind => ({
    title,
    refusals: ['integrity'],
    writes: true,
    async attempt(attempt) {
      const { lane, chance, entitled } = attempt;
      const file = chance.pick([lane.one, lane.one, lane.one, lane.two]);
      await site.raw.write(file.key, entitled ? file.sealed : forge({ ...attempt, file }));
      return ownText(await view(lane.victim.memory(), file.path), file);
    },
  });
  const othersOf = ({ lane, file }: Attempt & { readonly file: SealedFile }): readonly Uint8Array[] => [
    ...[lane.one, lane.two, lane.below].flatMap((each) => (each === file ? [] : [each.sealed, each.older])),
    fileOf(site.intruder, file.path).sealed,
  ];

  return [
    {
      title: 'opens objects and keyrings of another tenant with its own keys',
      refusals: ['integrity', 'key_unavailable', 'foreign'],
      async attempt({ lane, chance, entitled }) {
        const file = chance.pick([lane.one, lane.two, lane.below]);
        const name = logicalName(parseMemoryPath(file.path));
        const { keys } = lane.victim.loaded;
        if (entitled) {
          return ownText(await call(() => textOf(open({ keys, name, object: file.sealed }).content)), file);
        }
        const object = chance.pick([file.sealed, file.older]);
        const own = chance.pick(disguises(site.intruder.loaded.keys, keys));
        const rekeyed = concat(object.subarray(0, 60), own.active.keyId, object.subarray(76));
        const stranger = { ...envRootKey(chance.bytes(32)), id: envRootKey(site.rootKey).id };
        const openRing = (tenant: string, rootKey: Parameters<typeof openKeyring>[0]['rootKeys'][0]) =>
          call(() => openKeyring({ bytes: lane.victim.keyring.second, tenant, rootKeys: [rootKey] }));
        const ways = [
          () => call(() => textOf(open({ keys: own, name, object }).content)),
          () => call(() => textOf(open({ keys: own, name, object: rekeyed }).content)),
          () => openRing(site.intruder.tenant, envRootKey(site.rootKey)),
          () => openRing(lane.victim.tenant, stranger),
          () => openRing(lane.victim.tenant, envRootKey(chance.bytes(32))),
        ];
        return chance.pick(ways)();
      },
    },
    forging('flips bits of an object', ({ file, chance }) => {
      const forged = Uint8Array.from(file.sealed);
      for (let flips = chance.between(1, 3); flips > 0; flips--) {
        // Three different bytes, so that no flip undoes another.
        const third = Math.floor(forged.length / 3);
        const offset = chance.between(third * (flips - 1), third * flips - 1);
        forged[offset] = (forged[offset] ?? 0) ^ (1 << chance.between(0, 7));
      }
      return forged;
    }),
    forging('flips bits in the header of an object', ({ file, chance }) => {
      const offset = chance.between(0, HEADER_BYTES - 1);
      return file.sealed.with(offset, (file.sealed[offset] ?? 0) ^ chance.between(1, 255));
    }),
    forging('cuts an object short or makes it longer', ({ file: { sealed }, chance }) => {
      const cut = chance.between(0, sealed.length - 1);
      const boundary = chance.pick(BOUNDARIES.filter((offset) => offset < sealed.length));
      const middle = chance.between(0, cut);
      return chance.pick([
        sealed.subarray(0, cut),
        sealed.subarray(0, boundary),
        concat(sealed, chance.bytes(chance.between(1, 100))),
        concat(sealed, sealed.subarray(HEADER_BYTES)),
        concat(sealed.subarray(0, middle), sealed.subarray(cut + 1)),
      ]);
    }),
    forging('splices an object from two', (attempt) => {
      const { file, chance } = attempt;
      const others = [file.older, ...othersOf(attempt)];
      for (;;) {
        const [head, tail] = chance.happens(0.5)
          ? [file.sealed, chance.pick(others)]
          : [chance.pick(others), file.sealed];
        const cut = chance.happens(0.7) ? chance.pick(BOUNDARIES) : chance.between(13, head.length);
        const until = chance.happens(0.5) ? tail.length : chance.between(cut, tail.length);
        // A piece from the middle of the other one, or all that follows.
        const rest = chance.happens(0.5) ? head.subarray(until) : new Uint8Array();
        const spliced = concat(head.subarray(0, cut), tail.subarray(cut, until), rest);
        const isWhole = [file.sealed, file.older, ...others].some((whole) => equal(whole, spliced));
        if (!isWhole) return spliced;
      }
    }),
    forging('puts an object at another path of its tenant', ({ file, lane, chance }) => {
      const neighbours = site.lanes.filter(({ victim }) => victim === lane.victim);
      const files = neighbours.flatMap(({ one, two, below }) => [one, two, below]);
      const other = chance.pick(files.filter((each) => each !== file));
      return chance.pick([other.sealed, other.older]);
    }),
    forging('puts objects of another tenant into a tree', ({ file, chance }) => {
      const theirs = site.lanes.filter(({ victim }) => !victim.files.get(file.path));
      const same = fileOf(site.intruder, file.path);
      const other = chance.pick(theirs).one;
      return chance.pick([same.sealed, same.older, other.sealed]);
    }),
    {
      title: 'takes objects of a tenant into its own tree, to have them opened there',
      refusals: ['integrity'],
      writes: true,
      async attempt({ lane, chance, entitled }) {
        const place = fileOf(site.intruder, chance.pick([lane.one.path, lane.below.path]));
        const loot = chance.pick([lane.one, lane.two, lane.below, fileOf(lane.victim, place.path)]);
        await site.raw.write(place.key, entitled ? place.sealed : chance.pick([loot.sealed, loot.older]));
        return ownText(await view(site.intruder.memory(), place.path), place);
      },
    },
    forging('downgrades the version of an object', ({ file, chance }) => {
      const start = chance.pick([
        concat(file.sealed.subarray(0, 8), differing(file.sealed.subarray(8, 12), chance)),
        concat(Uint8Array.of(0x89, 0x53, 0x4d, chance.between(0x32, 0x7e)), file.sealed.subarray(4, 12)),
        concat(Uint8Array.of(0x89, 0x53, 0x4d, 0x4b), file.sealed.subarray(4, 12)),
        new Uint8Array(12),
      ]);
      return concat(start, file.sealed.subarray(12));
    }),
    forging('makes an object from all that is public', ({ file, lane, chance }) => {
      const header = readHeader(chance.pick([file.sealed, file.older]));
      if (header === undefined) throw new Error('the object has no header');
      const { keyringId } = lane.victim.loaded.keys;
      const guess = { version: 2, created: 0, keyId: header.keyId, wrapKey: chance.bytes(32) };
      const keys = { tenant: lane.victim.tenant, keyringId, active: guess, find: () => guess };
      const name = logicalName(parseMemoryPath(file.path));
      return seal({
        keys,
        name,
        content: encodeText('forged'),
        version: newVersion({ mtime: 1, random: osRandom }),
        random: osRandom,
      });
    }),
    {
      title: 'has edits and renames done on what he forged',
      refusals: ['integrity'],
      writes: true,
      async attempt({ lane, chance, entitled, number }) {
        const file = lane.one;
        const forged = file.sealed.with(chance.between(0, file.sealed.length - 1), chance.between(0, 255));
        const hostile = equal(forged, file.sealed) ? file.sealed.subarray(1) : forged;
        const target = entitled ? file.sealed : hostile;
        await site.raw.write(file.key, target);
        const moved = `${lane.directory}/moved-${number}.md`;
        const { path } = file;
        const memory = lane.victim.memory();
        const outcome = await execute(
          memory,
          chance.pick([
            { command: 'str_replace', path, old_str: 'Secret', new_str: 'Public' },
            { command: 'insert', path, insert_line: 0, insert_text: 'built on it' },
            { command: 'rename', old_path: path, new_path: moved },
          ]),
        );
        const stays = 'got' in outcome || equal(await site.raw.read(file.key), target);
        return stays ? outcome : { got: 'another object in the place of the forged one' };
      },
    },
  ];
}

/** A refusal as it is; a success only when it shows what the owner of the file wrote. */
function ownText(outcome: Outcome, { text }: SealedFile): Outcome {
  if ('refusedAs' in outcome || outcome.got.includes(text)) return outcome;
  throw new Error('a file was read that says something else');
}

/** The intruder's keys as they are, and dressed in all that is public about the victim's. */
function disguises(own: SealingKeys, theirs: SealingKeys): readonly SealingKeys[] {
  const { tenant, keyringId } = theirs;
  const { active } = own;
  const find = (keyId: Uint8Array) => ({ ...active, keyId });
  return [
    own,
    { tenant: own.tenant, keyringId: own.keyringId, active, find },
    { tenant, keyringId, active, find },
    { tenant, keyringId: own.keyringId, active, find },
    { tenant: own.tenant, keyringId, active, find },
  ];
}

function differing(bytes: Uint8Array, chance: Chance): Uint8Array {
  const at = chance.between(0, bytes.length - 1);
  return bytes.with(at, (bytes[at] ?? 0) ^ chance.between(1, 255));
}

export function equal(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
