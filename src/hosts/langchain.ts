import { ToolMessage } from '@langchain/core/messages';
import { type DynamicStructuredTool, type ToolRunnableConfig, tool } from '@langchain/core/tools';
import { memoryToolDefinition as memoryDefinition } from '../language/schema.ts';
import type { ImageBlock } from '../tool/commands.ts';
import type { Memory } from '../tool/memory-tool.ts';

/** An image in the form of LangChain's messages, for any model. */
type ImagePart = { type: 'image'; mimeType: string; data: string };
type ToolReply = string | ImagePart[] | ToolMessage;

/**
 * Makes Claude's own memory tool, `memory_20250818`, for `ChatAnthropic` and agents with it. The memory judges the
 * input itself, `view_range` with it, which the schema of `@langchain/anthropic` takes away. A failure is a
 * `ToolMessage` with the status `error`; a caller that invokes the tool without a tool call gets an `Error` with the
 * same sentence.
 */
export function memoryTool(memory: Memory): DynamicStructuredTool {
  return bind(memory, {
    schema: { type: 'object', additionalProperties: true },
    extras: { providerToolDefinition: { type: 'memory_20250818', name: 'memory' } },
  });
}

/**
 * Makes a tool as `memoryTool` does for a model that knows nothing of a memory: its description and its schema say all.
 */
export function memoryFunctionTool(memory: Memory): DynamicStructuredTool {
  return bind(memory, { schema: { ...memoryDefinition().inputSchema } });
}

function bind(
  memory: Memory,
  fields: { readonly schema: Readonly<Record<string, unknown>>; readonly extras?: Record<string, unknown> },
): DynamicStructuredTool {
  const { name, description } = memoryDefinition();
  const answer = async (input: unknown, { signal, toolCall }: ToolRunnableConfig): Promise<ToolReply> => {
    const result = await memory.execute(input, { signal });
    if (!result.isError)
      return typeof result.content === 'string' ? result.content : result.content.map(imagePart);
    const { content, error } = result;
    if (toolCall?.id === undefined) throw new Error(content, { cause: error });
    return new ToolMessage({ content, name, status: 'error', tool_call_id: toolCall.id });
  };
  return tool(answer, { ...fields, name, description });
}

function imagePart({ source }: ImageBlock): ImagePart {
  return { type: 'image', mimeType: source.media_type, data: source.data };
}
