import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Choose } from '../run/choose.ts';
import type { SourceOptions } from '../run/source.ts';
import { parsePort, withSource } from '../run/typed.ts';
import type { ExecArguments } from '../serve/exec.ts';
import type { McpArguments } from '../serve/mcp.ts';
import type { SourcedField, ToolInput } from '../serve/tool.ts';

/** Adds the six commands of the memory tool, as the model gives them, and the drivers for programs. */
export function addToolVerbs(program: Command, choose: Choose): void {
  const tool = program
    .command('tool')
    .description("the model's six commands, answered with the sentences that the model reads");
  const run = (input: ToolInput, sourced?: SourcedField): void =>
    choose(async (invocation) => (await import('../serve/tool.ts')).runTool(input, invocation, sourced));

  tool
    .command('view <path>')
    .description('show a file or a directory')
    .option('--range <first,last>', 'the lines to show; -1: to the end', parseRange)
    .action((path: string, { range }: { readonly range?: readonly number[] }) =>
      run({ command: 'view', path, ...(range && { view_range: range }) }),
    );
  withSource(tool.command('create <path>').description('create a text file')).action(
    (path: string, source: SourceOptions) => run({ command: 'create', path }, { field: 'file_text', source }),
  );
  tool
    .command('str-replace <path>')
    .description('replace a text that occurs exactly once')
    .requiredOption('--old <text>', 'the text to replace')
    .option('--new <text>', 'what to put there; without it the text is deleted', '')
    .action((path: string, options: { readonly old: string; readonly new: string }) =>
      run({ command: 'str_replace', path, old_str: options.old, new_str: options.new }),
    );
  withSource(
    tool
      .command('insert')
      .description('insert text after a line')
      .argument('<path>')
      .argument('<line>', '0: at the start', parseLine),
  ).action((path: string, line: number, source: SourceOptions) =>
    run({ command: 'insert', path, insert_line: line }, { field: 'insert_text', source }),
  );
  tool
    .command('delete <path>')
    .description('delete a file, or a directory with everything below it')
    .action((path: string) => run({ command: 'delete', path }));
  tool
    .command('rename <old> <new>')
    .description('rename a file or a directory')
    .action((from: string, to: string) => run({ command: 'rename', old_path: from, new_path: to }));

  program
    .command('exec')
    .description('answer tool inputs, one JSON object per line of standard input')
    .requiredOption('--jsonl', 'the protocol: JSON lines')
    .option('--sessions', 'the lines are requests about sessions instead; docs/sessions.md is the guide')
    .action((options: ExecArguments) =>
      choose(async (invocation) => (await import('../serve/exec.ts')).runExec(options, invocation)),
    );

  program
    .command('mcp')
    .description('serve the memory to an MCP host over standard input and output; docs/mcp.md is the guide')
    .addOption(
      new Option('--http [port]', 'over HTTP on 127.0.0.1 instead, for any number of hosts; 0: any free port')
        .preset(String(MCP_PORT))
        .argParser(parsePort),
    )
    .option('--token-file <file>', 'the bearer token of --http; without it one is made and printed')
    .option('--six-tools', 'a tool for each command instead of one for all')
    .action((options: McpArguments) =>
      choose(async (invocation) => (await import('../serve/mcp.ts')).runMcp(options, invocation)),
    );
}

/** Where MCP hosts find the memory, unless another port is given. */
const MCP_PORT = 7391;

function parseRange(text: string): readonly number[] {
  if (!/^\d+,(-1|\d+)$/.test(text)) throw new InvalidArgumentError('Give first,last such as 10,20 or 10,-1.');
  return text.split(',').map(Number);
}

function parseLine(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a line number; 0 is the start.');
  return Number(text);
}
