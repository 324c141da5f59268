import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCall, refuseCall } from '../../infra/local/terminal/program-call.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { commandCases } from './command-cases.ts';
import { formatCases } from './format-cases.ts';
import { lineOf } from './lines.ts';
import { runCases } from './runner.ts';

const USAGE = `npm run prove testkit -- --command "PROGRAM" [--group GROUP ...]
npm run prove testkit -- --print [--group GROUP ...]
npm run prove testkit -- --module FILE

  --command "PROGRAM"  asks PROGRAM, one line of JSON at a time, and judges its answers
  --print              the cases as JSON Lines
  --module FILE        puts the object store and the root keys of a TypeScript module to the suites of their ports
  --group GROUP        read, refuse, names, sizes or commands; all unless given
  --help               this text

test/testkit/README.md tells the requests and the answers.`;

async function main(): Promise<void> {
  const { values } = readCall(USAGE, {
    options: {
      command: { type: 'string' },
      print: { type: 'boolean', default: false },
      module: { type: 'string' },
      group: { type: 'string', multiple: true },
    },
  });
  if (values.module !== undefined) {
    process.exitCode = judgePorts(values.module);
    return;
  }
  await loadSodium();
  const wanted = [...formatCases(), ...(await commandCases())].filter(
    ({ group }) => values.group === undefined || values.group.includes(group),
  );
  if (wanted.length === 0) return refuseCall(USAGE, 'There is no case in the groups that were named');
  if (values.print) {
    for (const one of wanted) process.stdout.write(lineOf(one));
    return;
  }
  if (values.command === undefined) return refuseCall(USAGE, 'Name --command, --print or --module');
  const { passed, failures } = await runCases(values.command, wanted);
  for (const failure of failures) console.log(JSON.stringify(failure));
  const sum = Object.entries(passed).map(([group, count]) => `${group} ${count}`);
  console.log(`passed: ${sum.join(', ') || 'none'}; failed: ${failures.length}`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

/** Runs the suites of both ports; the exit code is Vitest's. */
function judgePorts(module: string): number {
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url));
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', config], {
    stdio: 'inherit',
    env: { ...process.env, NO_COLOR: '1', TESTKIT_MODULE: resolve(module) },
  });
  return status ?? 1;
}

await main();
