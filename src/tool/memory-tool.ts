import type { MemoryToolHandlers } from '@anthropic-ai/sdk/helpers/beta/memory';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import type { BetaMemoryTool20250818, BetaMemoryTool20250818Command } from '@anthropic-ai/sdk/resources/beta';
import { isForTheOperator, MemoryError } from '../errors.ts';
import { COMMAND_NAMES, parseCommand } from '../language/command.ts';
import { failureSentence, type Profile } from '../language/sentences.ts';
import type { Logger } from '../logger.ts';
import type { Call } from '../tree/session.ts';
import type { Tree } from '../tree/tree.ts';
import type { CommandOrder } from './command-order.ts';
import { claimsOf, type MemoryContent, runCommand } from './commands.ts';

export type MemoryResult =
  | { readonly isError: false; readonly content: MemoryContent }
  /** `content` is what the model may read; `error` is the operator's. */
  | { readonly isError: true; readonly content: string; readonly error: MemoryError };

/** How a caller gives up, and hears how far a command on many files has come. */
export type ExecuteOptions = Call;

/** Properties of the tool's definition that a caller may add, such as `cache_control`. */
export type MemoryToolProps = Omit<BetaMemoryTool20250818, 'type' | 'name'>;

/**
 * One tenant's memory. Its six handlers make it an argument for the SDK's `betaMemoryTool(memory)`. Commands on
 * overlapping paths take effect in the order they were called, unrelated ones run side by side.
 */
export interface Memory extends MemoryToolHandlers, AsyncDisposable {
  /** The tool for the SDK's runner. Unlike `betaMemoryTool(memory)` it forwards the runner's AbortSignal. */
  tool(props?: MemoryToolProps): BetaRunnableTool<BetaMemoryTool20250818Command>;
  /** For every other host: takes the model's input as it came and never rejects for what the model may read. */
  execute(input: unknown, options?: ExecuteOptions): Promise<MemoryResult>;
  /** Waits for the commands under way, wipes the keys and closes what was opened. Later commands are refused. */
  close(): Promise<void>;
}

/** The class whose instances the host's tool runner passes to the model verbatim. */
export type ToolErrorClass = new (content: string) => Error;

export interface MemoryToolOptions {
  readonly tree: Tree;
  /** Shared by all memories of one tenant in this process. */
  readonly order: CommandOrder;
  readonly profile: Profile;
  readonly onExists: 'error' | 'overwrite';
  readonly logger: Logger;
  readonly toolError?: ToolErrorClass | undefined;
  /** Called once, by `close`, after the last command has ended. */
  readonly onClose: () => Promise<void>;
}

/**
 * Makes the memory. It has no prototype, so that a command named `toString` or `constructor` finds nothing, and its
 * members that are no commands refuse to be called as such: `betaMemoryTool` looks the model's command up unchecked.
 */
export function createMemory(options: MemoryToolOptions): Memory {
  const { tree, order, profile, onExists, logger, toolError: Failure = ToolError } = options;
  let closing: Promise<void> | undefined;

  const run = async (input: unknown, verbs: ExecuteOptions): Promise<MemoryContent> => {
    const command = parseCommand(input);
    if (closing !== undefined) throw new MemoryError('aborted', 'the memory is closed');
    const context = { tree, profile, onExists, options: verbs };
    return order.run(claimsOf(command), () => runCommand(context, command), verbs.signal);
  };

  const execute: Memory['execute'] = async (input, verbs = {}) => {
    try {
      return { isError: false, content: await run(input, verbs) };
    } catch (cause) {
      const error = cause instanceof MemoryError ? cause : unexpected(cause);
      logFailure(logger, error);
      return { isError: true, content: failureSentence({ error, input, profile }), error };
    }
  };

  /** For tool runners: a failure is thrown as the class that they hand to the model word for word. */
  const serve = async (input: unknown, signal?: AbortSignal | null): Promise<MemoryContent> => {
    const result = await execute(input, { signal: signal ?? undefined });
    if (result.isError) throw new Failure(result.content);
    return result.content;
  };

  const handlers = Object.fromEntries(
    COMMAND_NAMES.map((name) => [
      name,
      (input: unknown) => serve(commandOf(input) === name ? input : { command: commandOf(input) ?? null }),
    ]),
  ) as unknown as MemoryToolHandlers;

  const members: Omit<Memory, keyof MemoryToolHandlers> = {
    tool(props) {
      if (commandOf(props) !== undefined) throw refusal(props);
      return {
        ...props,
        type: 'memory_20250818',
        name: 'memory',
        parse: (input) => input as BetaMemoryTool20250818Command,
        run: (input, context) => serve(input, context?.signal),
      };
    },
    execute: refusingWhenBound(execute, serve),
    async close(...called: readonly unknown[]) {
      if (called.length > 0) throw refusal(called[0]);
      closing ??= order.idle().then(options.onClose);
      return closing;
    },
    async [Symbol.asyncDispose]() {
      return members.close();
    },
  };

  const refusal = (input: unknown): Error => {
    const error = new MemoryError('invalid_command', 'a member of the memory was called as a command', {
      details: { field: 'command' },
    });
    return new Failure(failureSentence({ error, input, profile }));
  };

  return Object.freeze(Object.assign(Object.create(null) as object, handlers, members));
}

/**
 * `execute` called as a command cannot be told from a host that passes on a model's `{ command: 'execute' }`, except
 * that `betaMemoryTool` binds what it calls: so bound, that one command is refused as tool runners expect it, also as
 * a list, which finds the member of the name it is made of.
 */
function refusingWhenBound(
  execute: Memory['execute'],
  serve: (input: unknown) => Promise<MemoryContent>,
): Memory['execute'] {
  const bound = (input: unknown, options?: ExecuteOptions): Promise<MemoryResult> =>
    [commandOf(input)].flat(Number.POSITIVE_INFINITY).includes('execute')
      ? (serve(input) as Promise<never>)
      : execute(input, options);
  return Object.defineProperty(execute, 'bind', { value: () => bound });
}

function commandOf(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, 'command')) return undefined;
  return (input as { readonly command: unknown }).command;
}

function unexpected(cause: unknown): MemoryError {
  return new MemoryError('unavailable', 'an unexpected failure inside the library', { cause });
}

function logFailure(logger: Logger, error: MemoryError): void {
  const fields = { code: error.code, reason: error.message };
  if (isForTheOperator(error)) logger.error('a memory command failed', fields);
  else logger.debug('a memory command was refused', fields);
}
