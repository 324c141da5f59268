import { loadSodium } from '../../src/format/sodium.ts';
import { lineOf, linesOf } from './lines.ts';
import { closeOwn, ownAnswer } from './own-answers.ts';

// This library as a program under test: requests on standard input, answers on standard output.
await loadSodium();
for await (const line of linesOf(process.stdin)) {
  const { id, ...asked } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  process.stdout.write(lineOf({ id, ...(await ownAnswer(asked)) }));
}
await closeOwn();
