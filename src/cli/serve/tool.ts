import { type Command, InvalidArgumentError } from 'commander';
import { isForTheOperator } from '../../errors.ts';
import { openMemoryUntil } from '../../open/open-memory.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import type { MemoryResult } from '../../tool/memory-tool.ts';
import { type ChosenVerb, EXIT_FAILED, explain, type Invocation } from '../run/invocation.ts';
import { readMemoryOptions } from '../run/settings.ts';
import { readSource, requireText, type SourceOptions } from '../run/source.ts';
import { wholeNumber, withSource } from '../run/typed.ts';

/** The bounds of a line number; the tool itself refuses a line that the file lacks, in the model's sentence. */
const LINE = {
  least: -999_999_999_999_999,
  most: 999_999_999_999_999,
  sentence: 'Give a line number; 0 is the start.',
};

/** Declares `tool` with the six commands, as the model gives them. */
export function declareTool(program: Command, run: ChosenVerb<typeof runTool>): void {
  const tool = program
    .command('tool')
    .description("the model's six commands, answered with the sentences that the model reads");

  tool
    .command('view <path>')
    .description('show a file or a directory')
    .option('--range <first,last>', 'the lines to show; -1: to the end', parseRange)
    .action((path: string, { range }: { readonly range?: readonly number[] }) =>
      call({ command: 'view', path, ...(range && { view_range: range }) }),
    );
  withSource(tool.command('create <path>').description('create a text file')).action(
    (path: string, source: SourceOptions) =>
      call({ command: 'create', path }, { field: 'file_text', source }),
  );
  tool
    .command('str-replace <path>')
    .description('replace a text that occurs exactly once')
    .requiredOption('--old <text>', 'the text to replace')
    .option('--new <text>', 'what to put there; without it the text is deleted', '')
    .action((path: string, options: { readonly old: string; readonly new: string }) =>
      call({ command: 'str_replace', path, old_str: options.old, new_str: options.new }),
    );
  withSource(
    tool
      .command('insert')
      .description('insert text after a line')
      .argument('<path>')
      .argument('<line>', '0: at the start', wholeNumber(LINE)),
  ).action((path: string, line: number, source: SourceOptions) =>
    call({ command: 'insert', path, insert_line: line }, { field: 'insert_text', source }),
  );
  tool
    .command('delete <path>')
    .description('delete a file, or a directory with everything below it')
    .action((path: string) => call({ command: 'delete', path }));
  tool
    .command('rename <old> <new>')
    .description('rename a file or a directory')
    .action((from: string, to: string) => call({ command: 'rename', old_path: from, new_path: to }));

  function call(input: ToolInput, sourced?: SourcedField): void {
    run(input, sourced);
  }
}

/** One of the six commands with its fields, as the model gives it. */
export type ToolInput = Readonly<Record<string, unknown>> & { readonly command: string };

/** A field of a command whose text is read from the user's source. */
interface SourcedField {
  readonly field: string;
  readonly source: SourceOptions;
}

/** Runs one command of the tool and answers what the model would read. Resolves to the exit code. */
export async function runTool(
  input: ToolInput,
  sourced: SourcedField | undefined,
  invocation: Invocation,
): Promise<number> {
  const { report, signal } = invocation;
  const options = readMemoryOptions(invocation);
  const text = sourced && (await readField(sourced, { invocation, options }));
  await using memory = await report.during('opening the memory', () => openMemoryUntil(options, signal));
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

function parseRange(text: string): readonly number[] {
  if (!/^\d+,(-1|\d+)$/.test(text)) throw new InvalidArgumentError('Give first,last such as 10,20 or 10,-1.');
  return text.split(',').map(Number);
}
