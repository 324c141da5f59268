import type { MemoryContent } from '../tool/commands.ts';

/** A part of a tool's answer, in MCP's form. */
type McpBlock = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string };

/** Puts the text or images for the model into the answer of a tool of MCP. */
export function mcpContent(content: MemoryContent): McpBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map(({ source }) => ({ type: 'image', data: source.data, mimeType: source.media_type }));
}
