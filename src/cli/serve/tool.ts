import { isForTheOperator } from '../../errors.ts';
import { openMemory } from '../../open/open-memory.ts';
import type { MemoryOptions } from '../../open/options.ts';
import type { MemoryResult } from '../../tool/memory-tool.ts';
import { EXIT_FAILED, explain, type Invocation } from '../run/invocation.ts';
import { readMemoryOptions } from '../run/settings.ts';
import { readSource, requireText, type SourceOptions } from '../run/source.ts';

/** One of the six commands with its fields, as the model gives it. */
export type ToolInput = Readonly<Record<string, unknown>> & { readonly command: string };

/** A field of a command whose text is read from the user's source. */
export interface SourcedField {
  readonly field: string;
  readonly source: SourceOptions;
}

/** Runs one command of the tool and answers what the model would read. Resolves to the exit code. */
export async function runTool(
  input: ToolInput,
  invocation: Invocation,
  sourced?: SourcedField,
): Promise<number> {
  const { report, signal } = invocation;
  const options = readMemoryOptions(invocation);
  const text = sourced && (await readField(sourced, { invocation, options }));
  await using memory = await report.during('opening the memory', () => openMemory(options));
  const result = await report.during('reaching the store', () =>
    memory.execute(
      { ...input, ...text },
      {
        signal,
        onProgress: (progress) => report.progress({ ...progress }, { what: 'files', ...progress }),
      },
    ),
  );
  if (result.isError) return explainRefusal(result, invocation);
  const { content } = result;
  const shown =
    typeof content === 'string' ? content : 'This is an image: "sealed-memory get" writes it to a file.';
  await report.done({ content }, [shown]);
  return 0;
}

async function readField(
  { field, source }: SourcedField,
  { invocation, options }: { readonly invocation: Invocation; readonly options: MemoryOptions },
): Promise<Readonly<Record<string, string>>> {
  const { terminal, signal } = invocation;
  return { [field]: requireText(await readSource(source, { terminal, options, signal })) };
}

async function explainRefusal(
  { content, error }: Extract<MemoryResult, { readonly isError: true }>,
  invocation: Invocation,
): Promise<number> {
  // The model's sentence leaves out what the operator alone may read and can mend.
  if (isForTheOperator(error)) return explain(error, invocation);
  await invocation.report.cutOff('failed', { code: error.code, content });
  invocation.terminal.complain(content);
  return EXIT_FAILED;
}
