import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openMemory } from '../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import { deedOf } from './deeds.ts';

// node writer-process.ts NAME TTL STRIDE: executes its deeds one after the other, every one or each of so many, in a
// memory from the environment whose keyring lives for TTL milliseconds, until its standard input ends. Prints a line for each before it begins, and
// then how it ended: `done`, or the code of its failure.

const [name = '', ttl, stride] = process.argv.slice(2);
let stopping = false;
process.stdin.on('end', () => {
  stopping = true;
});
process.stdin.resume();

const memory = await openMemory(optionsFromEnvironment(undefined, { keyring: { ttlMs: Number(ttl) } }));
for (let number = 0; !stopping; number++) {
  writeSync(1, 'begun\n');
  const result = await memory.execute(deedOf(name, number * Number(stride)).command);
  writeSync(1, `${result.isError ? result.error.code : 'done'}\n`);
  await sleep(result.isError ? 50 : 15);
}
await memory.close();
