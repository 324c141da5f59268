import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { decodeText } from '../../language/text.ts';
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

/** What a file holds or is to hold; of a version, with its whole name. */
export interface Content {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly version?: string | undefined;
}

/** How a change alters a file that is created, replaced or deleted; null where a side is no text. */
export function changePatch(before: Content | undefined, after: Content | undefined): string | null {
  const [from, to] = [sideOf(before), sideOf(after)];
  return from && to ? patchOf(from, to) : null;
}

/** The place of a file that is not there, as `diff` writes it. */
const NO_FILE: Side = { path: '/dev/null', text: '' };

function sideOf(content: Content | undefined): Side | undefined {
  if (content === undefined) return NO_FILE;
  const { path, version } = content;
  const text = decodeText(content.bytes);
  return text === undefined ? undefined : { path, text, version };
}

export const NOT_TEXT = 'what the file holds is not text';

/** A patch of `changePatch` for people. */
export function changeLines(patch: string | null, terminal: Pick<Terminal, 'style'>): readonly string[] {
  return patch === null ? [NOT_TEXT] : colouredLines(patch, terminal);
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
