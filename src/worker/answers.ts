import { openTenant } from '../open/open-memory.ts';
import type { MemoryOptions } from '../open/options.ts';
import { createReceipts, type TurnRequest } from './receipts.ts';
import { decodeAnswer, type TurnAnswer } from './turn-answer.ts';

/** The stored answers of one tenant's turns, for the receiver of replies that only point to them. */
export interface Answers extends AsyncDisposable {
  /** Undefined when the turn is unknown or not finished. @throws MemoryError what the store and the keyring throw. */
  read(turn: string, request?: TurnRequest): Promise<TurnAnswer | undefined>;
  close(): Promise<void>;
}

/** @throws MemoryError `misconfigured` when an option is missing, unknown or malformed. */
export async function openAnswers(options: MemoryOptions): Promise<Answers> {
  const { parts, close } = await openTenant(options);
  const receipts = createReceipts(parts.context);
  return {
    async read(turn, request) {
      const stored = await receipts.answer(turn, request);
      return stored && decodeAnswer(stored);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
