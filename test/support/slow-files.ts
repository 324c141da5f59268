import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Many seeds, many inputs, and the template of the cloud, which takes seconds to make. */
const TAKES_LONG: readonly string[] = ['simulation', 'fuzz', 'infra'].map(
  (part) => `test/${part}/**/*.test.ts`,
);

/** The test files that `npm run test:quick` leaves out: they take long, or start processes. */
export function slowFiles(): readonly string[] {
  const files = globSync('test/**/*.test.ts').filter((file) => !file.endsWith('.s3.test.ts'));
  const known = new Map<string, boolean>();
  return [...TAKES_LONG, ...files.filter((file) => startsProcesses(file, known))];
}

/** Whether the file, or one that it imports, imports what starts processes. */
function startsProcesses(file: string, known: Map<string, boolean>): boolean {
  const answer = known.get(file);
  if (answer !== undefined) return answer;
  // Files that import each other: the answer comes from the rest of them.
  known.set(file, false);
  if (!existsSync(file)) return false;
  const source = readFileSync(file, 'utf8');
  const imported = [...source.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gms)].map(
    ([, name = '']) => name,
  );
  const starts = imported.some((name) =>
    name.startsWith('.') ? startsProcesses(join(dirname(file), name), known) : name === 'node:child_process',
  );
  known.set(file, starts);
  return starts;
}
