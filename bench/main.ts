import { commands } from './commands.ts';
import { crypto } from './crypto.ts';
import { start } from './start.ts';

const SUITES = { crypto, commands, start } as const;
type SuiteName = keyof typeof SUITES;

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in SUITES));
if (wanted.includes('--help') || unknown.length > 0) {
  console.log(
    `usage: npm run bench -- [${Object.keys(SUITES).join('] [')}]\nWithout a name all of them run.`,
  );
  process.exit(wanted.includes('--help') ? 0 : 2);
}

const names = (wanted.length > 0 ? wanted : Object.keys(SUITES)) as SuiteName[];
for (const name of names) {
  console.log(`\n${name}: ratios within this run, the reference is 1.00`);
  await SUITES[name]();
}
