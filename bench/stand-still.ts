import { patchOf } from '../src/cli/show/patch.ts';
import { findInLines } from '../src/language/text.ts';
import { openMemory } from '../src/open/open-memory.ts';
import { inTurns } from '../src/time.ts';
import type { Lab } from './lab.ts';

const MIB = 1_048_576;
const MOST_MS = 100;
const PATH = '/memories/notes.md';

/** Texts of 1 MiB, the limit of a file unless another is set: what agents write, and what was made to be slow. */
const TEXTS: Readonly<Record<string, string>> = {
  'ordinary lines': repeated(
    (index) => `- ${index}: the quick brown fox met 12 dogs on 2026-11-21, at v1.2.3\n`,
  ),
  'line feeds': repeated(() => '\n'),
  addresses: repeated(() => 'Ada Lovelace, ada@example.org, +49 30 901820\n'),
  'digits one by one': repeated(() => '1 '),
  'beginnings of tokens': repeated(() => `${'ghs_1_'.repeat(160)}.${'a'.repeat(10_000)} `),
};

/** For how long each operation on a file of 1 MiB holds the event loop at most, in one step. */
export async function standStill(lab: Lab): Promise<void> {
  const runs = lab.isQuick ? 1 : 5;
  for (const [name, text] of Object.entries(TEXTS)) {
    for (const [operation, work] of Object.entries(await operationsOn(text, lab))) {
      let longest = Number.POSITIVE_INFINITY;
      for (let run = 0; run < runs; run += 1) longest = Math.min(longest, await longestStepOf(work));
      lab.fact(
        `${operation}, 1 MiB of ${name}: the event loop stood still for ${longest.toFixed(0)} ms, at most ${MOST_MS}`,
        longest <= MOST_MS ? 'met' : 'missed',
      );
    }
  }
}

function repeated(lineAt: (index: number) => string): string {
  const lines: string[] = [];
  for (let length = 0, index = 0; length < MIB; index += 1)
    length += lines[lines.push(lineAt(index)) - 1]?.length ?? 0;
  return lines.join('').slice(0, MIB - 64);
}

async function operationsOn(
  text: string,
  { stack }: Lab,
): Promise<Readonly<Record<string, () => Promise<unknown>>>> {
  const rootKey = new Uint8Array(32).fill(3);
  const open = async (policy?: string) => {
    const memory = await openMemory({ store: 'memory:', tenant: 'bench', rootKey, policy });
    stack.defer(() => memory.close());
    return memory;
  };
  const plain = await open();
  const [personal, secrets] = [await open('email,card,iban,phone'), await open('secrets')];
  await plain.files.write(PATH, `${text}end 0`);
  const end = { at: 0 };
  const other = `first\n${text.slice(text.length / 2)}${text.slice(0, text.length / 2)}`;
  const write = (memory: typeof plain) => () => memory.files.write(PATH, text).catch(() => {});
  return {
    write: () => plain.files.write('/memories/other.md', text),
    'write, policy for personal data': write(personal),
    'write, policy for secrets': write(secrets),
    view: () => plain.execute({ command: 'view', path: PATH }),
    str_replace: () => {
      const [old_str, new_str] = [`end ${end.at}`, `end ${end.at + 1}`];
      end.at += 1;
      return plain.execute({ command: 'str_replace', path: PATH, old_str, new_str });
    },
    insert: () =>
      plain.execute({ command: 'insert', path: '/memories/other.md', insert_line: 0, insert_text: '' }),
    search: () => inTurns(findInLines(text, (line) => (/fox.*cat/iu.test(line) ? line : undefined))),
    comparison: () => patchOf({ path: 'a', text }, { path: 'b', text: other }, undefined),
  };
}

/** For how long the event loop stood still at most, in milliseconds, until the work had ended. */
export async function longestStepOf(work: () => Promise<unknown>): Promise<number> {
  let [longest, last, working] = [0, performance.now(), true];
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (working) setImmediate(look);
  };
  setImmediate(look);
  await work();
  working = false;
  await new Promise((resolve) => setImmediate(resolve));
  look();
  return longest;
}
