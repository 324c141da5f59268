import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { amount } from '../runner/thorough.ts';
import { startCli } from '../stage/cli.ts';
import { PROGRAM_ENV } from '../stage/programs.ts';
import { succeed } from '../stage/succeed.ts';

/** A place for memories of one tenant that knows nothing yet. */
export interface RaceTrack {
  /** One more memory, as another process would open it. */
  open(): Promise<Memory>;
  /** How a process of its own opens the same memory. */
  readonly env: Readonly<Record<string, string>>;
}

export interface RaceOptions {
  /** How many memories share the 50 inserts of one process. */
  readonly memories: number;
  readonly rounds: number;
}

const INSERT_LINES = fileURLToPath(new URL('./insert-lines.ts', import.meta.url));
const LINES = 50;
const CLASHES = amount({ usual: 10, thorough: 200 });
/**
 * The loser below waits up to 3 s, so several clashes are played at a time; so few that requests are answered within 3
 * s.
 */
const CLASHES_AT_ONCE = 5;
const PATH = '/memories/log.md';

interface ClashAnswer {
  /** The round, behind a letter of the command. */
  readonly id: string;
  readonly ok: boolean;
}

/** Describes what no backend may get wrong under load, whatever lies below it. */
export function describeRaces(title: string, newTrack: () => RaceTrack, options: RaceOptions): void {
  describe(`${title} under contention`, { timeout: 120_000 }, () => {
    let track: RaceTrack;
    let observer: Memory;
    const opened: Memory[] = [];

    const open = async (): Promise<Memory> => {
      const memory = await track.open();
      opened.push(memory);
      return memory;
    };

    beforeEach(async () => {
      track = newTrack();
      observer = await open();
      await succeed(observer, { command: 'create', path: PATH, file_text: '' });
    });
    afterAll(async () => {
      await Promise.all(opened.map((memory) => memory.close()));
    });

    it(`keeps ${LINES} parallel inserts of one memory`, async () => {
      const memory = await open();
      await Promise.all(numbers(1, LINES).map((n) => insert(memory, n)));
      expect(await linesOf(observer)).toEqual(everyLine());
    });

    it(`keeps ${LINES} parallel inserts of ${options.memories} memories`, async () => {
      const memories = await Promise.all(numbers(1, options.memories).map(open));
      await Promise.all(numbers(1, LINES).map((n) => insert(memories[n % memories.length] ?? observer, n)));
      expect(await linesOf(observer)).toEqual(everyLine());
    });

    it(`keeps ${LINES} parallel inserts of 4 processes`, async () => {
      const shares = [
        [1, 13],
        [14, 26],
        [27, 38],
        [39, LINES],
      ] as const;
      const told = await Promise.all(
        shares.map(async ([first, last]) => {
          const arguments_ = [INSERT_LINES, PATH, String(first), String(last)];
          const env = { ...PROGRAM_ENV, ...track.env };
          const { stdout } = await promisify(execFile)(process.execPath, arguments_, { env });
          return JSON.parse(stdout) as readonly unknown[];
        }),
      );
      expect(told.flat()).toEqual(everyLine().map(() => `The file ${PATH} has been edited.`));
      expect(await linesOf(observer)).toEqual(everyLine());
    });

    it('has exactly one winner among 20 creators of one path', async () => {
      const memories = await Promise.all(numbers(1, 20).map(open));
      for (let round = 0; round < options.rounds; round++) {
        const path = `/memories/created/${round}.md`;
        const results = await Promise.all(
          memories.map((memory, i) => memory.execute({ command: 'create', path, file_text: `creator ${i}` })),
        );
        const winners = results.flatMap((result, i) => (result.isError ? [] : [i]));
        expect(winners).toHaveLength(1);
        const refusals = new Set(results.filter(({ isError }) => isError).map(({ content }) => content));
        expect([...refusals]).toEqual([`Error: File ${path} already exists`]);
        expect(await succeed(observer, { command: 'view', path })).toContain(`\tcreator ${winners[0]}`);
      }
    });

    it(`lets one win of a file and a file below it, each created and edited by 2 processes, ${CLASHES} times`, {
      timeout: 300_000,
    }, async () => {
      const processes = numbers(1, 4).map(() => startCli(['exec', '--jsonl'], { env: track.env }));
      try {
        const answers = processes.map((child) =>
          createInterface({ input: child.stdout })[Symbol.asyncIterator](),
        );
        for (let first = 1; first <= CLASHES; first += CLASHES_AT_ONCE) {
          const rounds = numbers(first, Math.min(first + CLASHES_AT_ONCE - 1, CLASHES));
          const upper = (round: number): string => `/memories/clash/${round}/q`;
          for (const round of rounds) {
            for (const [i, child] of processes.entries()) {
              const path = i % 2 === 0 ? upper(round) : `${upper(round)}/below`;
              const create = { command: 'create', path, file_text: `process ${i}` };
              // If the other process of that path was faster, it may be about to take its file back.
              const insert = { command: 'insert', path, insert_line: 0, insert_text: '' };
              for (const command of [create, insert]) {
                const id = `${command.command[0]}${round}`;
                child.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
              }
            }
          }
          const winners = new Map(rounds.map((round) => [round, [] as number[]]));
          const edits = new Map(rounds.map((round) => [round, 0]));
          for (const [i, lines] of answers.entries()) {
            for (const _ of [...rounds, ...rounds]) {
              const { id, ok } = JSON.parse((await lines.next()).value ?? '{}') as ClashAnswer;
              const round = Number(id.slice(1));
              if (ok && id.startsWith('c')) winners.get(round)?.push(i);
              if (ok && id.startsWith('i')) edits.set(round, (edits.get(round) ?? 0) + 1);
            }
          }
          expect([...winners].filter(([, won]) => won.length !== 1)).toEqual([]);
          for (const [round, [winner = 0]] of winners) {
            const listing = await succeed(observer, { command: 'view', path: `/memories/clash/${round}` });
            const rows = winner % 2 === 0 ? [upper(round)] : [`${upper(round)}/`, `${upper(round)}/below`];
            // Every edit that was acknowledged is in it: an empty line each.
            const size = 9 + (edits.get(round) ?? 0);
            expect(size).toBeGreaterThan(9);
            expect(listing.split('\n').slice(2)).toEqual(rows.map((path) => `${size}B\t${path}`));
          }
        }
      } finally {
        await Promise.all(
          processes.map(async (child) => {
            child.stdin.end();
            if (child.exitCode === null) await once(child, 'close');
          }),
        );
      }
    });

    it('lets one of two renames onto one target win and loses neither file', async () => {
      const [one, two] = [await open(), await open()];
      for (let round = 0; round < options.rounds; round++) {
        const [from, to] = [(name: string) => `/memories/r${round}/${name}`, `/memories/r${round}/target`];
        await succeed(one, { command: 'create', path: from('one'), file_text: 'text of one' });
        await succeed(two, { command: 'create', path: from('two'), file_text: 'text of two' });
        const results = await Promise.all([
          one.execute({ command: 'rename', old_path: from('one'), new_path: to }),
          two.execute({ command: 'rename', old_path: from('two'), new_path: to }),
        ]);
        const [winner, loser] = results[0].isError ? ['two', 'one'] : ['one', 'two'];
        expect(results.map(({ content }) => content).sort()).toEqual(
          [
            `Error: The destination ${to} already exists`,
            `Successfully renamed ${from(winner)} to ${to}`,
          ].sort(),
        );
        expect(await succeed(observer, { command: 'view', path: to })).toContain(`text of ${winner}`);
        expect(await succeed(observer, { command: 'view', path: from(loser) })).toContain(`text of ${loser}`);
        const gone = await observer.execute({ command: 'view', path: from(winner) });
        expect(gone.isError).toBe(true);
      }
    });

    it('lets one of two renames of one file win and keeps it once', async () => {
      const [one, two] = [await open(), await open()];
      for (let round = 0; round < options.rounds; round++) {
        const directory = `/memories/s${round}`;
        await succeed(one, { command: 'create', path: `${directory}/file`, file_text: 'text' });
        const results = await Promise.all(
          [one, two].map((memory, i) =>
            memory.execute({
              command: 'rename',
              old_path: `${directory}/file`,
              new_path: `${directory}/${i}`,
            }),
          ),
        );
        expect(results.filter(({ isError }) => !isError)).toHaveLength(1);
        const winner = results.findIndex(({ isError }) => !isError);
        const listing = await succeed(observer, { command: 'view', path: directory });
        expect(listing.split('\n').slice(2)).toEqual([`4B\t${directory}/${winner}`]);
      }
    });
  });
}

function numbers(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

function everyLine(): readonly string[] {
  return numbers(1, LINES)
    .map((n) => `line ${n}`)
    .sort();
}

async function insert(memory: Memory, n: number): Promise<void> {
  await succeed(memory, { command: 'insert', path: PATH, insert_line: 0, insert_text: `line ${n}` });
}

async function linesOf(memory: Memory): Promise<readonly string[]> {
  const shown = await succeed(memory, { command: 'view', path: PATH });
  const lines = shown.split('\n').slice(1);
  return lines
    .map((line) => line.slice(line.indexOf('\t') + 1))
    .filter((line) => line !== '')
    .sort();
}
