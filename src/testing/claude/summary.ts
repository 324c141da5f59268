import { createHash } from 'node:crypto';
import { ApiRefusal, type JsonObject, record } from './api-refusal.ts';

const SIGNATURE = /^[\w+/]{43}=$/;

/** The block that stands for everything before it: compaction at a threshold made it, within a reply. */
export interface ThresholdSummary {
  readonly type: 'compaction';
  readonly content: string;
  /** Has to come back as it was. */
  readonly encrypted_content: string;
}

/** The block that goes first, in place of everything it summarises: compaction on demand made it. */
export interface SignedSummary {
  readonly type: 'compaction';
  readonly content: string;
  /** Has to come back as it was. */
  readonly signature: string;
}

export type SummaryBlock = ThresholdSummary | SignedSummary;

export function signedSummary(content: string): SignedSummary {
  return { type: 'compaction', content, signature: mark(`signed ${content}`) };
}

export function summaryBlock(content: string): ThresholdSummary {
  return { type: 'compaction', content, encrypted_content: mark(content) };
}

/**
 * Reads the summary in a signed block that came back. Throws `ApiRefusal` in the codes of "Handle a missing summary or
 * an error" of the page "Compaction on demand"; the words are not told there.
 */
export function signedSummaryOf(block: JsonObject, at: string): string {
  const { content, signature } = record(block, at, ['type', 'content', 'signature', 'cache_control']);
  if (typeof content === 'string' && signature === mark(`signed ${content}`)) return content;
  const isForeign = typeof signature !== 'string' || !SIGNATURE.test(signature);
  const error_code = isForeign ? 'compaction_signature_invalid' : 'compaction_content_mismatch';
  throw new ApiRefusal(`${at}: the compaction block is not as it was returned`, { details: { error_code } });
}

/** Reads the summary in a block that came back. Throws `ApiRefusal` for one that was not made here or was changed. */
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
