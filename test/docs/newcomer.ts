import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { PROGRAM_ENV, putNpx } from '../stage/programs.ts';
import { blocksOf } from './pages.ts';

/** The text that was printed on both streams, and how the last line ended. */
interface Typed {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** Who has a page, an empty folder and a shell, and types what stands there. The library runs from its sources. */
export interface Newcomer {
  readonly folder: string;
  /** Types lines into a shell that ends at the first failure. */
  type(lines: string, settings?: Readonly<Record<string, string>>): Promise<Typed>;
  /** Saves a program of the page as a file. */
  save(name: string, program: string): void;
  leave(): void;
}

/** The block of a page that holds this line. */
export function blockWith(page: string, line: string): string {
  const found = blocksOf(page, 'sh', 'ts').find(({ text }) => text.includes(line));
  if (found === undefined) throw new Error(`${page} has no block with ${line}`);
  return found.text;
}

const SUBPATHS: Readonly<Record<string, unknown>> = manifest.exports;

/** A program of a page, with the sources in the place of the package. */
export const withSources = (program: string): string =>
  program.replaceAll(/'sealed-memory(\/[\w-]+)?'/g, (_, path: string = '') => {
    const { types } = SUBPATHS[`.${path}`] as { readonly types: string };
    return `'${resolve(types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'))}'`;
  });

export function createNewcomer(): Newcomer {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-newcomer-'));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  putNpx(folder);
  const path = `${folder}:${resolve('node_modules/node/bin')}:${process.env['PATH']}`;
  return {
    folder,
    type: (lines, settings) =>
      new Promise((done) => {
        const env = { ...PROGRAM_ENV, PATH: path, HOME: tmpdir(), ANTHROPIC_API_KEY: 'none', ...settings };
        execFile('sh', ['-e', '-c', lines], { cwd: folder, env }, (error, stdout, stderr) =>
          done({ stdout, stderr, code: error === null ? 0 : Number(error.code) }),
        );
      }),
    save: (name, program) => writeFileSync(join(folder, name), withSources(program)),
    leave: () => rmSync(folder, { recursive: true }),
  };
}
