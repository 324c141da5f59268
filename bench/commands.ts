import { openMemory } from '../src/open/open-memory.ts';
import type { Lab } from './lab.ts';
import type { Cost, Round } from './report/row.ts';
import { costOf } from './rounds.ts';
import { record, replay, requestsOf, type Sent } from './shadow.ts';
import type { FindSites, Site, Sites } from './sites.ts';
import { command, plainStore, ROOT_KEY } from './stores.ts';

const TEXT = 'one line of what an agent remembers\n'.repeat(50);
const FILES = 20;
/** As an agent sends them: one, for which the code is no longer in the processor's caches, tells more of these. */
const IN_A_ROW = 4;
const OURS = 'sealed memory';
const RAW = 'the same requests, raw';

/** A command to be measured, and what must be there for it. */
interface Work {
  readonly title: string;
  readonly before?: (round: number) => Readonly<Record<string, unknown>>;
  /** Rounds after which connections are open and code is compiled. */
  readonly warmUps?: number;
  readonly measured: (round: number) => Readonly<Record<string, unknown>>;
}

const WORKS: readonly Work[] = [
  { title: 'view a file', measured: () => ({ command: 'view', path: '/memories/notes/0.md' }) },
  { title: 'view the root', measured: () => ({ command: 'view', path: '/memories' }) },
  {
    title: 'create',
    measured: (round) => ({ command: 'create', path: `/memories/new/${round}.md`, file_text: TEXT }),
  },
  {
    title: 'str_replace',
    measured: (round) => ({
      command: 'str_replace',
      path: '/memories/counts/edited.md',
      old_str: `count ${round};`,
      new_str: `count ${round + 1};`,
    }),
  },
  {
    title: 'insert',
    measured: () => ({
      command: 'insert',
      path: '/memories/counts/inserted.md',
      insert_line: 0,
      insert_text: 'line\n',
    }),
  },
  {
    title: 'delete a file',
    before: (round) => ({ command: 'create', path: `/memories/gone/${round}.md`, file_text: TEXT }),
    measured: (round) => ({ command: 'delete', path: `/memories/gone/${round}.md` }),
  },
  {
    title: 'rename a file',
    measured: (round) => renameBetween('/memories/files/a.md', '/memories/files/b.md', round),
  },
  {
    title: `rename a directory of ${FILES}`,
    warmUps: 10,
    measured: (round) => renameBetween('/memories/here', '/memories/there', round),
  },
];

function renameBetween(here: string, there: string, round: number): Readonly<Record<string, unknown>> {
  const [from, to] = round % 2 === 0 ? [here, there] : [there, here];
  return { command: 'rename', old_path: from, new_path: to };
}

/**
 * Measures what a command costs beyond its requests: everything that it sends is sent once more, through the same
 * client, in the same order and as much side by side, to a second bucket that holds the same bytes. Four in a row are one round.
 */
export async function commands(lab: Lab, findSites: FindSites): Promise<void> {
  const sites = await findSites(lab);
  if (sites === undefined) return;
  const isFew = lab.isQuick;
  await commandsAt(lab, {
    sites,
    site: sites.near,
    works: WORKS,
    warmUps: isFew ? 2 : 100,
    times: isFew ? 8 : 80,
  });
  // The code is compiled by now.
  const works = WORKS.filter(({ warmUps }) => warmUps === undefined);
  if (sites.far !== undefined)
    await commandsAt(lab, { sites, site: sites.far, works, warmUps: IN_A_ROW, times: isFew ? 8 : 32 });
}

async function commandsAt(
  lab: Lab,
  task: {
    readonly sites: Sites;
    readonly site: Site;
    readonly works: readonly Work[];
    /** How often a command runs before it is measured, and then. */
    readonly warmUps: number;
    readonly times: number;
  },
): Promise<void> {
  const { sites, site, works, times } = task;
  const [here, there] = [await sites.bucket(), await sites.bucket()];
  const recorder = record(await plainStore(lab, { site, bucket: here }));
  const shadow = await plainStore(lab, { site, bucket: there });
  const memory = lab.stack.use(
    await openMemory({ store: recorder.store, tenant: 'bench', rootKey: ROOT_KEY }),
  );
  const mirrored = async (input: Readonly<Record<string, unknown>>): Promise<void> => {
    await command(memory, input);
    await replay(recorder.take(), shadow);
  };
  for (const input of planted()) await mirrored(input);
  for (const work of works) {
    const rounds: Round[] = [];
    let requests = '';
    const { warmUps = task.warmUps } = work;
    for (let round = 0; round < (warmUps + times) / IN_A_ROW; round++) {
      const numbers = Array.from({ length: IN_A_ROW }, (_, at) => round * IN_A_ROW + at);
      for (const number of numbers) if (work.before !== undefined) await mirrored(work.before(number));
      const sent: (readonly Sent[])[] = [];
      const ours = await costOf(async () => {
        for (const number of numbers) {
          await command(memory, work.measured(number));
          sent.push(recorder.take());
        }
      });
      const raw = await costOf(async () => {
        for (const each of sent) await replay(each, shadow);
      });
      requests = requestsOf((sent.at(-1) ?? []).map(({ name }) => name));
      // Before that connections are opened and code is compiled.
      if (round * IN_A_ROW >= warmUps)
        rounds.push(
          new Map([
            [OURS, ofOne(ours)],
            [RAW, ofOne(raw)],
          ]),
        );
    }
    const goals = { [OURS]: 1.1 };
    lab.compare({
      ...{
        work: site === sites.far ? `${work.title}, ${site.title}` : work.title,
        reference: RAW,
        time: 'wall',
        rounds,
        goals,
      },
      notes: { [OURS]: requests },
    });
  }
}

function ofOne({ wall = Number.NaN }: Cost): Cost {
  return { wall: wall / IN_A_ROW };
}

function planted(): readonly Readonly<Record<string, unknown>>[] {
  const create = (path: string, file_text = TEXT) => ({
    command: 'create',
    path: `/memories/${path}`,
    file_text,
  });
  return [
    ...Array.from({ length: FILES }, (_, at) => create(`notes/${at}.md`)),
    ...Array.from({ length: FILES }, (_, at) => create(`here/${at}.md`)),
    create('counts/edited.md', 'count 0;\n'),
    create('counts/inserted.md', 'line\n'),
    create('files/a.md'),
    create('new/first.md'),
    create('gone/first.md'),
  ];
}
