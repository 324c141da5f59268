import type { Command } from 'commander';
import { type Choose, withSource } from './arguments.ts';
import type { SourceOptions } from './verbs/source.ts';

/** Adds the commands on files, for people and scripts. */
export function addFileVerbs(program: Command, choose: Choose): void {
  program
    .command('cat <path>')
    .description("write a file's bytes to standard output")
    .action((path: string) => choose(async (run) => (await verbs()).runCat(path, run)));
  withSource(
    program.command('put <path>').description('write a file of any bytes, new or in place of the old'),
  ).action((path: string, source: SourceOptions) =>
    choose(async (run) => (await verbs()).runPut(path, source, run)),
  );
}

const verbs = (): Promise<typeof import('./verbs/files.ts')> => import('./verbs/files.ts');
