import {
  createSdkMcpServer,
  foldSessionSummary,
  type McpSdkServerConfigWithInstance,
  type SessionStore,
  type SessionStoreEntry,
  type SessionSummaryEntry,
  tool,
} from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';
import {
  type CommandToolDefinition,
  commandInput,
  commandToolDefinitions,
  type FieldSchema,
  MEMORY_PROTOCOL,
  memoryToolDefinition,
} from '../language/schema.ts';
import { mcpContent } from '../mcp/content.ts';
import type { SessionFold } from '../sessions/fold.ts';
import type { Memory } from '../tool/memory-tool.ts';

/**
 * Makes a store of sessions for `query`, `listSessions` and the like: `options.sessionStore`. Transcripts are sealed
 * with the keys of the memory's tenant. Any number of processes may append to one, and a process resumes sessions that
 * another one began.
 */
export function createSessionStore(memory: Pick<Memory, 'sessions'>): Required<SessionStore> {
  const { sessions } = memory;
  return {
    async append(key, entries) {
      const lines = entries.map((entry) => JSON.stringify(entry));
      await sessions.append(key, lines, { fold: FOLD });
    },
    async load(key) {
      const lines = await sessions.load(key);
      return lines === undefined ? null : lines.map(entryOf);
    },
    async listSessions(projectKey) {
      const listed = await sessions.list(projectKey);
      return listed.map(({ sessionId, modified }) => ({ sessionId, mtime: modified }));
    },
    async listSessionSummaries(projectKey) {
      const listed = await sessions.list(projectKey, { fold: FOLD });
      return listed.map(({ sessionId, modified, summary }) => ({
        sessionId,
        mtime: modified,
        data: summary as SessionSummaryEntry['data'],
      }));
    },
    delete: (key) => sessions.remove(key),
    listSubkeys: async (key) => [...(await sessions.subpaths(key))],
  };
}

/** The SDK's own summary. Its content is the SDK's: another version or language of the SDK may read it otherwise. */
const FOLD: SessionFold = {
  by: 'claude-agent-sdk/typescript',
  fold(previous, key, lines) {
    const { projectKey, sessionId } = key;
    const data = previous as SessionSummaryEntry['data'] | undefined;
    const before = data && { sessionId, mtime: 0, data };
    return foldSessionSummary(before, { projectKey, sessionId }, lines.map(entryOf)).data;
  },
};

function entryOf(line: string): SessionStoreEntry {
  return JSON.parse(line) as SessionStoreEntry;
}

export interface AgentMemoryServerOptions {
  /** `one`, the default: a tool `memory` with a field `command`. `six`: `memory_view`, `memory_create` and so on. */
  readonly tools?: 'one' | 'six';
  /** The instructions for the model about the memory; `MEMORY_PROTOCOL` unless given. */
  readonly instructions?: string;
}

/**
 * Serves the memory's commands as an MCP server in this process, for the options of a query: `mcpServers: { memory:
 * createAgentMemoryServer(memory) }` and `allowedTools: ['mcp__memory__memory']`. The memory stays open when the query
 * ends.
 */
export function createAgentMemoryServer(
  memory: Pick<Memory, 'execute'>,
  { tools = 'one', instructions = MEMORY_PROTOCOL }: AgentMemoryServerOptions = {},
): McpSdkServerConfigWithInstance {
  const run = async (input: unknown, extra: unknown) => {
    const { content, isError } = await memory.execute(input, { signal: signalOf(extra) });
    return { isError, content: mcpContent(content) };
  };
  const one = () => {
    const { name, description, inputSchema } = memoryToolDefinition();
    return [tool(name, description, shapeOf(inputSchema), run)];
  };
  const six = () =>
    commandToolDefinitions().map(({ command, name, description, inputSchema }) =>
      tool(name, description, shapeOf(inputSchema), (input, extra) =>
        run(commandInput(command, input), extra),
      ),
    );
  return createSdkMcpServer({
    name: 'memory',
    instructions,
    tools: tools === 'one' ? one() : six(),
  });
}

/**
 * Makes the schema of zod that the SDK takes. For input that the schema allows and the memory refuses, the model reads
 * the memory's own sentence.
 */
function shapeOf({ properties, required }: CommandToolDefinition['inputSchema']): Record<string, z.ZodType> {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const type = typeOf(schema);
    return [name, required.includes(name) ? type : type.optional()] as const;
  });
  return Object.fromEntries(fields);
}

function typeOf(schema: FieldSchema): z.ZodType {
  const { description } = schema;
  switch (schema.type) {
    case 'string':
      return (schema.enum === undefined ? z.string() : z.enum(schema.enum)).describe(description);
    case 'integer':
      return z.int().min(schema.minimum).describe(description);
    case 'array':
      return z.array(z.int()).min(schema.minItems).max(schema.maxItems).describe(description);
  }
}

function signalOf(extra: unknown): AbortSignal | undefined {
  const signal = typeof extra === 'object' && extra !== null ? Reflect.get(extra, 'signal') : undefined;
  return signal instanceof AbortSignal ? signal : undefined;
}
