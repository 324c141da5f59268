import { optionsFromEnvironment, readHarness } from '../open/environment.ts';
import { openTenant } from '../open/open-memory.ts';
import { execJsonLines } from './exec-jsonl.ts';
import type { FileCommand, FileCommandTarget } from './file-commands.ts';
import { createHarness } from './harness.ts';
import { createOperatorLogger, exitCodeFor, type Invocation, operatorLine } from './terminal.ts';

/** Runs one command for people on the configured memory: success on standard output, failure on standard error. */
export async function runFileCommand(command: FileCommand, invocation: Invocation): Promise<number> {
  const { terminal, signal } = invocation;
  await using session = await openSession(invocation);
  const { memory, tree, settings } = session;
  const target: FileCommandTarget = {
    execute: (input) => memory.execute(input, { signal, onProgress: terminal.progress }),
    tree: {
      read: (path) => tree.read(path, { signal }),
      create: (path, content) => tree.create(path, content, { signal }),
      overwrite: (path, content) => tree.overwrite(path, content, { signal }),
    },
    onExists: settings.onExists,
    maxBytes: settings.maxFileBytes,
    terminal,
  };
  const said = await command(target);
  if ('failure' in said) {
    terminal.complain(said.failure);
    return exitCodeFor(said.error);
  }
  await terminal.out('bytes' in said ? said.bytes : `${said.sentence}\n`);
  return 0;
}

/** Answers the JSON lines of standard input until it ends. */
export async function runExec(invocation: Invocation): Promise<number> {
  const { terminal, signal } = invocation;
  await using session = await openSession(invocation);
  const { memory, tree } = session;
  await execJsonLines({
    input: terminal.stdin,
    write: (line) => terminal.out(line),
    execute: (input, either) => memory.execute(input, { signal: either }),
    signal,
    harness: readHarness() ? createHarness(tree) : undefined,
    onThrown: (error) => {
      const line = operatorLine(error);
      if (line !== undefined) terminal.complain(line);
    },
  });
  return 0;
}

async function openSession({ terminal }: Invocation) {
  const logger = createOperatorLogger(terminal.complain);
  const { parts, settings, close } = await openTenant(optionsFromEnvironment(undefined, { logger }));
  const memory = parts.openMemory(close);
  return {
    memory,
    tree: parts.tree,
    settings,
    [Symbol.asyncDispose]: () => memory.close(),
  };
}
