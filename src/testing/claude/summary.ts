import { createHash } from 'node:crypto';
import { ApiRefusal, type JsonObject } from './api-refusal.ts';

/** The block that stands for everything before it. */
export interface SummaryBlock {
  readonly type: 'compaction';
  readonly content: string;
  /** Has to come back as it was. */
  readonly encrypted_content: string;
}

export function summaryBlock(content: string): SummaryBlock {
  return { type: 'compaction', content, encrypted_content: mark(content) };
}

/** The summary in a block that came back. Throws `ApiRefusal` for one that was not made here or was changed. */
export function summaryOf(block: JsonObject, at: string): string {
  const { content, encrypted_content } = block;
  if (typeof content !== 'string' || encrypted_content !== mark(content)) {
    throw new ApiRefusal(`${at}: a compaction block must be sent back as it was received`);
  }
  return content;
}

function mark(content: string): string {
  return createHash('sha256').update(`summary ${content}`).digest('base64');
}
