import type { Memory } from '../../src/tool/memory-tool.ts';

/** Runs the command, and answers its text. @throws MemoryError when the command fails. */
export async function succeed(memory: Memory, input: unknown): Promise<string> {
  const result = await memory.execute(input);
  if (result.isError) throw result.error;
  if (typeof result.content !== 'string') throw new Error('the reply is no text');
  return result.content;
}
