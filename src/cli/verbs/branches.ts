/** One place of a picture of lines, and what hangs below it. */
export interface Branch {
  readonly line: string;
  readonly below: Iterable<Branch>;
}

/** The lines below a branch, without its own. */
export function* linesBelow({ below }: Branch, indent = ''): Generator<string, void> {
  const branches = [...below];
  for (const [index, branch] of branches.entries()) {
    const isLast = index === branches.length - 1;
    yield `${indent}${isLast ? '└── ' : '├── '}${branch.line}`;
    yield* linesBelow(branch, `${indent}${isLast ? '    ' : '│   '}`);
  }
}
