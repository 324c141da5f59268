import { fileURLToPath } from 'node:url';
import { type NamedProgram, runNamed } from './runner/named-programs.ts';

/**
 * The proofs beside the suites; docs/testing.md says more about each, and `npm run prove NAME -- --help` its options.
 */
export const PROOFS: Readonly<Record<string, NamedProgram>> = {
  checkpoints: prove('checkpoints', 'attacks after a checkpoint are named, and nothing else is'),
  history: prove('history-proof', 'all that is proved of the history by number, in full size'),
  linearizability: prove(
    'linearizability',
    'histories on real stores, or of the simulation, judged by Porcupine',
  ),
  model: prove('model', 'the protocols as a formal model, every order of faults'),
  mutants: prove('mutants', 'mutants of the code, made by StrykerJS, and the tests that kill them'),
  package: prove('packed', 'the package that would be published'),
  peers: prove('peers', 'the oldest and the newest peers that package.json lets in'),
  runtimes: prove('runtimes', 'the contracts in Bun and in Deno'),
  simulation: prove('simulation', 'the protocols under faults, kills and freezes'),
  testkit: prove('testkit', 'the same questions for programs in other languages'),
};

function prove(folder: string, gives: string): NamedProgram {
  const main = fileURLToPath(new URL(`${folder}/main.ts`, import.meta.url));
  return { command: [process.execPath, main], gives };
}

if (import.meta.main) await runNamed('prove', PROOFS, process.argv.slice(2));
