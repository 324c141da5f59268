import { wrapped } from './wrap.ts';

/** One place of a picture of lines, and what hangs below it. */
export interface Branch {
  readonly line: string;
  readonly below: Iterable<Branch>;
}

/** Draws the lines below a branch, without its own, in rows of a given number of characters. */
export function* linesBelow(
  { below }: Pick<Branch, 'below'>,
  { indent = '', columns = Number.POSITIVE_INFINITY } = {},
): Generator<string, void> {
  const branches = [...below];
  for (const [index, branch] of branches.entries()) {
    const isLast = index === branches.length - 1;
    const beside = `${indent}${isLast ? '    ' : '│   '}`;
    const rows = wrapped(branch.line, { room: columns - beside.length });
    for (const [row, line] of rows.entries())
      yield row === 0 ? `${indent}${isLast ? '└── ' : '├── '}${line}` : `${beside}${line}`;
    yield* linesBelow(branch, { indent: beside, columns });
  }
}
