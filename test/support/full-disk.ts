import { openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openMemory } from '../../src/open/open-memory.ts';
import { silentLogger } from '../doubles/silent-logger.ts';

/**
 * Runs on a small file system that holds nothing else: fills it by creating files, takes the last byte of it, and then
 * deletes, edits and creates. Prints what became of each step. Usage: `full-disk.ts <folder>`
 */
const [folder = ''] = process.argv.slice(2);
const file = join(folder, 'memory.db');
const store = `sqlite:${file}`;
const open = () =>
  openMemory({ store, tenant: 'acme', rootKey: new Uint8Array(32).fill(5), logger: silentLogger });

type Memory = Awaited<ReturnType<typeof open>>;
const codeOf = async (memory: Memory, input: unknown): Promise<string> => {
  const result = await memory.execute(input);
  return result.isError ? result.error.code : 'done';
};
const creating = (path: string, bytes: number) => ({ command: 'create', path, file_text: 'x'.repeat(bytes) });
const deleting = (path: string) => ({ command: 'delete', path });

async function fill(memory: Memory): Promise<readonly string[]> {
  const paths: string[] = [];
  for (let index = 0, bytes = 20_000; bytes >= 1; index++) {
    const path = `/memories/many/${index}.md`;
    if ((await codeOf(memory, creating(path, bytes))) === 'done') paths.push(path);
    else bytes = Math.floor(bytes / 10);
  }
  return paths;
}

/** Until not even a byte can be written. */
function takeTheRest(): void {
  const rest = openSync(join(folder, 'rest'), 'w');
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(rest, Buffer.alloc(size, 1));
    } catch {}
  }
}

async function readable(memory: Memory, paths: readonly string[]): Promise<number> {
  let found = 0;
  for (const path of paths) if ((await codeOf(memory, { command: 'view', path })) === 'done') found++;
  return found;
}

const first = await open();
const large = [await codeOf(first, creating('/memories/large.md', 900_000))];
const paths = await fill(first);
takeTheRest();
const refused = await codeOf(first, creating('/memories/more.md', 20_000));
await first.close();

// Another process, as it were: what is needed to delete is no matter of what this one had before.
const memory = await open();
const size = statSync(file).size;
const [one = '', two = '', ...others] = paths;
const single = await codeOf(memory, deleting(one));
const again = await codeOf(memory, creating('/memories/again.md', 15_000));
const edited = await codeOf(memory, {
  ...{ command: 'insert', path: two, insert_line: 0 },
  insert_text: 'a line',
});
large.push(await codeOf(memory, deleting('/memories/large.md')));
const kept = await readable(memory, [two, ...others]);
const all = await codeOf(memory, deleting('/memories/many'));
const after = await readable(memory, [two, ...others]);
const anew = await codeOf(memory, creating('/memories/anew.md', 800_000));
await memory.close();
const grown = statSync(file).size - size;
console.log(
  JSON.stringify({
    refused,
    single,
    again,
    edited,
    large,
    lost: paths.length - 1 - kept,
    all,
    after,
    anew,
    grown,
  }),
);
