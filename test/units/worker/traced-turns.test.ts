import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Play, playSteps, startLocalWorker, wordsOf } from '../../../infra/local/lambda/local-worker.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import { sayProved } from '../../history-proof/say-proved.ts';
import { type Chance, createChance } from '../../simulation/chance.ts';
import { readTexts } from './tenant-texts.ts';
import { type Deed, type Judged, undoTurn } from './undone-turns.ts';

const IS_FULL = process.env['TEST_TRACED_TURNS'] === 'full';
const TENANTS = IS_FULL ? 20 : 4;
const TURNS_OF_EACH = IS_FULL ? 50 : 20;
const SEEDS = IS_FULL ? 3 : 1;
const FIRST_SEED = (Number(process.env['HISTORY_SEED'] ?? 1) - 1) * SEEDS + 1;
const MOST_DELIVERIES = 10;
/**
 * The last rounds of each tenant, some turns of which are taken back when all is done; half of the tenants rename
 * nothing in them.
 */
const LAST_ROUNDS = 12;

const TOKEN = /poison-[\w-]+/g;
/** Claude writes in its place every token that it has seen. */
const KNOWN = '<known>';
const FILES = ['a', 'b', 'c'].map((name) => `/memories/${name}.md`);

interface Plan {
  readonly message: {
    readonly tenant: string;
    readonly turn: string;
    readonly prompt: string;
    readonly conversation?: string;
  };
  /** Claude is too busy for this request of the turn, once. */
  readonly busyAt: number | undefined;
}

/** Files have two lines, so that the reply to an edit shows all of one. */
function command(
  chance: Chance,
  { mark, renames }: { readonly mark: string; readonly renames: boolean },
): object {
  const [path, other] = [chance.pick(FILES), chance.pick(FILES)];
  switch (chance.between(0, 15)) {
    case 0:
      return { command: 'delete', path };
    case 1:
      return renames ? { command: 'rename', old_path: path, new_path: other } : { command: 'delete', path };
    case 2:
      return { command: 'view', path: '/memories' };
    case 3:
    case 4:
      return { command: 'create', path, file_text: `Title ${mark} ${KNOWN}\nsecond line\n` };
    case 5:
    case 6:
    case 7:
      return { command: 'str_replace', path, old_str: 'Title', new_str: `Title ${mark} ${KNOWN}` };
    default:
      return { command: 'view', path };
  }
}

function plan(
  chance: Chance,
  {
    tenant,
    number,
    renames,
  }: { readonly tenant: string; readonly number: number; readonly renames: boolean },
): Plan {
  const turn = `${tenant}-${number}`;
  const steps = Array.from({ length: chance.between(2, 4) }, (_, step) => [
    command(chance, { mark: `${turn}-${step}`, renames }),
  ]);
  const conversation = chance.happens(0.4) ? `chat-${chance.between(0, 1)}` : undefined;
  return {
    message: {
      tenant,
      turn,
      prompt: `${turn} ${JSON.stringify(steps)}`,
      ...(conversation && { conversation }),
    },
    busyAt: chance.happens(0.12) ? chance.between(1, 4) : undefined,
  };
}

let traced = 0;

describe('traces of seeded turns of many tenants', { timeout: 600_000 }, () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
    'find every turn that read what was planted, all that came of it, and nothing else: seed %i',
    async (seed) => {
      const chance = createChance(`${seed}`);
      await using store = openSqliteObjectStore({ path: ':memory:' });
      const memory = {
        store,
        rootKey: randomBytes(32).toString('base64'),
        history: { days: 30 },
        onExists: 'overwrite' as const,
      };
      const tenants = Array.from({ length: TENANTS }, (_, number) => `tenant-${number}`);

      const busy = new Map<string, number>();
      const asked = new Map<string, number>();
      /** The turns that were shown a token. */
      const shown = new Map<string, Set<string>>();
      const play: Play = (scene) => {
        const [turn = ''] = wordsOf(scene).split(' ');
        const request = (asked.get(turn) ?? 0) + 1;
        asked.set(turn, request);
        if (busy.get(turn) === request) {
          busy.delete(turn);
          throw new ApiRefusal('Overloaded', { status: 529, type: 'overloaded_error' });
        }
        const known = new Set(JSON.stringify(scene.messages).match(TOKEN) ?? []);
        for (const token of known) shown.set(token, (shown.get(token) ?? new Set()).add(turn));
        return JSON.parse(JSON.stringify(playSteps(scene)).replaceAll(KNOWN, [...known].join(' ')));
      };
      await using site = await startLocalWorker(store, play, { memory });
      const workers = [site.worker, site.another()];
      await using pool = createMemoryPool(memory);

      const planted: {
        readonly tenant: string;
        readonly token: string;
        readonly path: string;
        version: string;
      }[] = [];
      const deeds = new Map<string, Deed[]>(tenants.map((tenant) => [tenant, []]));
      const note = async (tenant: string, by: string, renames = false): Promise<void> => {
        const { files } = await readTexts({ ...memory, tenant }, FILES);
        deeds.get(tenant)?.push({ by, files, renames });
      };
      const plant = async (tenant: string): Promise<void> => {
        const token = `poison-${tenant}-${planted.length}`;
        const entry = { tenant, token, path: chance.pick(FILES), version: '' };
        planted.push(entry);
        await using host = await pool.open(tenant, { actor: 'mail import' });
        await host.files.write(entry.path, `Title ${token}\nsecond line\n`, {
          onTouch(touch) {
            if (touch.kind === 'written') entry.version = touch.version;
          },
        });
      };

      let answered = 0;
      for (let number = 0; number < TURNS_OF_EACH; number++) {
        for (const tenant of tenants) if (chance.happens(4 / TURNS_OF_EACH)) await plant(tenant);
        const isLast = number >= TURNS_OF_EACH - LAST_ROUNDS;
        if (isLast) for (const tenant of tenants) await note(tenant, 'before');
        const all = tenants.map((tenant, index) =>
          plan(chance, { tenant, number, renames: !isLast || index % 2 === 0 }),
        );
        let plans = all;
        for (const { message, busyAt } of plans) if (busyAt !== undefined) busy.set(message.turn, busyAt);
        for (let delivery = 0; plans.length > 0 && delivery < MOST_DELIVERIES; delivery++) {
          const worker = workers[delivery % 2];
          const { batchItemFailures } = await site.deliver(
            plans.map(({ message }) => message),
            { ...(worker && { worker }) },
          );
          const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
          answered += plans.length - failed.size;
          plans = plans.filter((_, index) => failed.has(`m${index}`));
        }
        for (const { message } of isLast ? all : [])
          await note(message.tenant, message.turn, message.prompt.includes('"rename"'));
      }
      expect(answered).toBe(TENANTS * TURNS_OF_EACH);

      let found = 0;
      for (const tenant of tenants) {
        const { texts } = await readTexts({ ...memory, tenant }, FILES);
        await using host = await pool.open(tenant);
        for (const { token, path, version } of planted.filter((each) => each.tenant === tenant)) {
          const { turns } = await host.history.trace({ path, version });
          const carriers = [...texts].filter(
            ([id, text]) => id !== version && text.split(/\s/).includes(token),
          );
          const wrote = turns.flatMap(({ written }) => written.map((each) => each.version));
          expect(new Set(turns.map(({ turn }) => turn))).toEqual(shown.get(token) ?? new Set());
          expect(new Set(wrote)).toEqual(new Set(carriers.map(([id]) => id)));
          found += wrote.length;
        }
      }
      // Without planted words, nothing could be missed.
      expect(planted.length).toBeGreaterThan(0);
      expect(found).toBeGreaterThan(TENANTS);

      const judged: Judged[] = [];
      for (const tenant of tenants) {
        const did = deeds.get(tenant) ?? [];
        await using host = await pool.open(tenant, { actor: 'operator' });
        const read = async () => (await readTexts({ ...memory, tenant }, FILES)).files;
        for (let back = 0; back < LAST_ROUNDS; back += chance.between(1, 3)) {
          const turn = `${tenant}-${TURNS_OF_EACH - 1 - back}`;
          judged.push(await undoTurn(did, { turn, paths: FILES, history: host.history, read }));
        }
      }
      const times = (how: Judged): number => judged.filter((each) => each === how).length;
      expect(times('back')).toBeGreaterThan(TENANTS / 4);
      expect(times('apart')).toBeGreaterThan(TENANTS / 4);
      traced += answered;
      sayProved(`${traced} turns were traced`);
    },
  );
});
