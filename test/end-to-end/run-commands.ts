import { openMemory } from '../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';

// node run-commands.ts JSON: executes the commands of a JSON array one after the other in a memory from the
// environment, and writes as JSON what the model would read of each, and the error's code.

const memory = await openMemory(optionsFromEnvironment());
const results: unknown[] = [];
for (const input of JSON.parse(process.argv[2] ?? '[]') as readonly unknown[]) {
  const result = await memory.execute(input);
  results.push({ content: result.content, code: result.isError ? result.error.code : undefined });
}
await memory.close();
process.stdout.write(JSON.stringify(results));
