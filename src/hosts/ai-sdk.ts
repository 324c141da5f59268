import { jsonSchema, type Tool } from 'ai';
import { memoryToolDefinition as memoryDefinition } from '../language/schema.ts';
import type { MemoryContent } from '../tool/commands.ts';
import type { Memory } from '../tool/memory-tool.ts';

/** The tool's answer: plain data, which survives a message of the UI. */
export interface MemoryOutput {
  readonly isError: boolean;
  /** The text or images for the model. */
  readonly content: MemoryContent;
}

/** Claude's own memory tool, as the AI SDK's functions take it. */
export type ClaudeMemoryTool = Extract<Tool<unknown, MemoryOutput>, { readonly isProviderExecuted: false }>;

/** A memory tool for any model, as the AI SDK's functions take it. */
export type MemoryFunctionTool = Extract<
  Tool<unknown, MemoryOutput>,
  { readonly type?: 'function' | undefined }
>;

type Working = Required<Pick<ClaudeMemoryTool, 'execute' | 'toModelOutput'>> &
  Pick<ClaudeMemoryTool, 'inputSchema'>;

/**
 * Makes the tool `memory_20250818` for Claude, through whichever provider: `tools: { memory: memoryTool(memory) }`. The
 * name must be `memory`. The memory judges the input itself, so that Claude reads the memory's sentences. A failure is
 * an output with `isError`, not a thrown error, to which the AI SDK would add a word of its own.
 */
export function memoryTool(memory: Memory): ClaudeMemoryTool {
  return {
    ...working(memory),
    type: 'provider',
    id: 'anthropic.memory_20250818',
    args: {},
    isProviderExecuted: false,
  };
}

/** Makes a tool as `memoryTool` does for a model that knows nothing of a memory: with a description and a schema. */
export function memoryFunctionTool(memory: Memory): MemoryFunctionTool {
  return { ...working(memory), description: memoryDefinition().description };
}

function working(memory: Memory): Working {
  return {
    // A schema without a validating function lets every input reach the memory.
    inputSchema: jsonSchema<unknown>({ ...memoryDefinition().inputSchema }),
    async execute(input, { abortSignal }) {
      const { isError, content } = await memory.execute(input, { signal: abortSignal });
      return { isError, content };
    },
    toModelOutput: ({ output: { isError, content } }) => {
      if (typeof content === 'string') return { type: isError ? 'error-text' : 'text', value: content };
      const value = content.map(({ source }) => ({
        type: 'file' as const,
        mediaType: source.media_type,
        data: { type: 'data' as const, data: source.data },
      }));
      return { type: 'content', value };
    },
  };
}
