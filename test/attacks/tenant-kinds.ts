import { concat } from '../../src/format/encoding.ts';
import { createTombstone } from '../../src/format/tombstone.ts';
import { osRandom } from '../../src/store/os-random.ts';
import type { AttackKind } from './attack-kind.ts';
import type { AttackSite } from './attack-site.ts';
import { equal } from './object-kinds.ts';
import { execute, executeAnew, view } from './outcome.ts';
import { fileOf } from './party.ts';

/** The attacks that can be tried on the names and the one register of a tenant, and with tombstones. */
export function tenantKinds(site: AttackSite): readonly AttackKind[] {
  return [
    {
      title: 'puts tombstones, and what resembles them, into places where they mislead',
      refusals: ['integrity', 'key_unavailable', 'not_found'],
      writes: true,
      perTenant: true,
      async attempt({ lane, entitled, chance }) {
        const { layout, open } = lane.victim;
        const file = chance.pick([lane.one, lane.two]);
        const tombstone = createTombstone(osRandom);
        const lookalike = chance.pick([
          tombstone.subarray(0, 39),
          concat(tombstone, chance.bytes(1)),
          tombstone.with(chance.between(0, 7), 0),
          chance.bytes(40),
        ]);
        if (entitled) {
          await site.raw.write(file.key, file.sealed);
          return executeAnew(open, { command: 'view', path: file.path });
        }
        const [key, bytes] = chance.pick([
          [file.key, tombstone],
          [file.key, lookalike],
          [layout.keyring, tombstone],
          [layout.keyring, lookalike],
        ] as const);
        await site.raw.write(key, bytes);
        const { path } = file;
        const commands = [
          { command: 'view', path },
          { command: 'str_replace', path, old_str: 'Secret', new_str: 'Public' },
          { command: 'rename', old_path: path, new_path: `${lane.directory}/moved.md` },
        ];
        const outcome = await executeAnew(open, chance.pick(commands));
        const stays = equal(await site.raw.read(key), bytes);
        if (key === layout.keyring) await site.raw.write(key, lane.victim.keyring.second);
        return stays ? outcome : { got: 'something else in the place of the tombstone' };
      },
    },
    {
      title: 'forges names, so that a listing shows what no writer wrote',
      refusals: ['foreign', 'integrity'],
      writes: true,
      async attempt({ lane, entitled, chance, number }) {
        const memory = lane.victim.memory();
        const { directory, one, two, below } = lane;
        const place = one.key.slice(0, one.key.lastIndexOf('/') + 1);
        const names = [...forgedNames(site.names, chance.bytes(32), number), nameOf(below.key)];
        const stranger = nameOf(fileOf(site.intruder, one.path).key);
        if (site.names === 'encrypted') names.push(stranger, nameOf(one.key).replace(/^./, '~'));
        const source = chance.pick([one, two]);
        const key = entitled ? source.key : `${place}${chance.pick(names)}`;
        await site.raw.write(key, source.sealed);
        const listing = await execute(memory, { command: 'view', path: directory });
        if ('refusedAs' in listing) return listing;
        const paths = pathsIn(listing.got);
        if (entitled)
          return paths.includes(source.path) ? view(memory, source.path) : { refusedAs: 'not listed' };
        const usual = [directory, one.path, two.path, `${directory}/sub`, below.path];
        const added = paths.filter((path) => !usual.includes(path));
        const shown = added.length === 0 ? { refusedAs: 'foreign' } : await view(memory, added[0] ?? '');
        await site.raw.remove(key);
        return shown;
      },
    },
    {
      title: 'forges the register of renames',
      refusals: ['integrity'],
      writes: true,
      perTenant: true,
      async attempt({ lane, entitled, chance }) {
        const { layout, open } = lane.victim;
        const key = `${layout.tenantPrefix}journal/register`;
        const original = site.originals.get(key) ?? new Uint8Array();
        const theirs = site.originals.get(`${site.intruder.layout.tenantPrefix}journal/register`);
        const at = chance.between(0, original.length - 1);
        const forged = chance.pick([
          original.with(at, (original[at] ?? 0) ^ chance.between(1, 255)),
          original.subarray(0, at === 40 ? 41 : at),
          theirs ?? chance.bytes(300),
          lane.one.sealed,
          chance.bytes(300),
        ]);
        await site.raw.write(key, entitled ? original : forged);
        const [from, to] = [`${lane.directory}/sub`, `${lane.directory}/elsewhere`];
        const rename = { command: 'rename', old_path: from, new_path: to };
        if (!entitled) {
          const remove = { command: 'delete', path: from };
          return executeAnew(open, chance.pick([rename, remove]));
        }
        await using memory = await open();
        await execute(memory, rename);
        return await execute(memory, { command: 'rename', old_path: to, new_path: from });
      },
    },
  ];
}

/** Names that could stand in a listing, in the last segment of a key. */
function forgedNames(mode: AttackSite['names'], bytes: Uint8Array, number: number): readonly string[] {
  const random = Buffer.from(bytes).toString('base64url');
  if (mode === 'encrypted') return [random, `new-${number}.md`, random.slice(1), `${random}=`];
  return [`new-${number}.md`, random, `turn\u202e${number}`, 'x'.repeat(160), `zero\u200bwidth-${number}`];
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

function pathsIn(listing: string): readonly string[] {
  return listing.split('\n').flatMap((line) => /^[^\t]+\t(\/memories.*?)\/?$/.exec(line)?.[1] ?? []);
}
