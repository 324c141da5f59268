import { openMemory } from '../src/open/open-memory.ts';
import type { ObjectStore } from '../src/store/port.ts';
import type { Lab } from './lab.ts';
import type { Round } from './report/row.ts';
import { costOf } from './rounds.ts';
import { record, replay } from './shadow.ts';
import { command, ROOT_KEY } from './stores.ts';

/** The view of a root beside the same pages, listed raw and no name in them opened. */
export async function viewBesidePages(
  lab: Lab,
  store: ObjectStore,
  task: { readonly work: string; readonly rounds: number; readonly goal?: number },
): Promise<void> {
  const recorder = record(store);
  await using memory = await openMemory({ store: recorder.store, tenant: 'bench', rootKey: ROOT_KEY });
  const [ours, raw] = ['sealed memory', 'the same pages, raw'];
  const rounds: Round[] = [];
  for (let round = 0; round < task.rounds; round++) {
    const viewed = await costOf(() => command(memory, { command: 'view', path: '/memories' }));
    const sent = recorder.take();
    const listed = await costOf(() => replay(sent, store));
    // The first opens connections and loads the keyring.
    if (round > 0)
      rounds.push(
        new Map([
          [ours, viewed],
          [raw, listed],
        ]),
      );
  }
  const goals = task.goal === undefined ? {} : { [ours]: task.goal };
  lab.compare({ work: task.work, reference: raw, time: 'wall', rounds, goals });
}
