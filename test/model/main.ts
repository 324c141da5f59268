import { spawn, spawnSync } from 'node:child_process';
import { readCall } from '../../infra/local/terminal/program-call.ts';

const USAGE = 'npm run prove model -- [--full] [--model NAME] [--without GUARD] [--list]';

/** Runs the formal model of docs/protocols.md; `--full` explores larger bounds; the arguments go to the model. */

const FOLDER = import.meta.dirname;
const HOW_TO_GET_CARGO =
  'The formal model did NOT RUN: it needs cargo 1.85 or later, which https://rustup.rs installs.';

/** Waits for the program; its exit code, or 1 when a signal ended it. */
function run(program: string, given: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, given, { cwd: FOLDER, stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1000).toFixed(0)} s`;
}

async function main(given: readonly string[]): Promise<number> {
  if (spawnSync('cargo', ['--version']).status !== 0) {
    console.log(HOW_TO_GET_CARGO);
    return process.env['CI'] === 'true' ? 1 : 0;
  }
  const begun = Date.now();
  console.log('Building the model (about a minute, once).');
  const built = await run('cargo', ['build', '--release', '--locked', '--quiet']);
  if (built !== 0) return built;
  console.log(`Built after ${seconds(begun)}. Exploring.`);
  const explored = await run('target/release/protocol-model', given);
  console.log(`${explored === 0 ? 'All holds' : 'FAILED'} after ${seconds(begun)}.`);
  return explored;
}

readCall(USAGE, {
  options: {
    full: { type: 'boolean' },
    model: { type: 'string' },
    without: { type: 'string' },
    list: { type: 'boolean' },
  },
});
process.exitCode = await main(process.argv.slice(2));
