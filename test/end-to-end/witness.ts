import { expect } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import type { LogFields, Logger } from '../../src/logger.ts';
import type { Memory, MemoryResult } from '../../src/tool/memory-tool.ts';

/** Remembers everything that a memory told the model and the operator, to be searched for what must not be there. */
export interface Witness {
  readonly logger: Logger;
  /** Executes a command that must fail; gives the code and the model's sentence. */
  refusal(memory: Memory, input: unknown, signal?: AbortSignal): Promise<Refusal>;
  /** Remembers an error that was thrown to the operator. */
  note(error: unknown): void;
  /** Everything said so far to the model and, apart from that, to the operator. */
  said(): { readonly model: readonly string[]; readonly operator: readonly string[] };
}

interface Refusal {
  readonly code: string;
  readonly sentence: string;
}

export function createWitness(): Witness {
  const model: string[] = [];
  const operator: string[] = [];
  const log = (message: string, fields?: LogFields): void => {
    operator.push(JSON.stringify({ message, fields }));
  };
  const note = (error: unknown): void => {
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      // The messages of other libraries are theirs; ours must be clean, and so must what we add to an error.
      if (cause instanceof MemoryError) operator.push(`${cause.message} ${JSON.stringify(cause.details)}`);
    }
  };
  return {
    logger: { debug: log, info: log, warn: log, error: log },
    note,
    said: () => ({ model: [...model], operator: [...operator] }),
    async refusal(memory, input, signal) {
      const result: MemoryResult = await memory.execute(input, { signal });
      if (!result.isError) expect.unreachable(`it did not fail: ${JSON.stringify(input)}`);
      model.push(result.content);
      note(result.error);
      return { code: result.error.code, sentence: result.content };
    },
  };
}
