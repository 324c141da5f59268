import { openMemory } from '../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';

// node insert-lines.ts PATH FIRST LAST: inserts `line FIRST` to `line LAST` into the file, all at once, by a memory
// from the environment, and writes what the model would read as a JSON array.

const [path, first, last] = process.argv.slice(2);
const numbers = Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i);
const memory = await openMemory(optionsFromEnvironment());
const results = await Promise.all(
  numbers.map((number) =>
    memory.execute({ command: 'insert', path, insert_line: 0, insert_text: `line ${number}` }),
  ),
);
await memory.close();
process.stdout.write(JSON.stringify(results.map(({ content }) => content)));
