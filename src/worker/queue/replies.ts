import { createHash } from 'node:crypto';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { loadPeer, MemoryError } from '../../errors.ts';
import { redactedCause } from '../../store/failures.ts';
import { inTime } from '../../time.ts';
import type { TurnAnswer } from '../turn/turn-answer.ts';
import type { TurnMessage } from '../turn/turn-message.ts';

/** A queue on which the worker says that a turn was answered. */
export interface Replies {
  /**
   * Sends a reply. It may be sent again when the message of the turn is delivered again: receivers know the turn by its
   * id.
   */
  send(message: TurnMessage, answer: TurnAnswer): Promise<void>;
}

export interface RepliesOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  readonly queueUrl: string;
  /** `pointer`: the reply names the turn, whose answer lies sealed in the store. `inline`: it carries the text. */
  readonly mode: 'pointer' | 'inline';
}

/** Loads the SDK of queues, an optional peer. */
export function loadSqs(): Promise<typeof import('./sqs-sdk.ts')> {
  return loadPeer(() => import('./sqs-sdk.ts'), { name: '@aws-sdk/client-sqs', of: 'the worker' });
}

/** The time for all attempts of one request, in milliseconds. */
const WITHIN_MS = 10_000;

/** The options of a request, whose signal the client of a queue obeys. */
type Within = { readonly abortSignal: AbortSignal };

/** Sends a request: a queue that gives no answer must leave time for the release of a turn. */
export function ask<T>(send: (within: Within) => Promise<T>): Promise<T> {
  const late = (): DOMException => new DOMException('The queue did not answer.', 'TimeoutError');
  return inTime(() => send({ abortSignal: AbortSignal.timeout(WITHIN_MS) }), { late, ms: WITHIN_MS });
}

/** The most bytes of a reply that carries its text. A message of SQS holds 1 MiB; a longer text stays in the store. */
const MAX_INLINE_BYTES = 1_000_000;

/**
 * Opens a queue of replies to turns: with `inline` the answer's text is in the message, up to 1,000,000 bytes, with
 * `pointer` it stays sealed in the store, where {@link openAnswers} reads it.
 */
export function createReplies({ sqs, queueUrl, mode }: RepliesOptions): Replies {
  const isFifo = queueUrl.endsWith('.fifo');
  return {
    async send({ tenant, turn }, { outcome, text, reason }) {
      const pointer = { tenant, turn, outcome, ...(reason !== undefined && { reason }) };
      const full = JSON.stringify({ ...pointer, text });
      const fits = mode === 'inline' && new TextEncoder().encode(full).length <= MAX_INLINE_BYTES;
      const { SendMessageCommand } = await loadSqs();
      const command = new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: fits ? full : JSON.stringify(pointer),
        ...(isFifo && { MessageGroupId: tenant, MessageDeduplicationId: fingerprint(tenant, turn) }),
      });
      await ask((within) => sqs.send(command, within)).catch((error: unknown) => {
        const cause = redactedCause(error, 'SQS');
        throw new MemoryError('unavailable', 'the reply could not be sent', { cause });
      });
    },
  };
}

/** Computes an id for the queue, whose own ids take fewer characters, and of fewer kinds, than a turn's. */
function fingerprint(tenant: string, turn: string): string {
  return createHash('sha256')
    .update(JSON.stringify([tenant, turn]))
    .digest('hex');
}
