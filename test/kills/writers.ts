import { migrateObjects } from '../../src/admin/keys/migrate.ts';
import { historyOf } from '../stage/history-site.ts';
import { createOperator } from '../stage/key-operator.ts';
import { bytes } from '../stage/test-tree.ts';
import { newProcess, type Place, pathOf } from './tenant.ts';

/** A deed of a writer, or of another operator, at one request of a verb. */
type Deed = (place: Place) => Promise<unknown>;

const actor = 'wes';
async function write({ writer, acknowledged }: Place, name: string, text: string, by = actor): Promise<void> {
  await writer.tree.overwrite(pathOf(name), bytes(text), { actor: by });
  acknowledged.add(text);
}

async function create({ writer, acknowledged }: Place, name: string, text: string): Promise<void> {
  await writer.tree.create(pathOf(name), bytes(text), { actor });
  acknowledged.add(text);
}

async function append({ writer, acknowledged }: Place, name: string, text: string): Promise<void> {
  await writer.append(pathOf(name), text);
  acknowledged.add(text);
}

const remove = ({ writer }: Place, name: string) => writer.tree.remove(pathOf(name), { actor });
const rename = ({ writer }: Place, from: string, to: string) =>
  writer.tree.rename({ from: pathOf(from), to: pathOf(to) }, { actor });

async function migrate({ site }: Place, reencrypt: boolean): Promise<void> {
  const { client, editor, rotate } = await createOperator(site, await newProcess(site));
  await rotate();
  await site.time.pause(61_000);
  await migrateObjects(client.tenant, { editor, reencrypt });
}

/** The deeds of others. Many give a path the text that it, or another one, has or had. */
export const DEEDS: Readonly<Record<string, Deed>> = {
  'writes a file': (place) => write(place, 'a', 'new'),
  'gives a file its text from before': (place) => write(place, 'a', 'same'),
  'writes a file again as it is': (place) => write(place, 'a', 'poison'),
  'writes a file that was renamed': (place) => write(place, 'c', 'new'),
  'edits a file': (place) => append(place, 'd/x', ', and more'),
  'edits a file and takes the edit back': async (place) => {
    await write(place, 'a', 'new');
    await write(place, 'a', 'poison');
  },
  'deletes a file': (place) => remove(place, 'a'),
  'deletes a file and creates it as it was': async (place) => {
    await remove(place, 'a');
    await create(place, 'a', 'poison');
  },
  'renames a file': (place) => rename(place, 'a', 'e'),
  'renames a file and creates one like it in its place': async (place) => {
    await rename(place, 'a', 'e');
    await create(place, 'a', 'poison');
  },
  'renames a file and creates another in its place': async (place) => {
    await rename(place, 'n', 'e');
    await create(place, 'n', 'new');
  },
  'renames a file and back': async (place) => {
    await rename(place, 'a', 'e');
    await rename(place, 'e', 'a');
  },
  'exchanges two files of one text': async (place) => {
    await rename(place, 'a', 't');
    await rename(place, 'n', 'a');
    await rename(place, 't', 'n');
  },
  'renames a file back': (place) => rename(place, 'c', 'b'),
  'creates a file where one was renamed away': (place) => create(place, 'b', 'same'),
  'creates a deleted file again': (place) => create(place, 'z', 'z'),
  'creates another file in the place of a deleted one': (place) => create(place, 'z', 'new'),
  'creates a file below the place of a deleted one': (place) => create(place, 'z/below', 'new'),
  'deletes a directory': (place) => remove(place, 'd'),
  'renames a directory': (place) => rename(place, 'd', 'f'),
  'renames a directory and creates a file like one of it in its place': async (place) => {
    await rename(place, 'd', 'f');
    await create(place, 'd/x', 'poisoned x');
  },
  'renames a directory and back': async (place) => {
    await rename(place, 'd', 'f');
    await rename(place, 'f', 'd');
  },
  'writes for the actor who is undone': (place) => write(place, 'd/y', 'y', 'bad'),
  'migrates the objects': (place) => migrate(place, false),
  'encrypts the objects anew': (place) => migrate(place, true),
  'undoes the same actor': ({ writer }) => historyOf(writer).undo({ writer: 'bad', actor }),
  'restores the same moment': ({ writer, moment }) => historyOf(writer).restoreAt(moment, { actor }),
};
