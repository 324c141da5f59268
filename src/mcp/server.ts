import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { CommandName } from '../language/command.ts';
import {
  commandInput,
  commandToolDefinitions,
  MEMORY_PROTOCOL,
  memoryToolDefinition,
} from '../language/schema.ts';
import { heard } from '../listeners.ts';
import type { Memory } from '../tool/memory-tool.ts';
import { mcpContent } from './content.ts';
import { serveResources } from './resources.ts';

export interface MemoryServerOptions {
  /** `one`, the default: a tool `memory` with a field `command`. `six`: `memory_view`, `memory_create` and so on. */
  readonly tools?: 'one' | 'six';
  /** The host's instructions for the model about the memory; `MEMORY_PROTOCOL` unless given. */
  readonly instructions?: string;
  /**
   * Hears an error of listing or reading resources that the operator must know. The memory's own logger hears of
   * commands. Its own failure changes nothing.
   */
  readonly onFailure?: (error: unknown) => void;
}

/** The version of this package, shown to clients. */
const VERSION = '0.1.0';

/**
 * Makes an MCP server with the memory's commands as tools and its files as resources. It serves one connection; several
 * may share a memory, which stays open when they close.
 */
export function createMemoryServer(memory: Memory, options: MemoryServerOptions = {}): McpServer {
  const { tools = 'one', instructions = MEMORY_PROTOCOL, onFailure = () => {} } = options;
  const served = tools === 'one' ? oneTool() : sixTools();
  const mcp = new McpServer(
    { name: 'sealed-memory', title: 'Sealed memory', version: VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions },
  );
  const { server } = mcp;

  server.setRequestHandler('tools/list', () => ({ tools: served.map(({ definition }) => definition) }));

  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = served.find(({ definition }) => definition.name === params.name);
    if (tool === undefined) {
      const names = served.map(({ definition }) => definition.name).join(', ');
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no such tool; there is ${names}.`);
    }
    const { signal } = context.mcpReq;
    const input = tool.inputOf(params.arguments ?? {});
    const result = await memory.execute(input, { signal, onProgress: progressOf(context) });
    return { content: mcpContent(result.content), isError: result.isError };
  });

  serveResources(server, memory.files, { onFailure: heard(onFailure) });
  return mcp;
}

interface ServedTool {
  readonly definition: Tool;
  /** Makes the memory's input for a call with these arguments. */
  readonly inputOf: (given: unknown) => unknown;
}

const HINTS: Readonly<Record<CommandName, Tool['annotations']>> = {
  view: { readOnlyHint: true },
  create: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  str_replace: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  insert: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  delete: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  rename: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
};

function oneTool(): readonly ServedTool[] {
  const annotations = { title: 'Memory', readOnlyHint: false, destructiveHint: true, openWorldHint: false };
  return [{ definition: { ...memoryToolDefinition(), annotations }, inputOf: (given) => given }];
}

function sixTools(): readonly ServedTool[] {
  return commandToolDefinitions().map(({ command, ...definition }) => ({
    definition: { ...definition, annotations: { ...HINTS[command], openWorldHint: false } },
    inputOf: (given) => commandInput(command, given),
  }));
}

/** Tells a client that asked for it the progress of a command on many files. */
function progressOf({
  mcpReq,
}: ServerContext): (progress: { readonly done: number; readonly total: number }) => void {
  const progressToken = mcpReq._meta?.progressToken;
  return ({ done, total }) => {
    if (progressToken === undefined) return;
    const params = { progressToken, progress: done, total };
    // The server notices when it sends the answer that the client is gone.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}
