/** A line of the testkit: what a program is asked, and the answers that are right. README.md tells what they mean. */
export interface Case {
  readonly group: 'read' | 'refuse' | 'names' | 'sizes' | 'commands';
  readonly id: string;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly ask: Request;
  readonly answer: Answer;
}

export type Request = Readonly<Record<string, unknown>> & { readonly do: string };

/** A failure has a code of docs/format.md or docs/errors.md, and a command's also what the model reads. */
export type Answer = { readonly result: unknown } | { readonly code: string; readonly content?: string };
