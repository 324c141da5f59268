import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { shortVersion } from './short-version.ts';
import type { Terminal } from './terminal.ts';

/** One side of a comparison: a text, and what it is called. */
export interface Side {
  readonly path: string;
  readonly text: string;
  /** Of a version: its whole name. */
  readonly version?: string | undefined;
}

/** How two texts differ, as `diff -u` writes it; the first characters of a version stand behind the path. */
export function patchOf(before: Side, after: Side): string {
  const [from, to] = [before, after].map(({ version }) => version && shortVersion(version));
  const options = { headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(before.path, after.path, before.text, after.text, from, to, options);
}

export function colouredLines(patch: string, { style }: Pick<Terminal, 'style'>): readonly string[] {
  return patch
    .trimEnd()
    .split('\n')
    .map((line) => {
      if (line.startsWith('+')) return style('green', line);
      if (line.startsWith('-')) return style('red', line);
      return line.startsWith('@@') ? style('cyan', line) : line;
    });
}
