import { type FunctionTool, type ToolOutputImage, tool } from '@openai/agents';
import {
  type CommandToolDefinition,
  commandInput,
  commandToolDefinitions,
  type FieldSchema,
} from '../language/schema.ts';
import type { Memory } from '../tool/memory-tool.ts';

/**
 * The input schema of a tool as OpenAI's strict mode wants it: every field is required, and null stands for an absent
 * one.
 */
export interface StrictSchema {
  type: 'object';
  properties: Record<string, FieldSchema | { anyOf: [FieldSchema, { type: 'null' }] }>;
  required: string[];
  additionalProperties: false;
}

/**
 * Makes six tools for an agent, `memory_view` to `memory_rename`, in strict mode: `new Agent({ tools:
 * memoryTools(memory) })`. A failure is an output like any other, in the memory's words: the Responses API has no mark
 * for it.
 */
export function memoryTools(
  memory: Memory,
): FunctionTool<unknown, StrictSchema, string | ToolOutputImage[]>[] {
  return commandToolDefinitions().map(({ command, name, description, inputSchema }) =>
    tool({
      name,
      description,
      parameters: strict(inputSchema),
      strict: true,
      async execute(input, _, details) {
        const given = commandInput(command, withoutNulls(input));
        const { content } = await memory.execute(given, { signal: details?.signal });
        if (typeof content === 'string') return content;
        return content.map(({ source }): ToolOutputImage => {
          return { type: 'image', image: { data: source.data, mediaType: source.media_type } };
        });
      },
    }),
  );
}

function strict({ properties, required }: CommandToolDefinition['inputSchema']): StrictSchema {
  const fields = Object.entries(properties).map(([name, schema]) => [
    name,
    required.includes(name) ? schema : { anyOf: [schema, { type: 'null' }] },
  ]);
  return {
    type: 'object',
    properties: Object.fromEntries(fields),
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

function withoutNulls(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}
