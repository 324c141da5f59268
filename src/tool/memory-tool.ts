import { isForTheOperator, keyHolderOf, MemoryError } from '../errors.ts';
import type { History } from '../history/history.ts';
import { COMMAND_NAMES, type CommandName, parseCommand } from '../language/command.ts';
import type { Wording } from '../language/sentences.ts';
import { heardOptions, heardVerbs } from '../listeners.ts';
import type { Logger } from '../logger.ts';
import type { SessionOptions, Sessions } from '../sessions/sessions.ts';
import type { CallOptions, KeptCall } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';
import type { CommandOrder } from './command-order.ts';
import { claimsOf, type MemoryContent, runCommand } from './commands.ts';
import { createFiles, type Files } from './files.ts';
import type { Watch } from './watch.ts';

export type MemoryResult =
  | { readonly isError: false; readonly content: MemoryContent }
  /** `content` is for the model to read, `error` for the operator. */
  | { readonly isError: true; readonly content: string; readonly error: MemoryError };

/** The options by which a caller cancels, names the actor, and hears of the command's progress and touches. */
export type ExecuteOptions = CallOptions;

/** Properties of the tool's definition that a caller may add, in the words of Claude's API. */
export interface MemoryToolProps {
  allowed_callers?: (
    | 'direct'
    | 'code_execution_20250825'
    | 'code_execution_20260120'
    | 'code_execution_20260521'
  )[];
  cache_control?: { type: 'ephemeral'; ttl?: '5m' | '1h' } | null;
  defer_loading?: boolean;
  input_examples?: Record<string, unknown>[];
  strict?: boolean;
}

/**
 * The memory as the SDK's tool runner takes it; the shape is the SDK's, so that a host without the SDK has types too.
 */
export interface MemoryTool extends MemoryToolProps {
  type: 'memory_20250818';
  name: 'memory';
  /** Answers the input as it came, unread. */
  parse(input: unknown): unknown;
  run(input: unknown, context?: { readonly signal?: AbortSignal | null | undefined }): Promise<MemoryContent>;
}

/** One function for each command, as the SDK's `betaMemoryTool` takes them. */
export type MemoryHandlers = Readonly<Record<CommandName, (input: unknown) => Promise<MemoryContent>>>;

/**
 * One tenant's memory. Commands on overlapping paths take effect in the order they were called, unrelated ones run at
 * the same time.
 */
export interface Memory extends AsyncDisposable {
  /**
   * Makes the tool for the SDK's runner. Unlike `betaMemoryTool(memory.handlers)` it forwards the runner's AbortSignal.
   */
  tool(props?: MemoryToolProps): MemoryTool;
  /** The six commands, for the SDK's `betaMemoryTool(memory.handlers)`; only these can be called by their names. */
  readonly handlers: MemoryHandlers;
  /**
   * Runs a command for every other host: takes the model's input as it came, and answers a failure that the model may
   * read instead of rejecting.
   */
  execute(input: unknown, options?: ExecuteOptions): Promise<MemoryResult>;
  /** Files as an application reads and writes them; in one order with the commands. */
  readonly files: Files;
  /** Transcripts of agents, sealed beside the files. */
  readonly sessions: Sessions;
  /** The history of the tenant's own files, where the tenant keeps it. Never for the model. */
  readonly history: History;
  /** Waits for the commands under way, wipes the keys and closes what was opened. Later commands are refused. */
  close(): Promise<void>;
}

/** Runs a call that overlaps with no command; a close waits for it as for any other. */
type AroundCall = <T>(call: () => Promise<T>, options: SessionOptions) => Promise<T>;

/** The class whose instances the host's tool runner passes to the model verbatim. */
export type ToolErrorClass = new (content: string) => Error;

export interface MemoryToolOptions {
  readonly tree: Tree;
  /** The order that all memories of one tenant in this process share. */
  readonly order: CommandOrder;
  /**
   * Makes the transcripts.
   *
   * @param run runs around every call.
   */
  readonly createSessions: (run: AroundCall) => Sessions;
  /**
   * Makes the history.
   *
   * @param run runs around every call.
   */
  readonly createHistory: (run: AroundCall) => History;
  readonly wording: Wording;
  readonly onExists: 'error' | 'overwrite';
  /** The largest file that may be written (bytes). */
  readonly maxFileBytes: number;
  readonly logger: Logger;
  readonly toolError?: ToolErrorClass | undefined;
  readonly watch?: Watch | undefined;
  /** The actor of calls that name none. */
  readonly actor?: string | undefined;
  /** Runs once, when `close` calls it, after the last command has ended. */
  readonly onClose: () => Promise<void>;
}

export function createMemory(options: MemoryToolOptions): Memory {
  const { tree, order, wording, onExists, maxFileBytes, logger, toolError, watch, actor } = options;
  let closing: Promise<void> | undefined;

  const refuseWhenClosed = (): void => {
    if (closing !== undefined) throw new MemoryError('aborted', 'the memory is closed');
  };

  const run = async (input: unknown, verbs: KeptCall): Promise<MemoryContent> => {
    const command = parseCommand(input);
    refuseWhenClosed();
    const context = {
      tree,
      wording,
      onExists,
      options: { ...heardOptions(verbs, logger), actor: verbs.actor ?? actor },
    };
    return order.run(claimsOf(command, verbs), () => runCommand(context, command), verbs.signal);
  };

  const answer = async (input: unknown, verbs: KeptCall = {}): Promise<MemoryResult> => {
    try {
      return { isError: false, content: await run(input, verbs) };
    } catch (cause) {
      const error = cause instanceof MemoryError ? cause : unexpected(cause);
      logFailure(logger, error);
      // Only the first failure loads the sentences about failures.
      const { failureSentence } = await import('../language/sentences.ts');
      return { isError: true, content: failureSentence({ error, input, wording }), error };
    }
  };

  const execute = watch?.execute(answer, actor) ?? answer;
  const files = heardVerbs(createFiles({ tree, order, maxFileBytes, actor, refuseWhenClosed }), logger);

  /** Runs a command for tool runners: throws a failure as the class that they hand to the model word for word. */
  const serve = async (input: unknown, signal?: AbortSignal | null): Promise<MemoryContent> => {
    const result = await execute(input, { signal: signal ?? undefined });
    if (!result.isError) return result.content;
    const Failure = toolError ?? (await loadToolError());
    throw new Failure(result.content);
  };

  const beside: AroundCall = async (call, { signal }) => {
    refuseWhenClosed();
    return order.run([], call, signal);
  };

  const close = (): Promise<void> => {
    closing ??= order.idle().then(options.onClose);
    return closing;
  };

  return Object.freeze<Memory>({
    tool: (props) => ({
      ...props,
      type: 'memory_20250818',
      name: 'memory',
      parse: (input) => input,
      run: (input, context) => serve(input, context?.signal),
    }),
    handlers: handlersOf(serve),
    execute,
    files: watch?.verbs('files', files, actor) ?? files,
    sessions: options.createSessions(beside),
    history: options.createHistory(beside),
    close,
    [Symbol.asyncDispose]: close,
  });
}

/**
 * Makes the handlers. `betaMemoryTool` looks the model's command up unchecked, and `["view"]` finds `view`: the object
 * has no prototype on which to find `toString`, and each handler checks the name of its command itself.
 */
function handlersOf(serve: (input: unknown) => Promise<MemoryContent>): MemoryHandlers {
  const handlers = COMMAND_NAMES.map((name) => [
    name,
    (input: unknown) => serve(commandOf(input) === name ? input : { command: commandOf(input) ?? null }),
  ]);
  return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(handlers)));
}

function commandOf(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, 'command')) return undefined;
  return (input as { readonly command: unknown }).command;
}

/** A class of the name and shape of the SDK's, for hosts that do without the SDK. */
class OwnToolError extends Error {
  override readonly name = 'ToolError';
  readonly content: string;

  constructor(content: string) {
    super(content);
    this.content = content;
  }
}

/**
 * Loads the class of the SDK that this package resolves, at the first failure; answers one of our own where it is
 * missing.
 */
export async function loadToolError(): Promise<ToolErrorClass> {
  const sdk = await import('@anthropic-ai/sdk/lib/tools/ToolError').catch(() => undefined);
  return sdk?.ToolError ?? OwnToolError;
}

function unexpected(cause: unknown): MemoryError {
  return new MemoryError('unavailable', 'an unexpected failure inside the library', { cause });
}

function logFailure(logger: Logger, error: MemoryError): void {
  const keyHolder = keyHolderOf(error);
  const fields = { code: error.code, reason: error.message, ...(keyHolder && { keyHolder }) };
  if (isForTheOperator(error)) logger.error('a memory command failed', fields);
  else logger.debug('a memory command was refused', fields);
}
