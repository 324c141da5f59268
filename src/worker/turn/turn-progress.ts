import { NO_USAGE } from '../../agent/turn-outcome.ts';
import { leadingSummary, type TurnProgress } from '../../agent/turn-progress.ts';
import { encodeFields } from '../../tree/records/sealed-record.ts';
import { NO_TOUCHES } from '../../tree/touches.ts';
import { parseProgress } from '../../turns/turn-records.ts';
import type { TurnTouches } from '../../turns/turn-trace.ts';
import { type JsonLogger, toldFailure } from '../json-log.ts';
import { MAX_ANSWER_BYTES, type TurnLease } from '../leases/turn-lease.ts';
import { countBefore, type TurnBasis, withoutOtherThoughts } from './turn-basis.ts';

/**
 * The progress of a turn within one delivery. Each step is kept with the receipt, so that the next delivery goes on
 * from it.
 */
export interface DeliveryProgress {
  /** The progress so far; undefined at the beginning of the turn. */
  readonly latest: TurnProgress | undefined;
  /** Tells that this delivery has come further than the one before. */
  readonly hasProgress: boolean;
  /** Tells that another worker has the turn. */
  readonly isTakenOver: boolean;
  /**
   * Keeps the progress, as `runTurn` calls it, and stops the turn where another step would hardly fit into the time
   * that is left.
   */
  onStep(progress: TurnProgress): Promise<'go_on' | 'stop'>;
}

/** The time for saving a step, in milliseconds: a part of what is left of the function's time after the turn's own. */
const SAVED_WITHIN_MS = 4_000;

/** @throws MemoryError `integrity` for a progress that is malformed. */
export function createDeliveryProgress(options: {
  readonly lease: TurnLease;
  readonly saved: Uint8Array | undefined;
  readonly basis: TurnBasis;
  readonly name: Pick<TurnTouches, 'turn' | 'follows'>;
  /** Answers the milliseconds until the signal ends the turn. */
  readonly remainingMs: () => number;
  readonly log: JsonLogger;
}): DeliveryProgress {
  const { lease, saved, basis, name, remainingMs, log } = options;
  let latest = saved && resume(decodeProgress(saved), basis);
  let [hasProgress, isTakenOver] = [false, false];
  let leftBefore = remainingMs();
  let longestMs = 0;
  return {
    get latest() {
      return latest;
    },
    get hasProgress() {
      return hasProgress;
    },
    get isTakenOver() {
      return isTakenOver;
    },
    async onStep(progress) {
      latest = progress;
      try {
        // The save has a signal of its own, so that Claude's words are kept even when the time is up meanwhile.
        const signal = AbortSignal.timeout(SAVED_WITHIN_MS);
        const encoded = encodeProgress(progress, { basis, name });
        isTakenOver = !(await lease.save(encoded, { signal }));
        hasProgress = !isTakenOver && (hasProgress || encoded.length <= MAX_ANSWER_BYTES);
      } catch (error) {
        log.warn('the progress of a turn could not be saved', toldFailure(error));
      }
      // A turn is not stopped before its tools: the next delivery would have to find out whether each call was made.
      if (progress.pending) return isTakenOver ? 'stop' : 'go_on';
      const left = remainingMs();
      longestMs = Math.max(longestMs, leftBefore - left);
      leftBefore = left;
      return isTakenOver || left < longestMs ? 'stop' : 'go_on';
    },
  };
}

/** A turn's own part of its conversation, and the number of turns in the conversation. */
interface SavedProgress extends TurnProgress {
  readonly version?: number;
  /** True where the turn has put a summary in the place of the conversation before it. */
  readonly isWhole?: boolean;
}

/** A digest that no prompts have: thoughts under it are valid nowhere. */
const NO_DIGEST = '';

/** Encodes the progress, without the messages that the store has in the conversation already. */
function encodeProgress(
  { touches = NO_TOUCHES, ...progress }: TurnProgress,
  { basis, name }: Pick<Parameters<typeof createDeliveryProgress>[0], 'basis' | 'name'>,
): Uint8Array {
  const from = countBefore(basis, progress.messages);
  const trace: TurnTouches = { ...name, ...touches };
  return encodeFields({
    ...progress,
    messages: progress.messages.slice(from),
    isWhole: from === 0 && basis.before.length > 0,
    trace,
    ...(basis.lease && { version: basis.lease.version }),
  });
}

/**
 * Resumes a turn from its saved progress. Where another turn was stored since, it goes on after that one without its
 * own thoughts, which are signed over the conversation as it was; a turn that had summarised that conversation begins
 * again, and keeps its earlier attempt's usage and touches.
 */
function resume({ version, isWhole, ...saved }: SavedProgress, basis: TurnBasis): TurnProgress {
  const { lease, before, messages, digest } = basis;
  const isMoved = version !== lease?.version;
  const signed = isMoved ? { ...saved, digest: NO_DIGEST } : saved;
  const own = withoutOtherThoughts(digest, signed);
  if (isMoved && (isWhole || leadingSummary(own))) {
    const { usage, touches } = saved;
    return { messages, text: '', usage, digest, ...(touches && { touches }) };
  }
  const { pending } = saved;
  const said = { role: 'assistant', content: pending?.reply.content ?? [] } as const;
  const valid = withoutOtherThoughts(digest, { ...signed, messages: [said] }).flatMap(({ content: left }) =>
    typeof left === 'object' ? left : [],
  );
  const isValid = new Set<unknown>(valid);
  const content = pending?.reply.content.filter((block) => isValid.has(block));
  return {
    ...saved,
    messages: isWhole || leadingSummary(own) ? own : [...before, ...own],
    digest,
    ...(pending && content && { pending: { ...pending, reply: { ...pending.reply, content } } }),
  };
}

function decodeProgress(content: Uint8Array): SavedProgress {
  const { trace, ...fields } = parseProgress(content) as unknown as SavedProgress & {
    readonly trace?: TurnTouches;
  };
  const { messages, text, usage, digest, version, isWhole, reply, pending } = fields;
  return {
    messages,
    text,
    usage: { ...NO_USAGE, ...usage },
    ...(digest !== undefined && { digest }),
    ...(version !== undefined && { version }),
    ...(isWhole === true && { isWhole }),
    ...(reply !== undefined && { reply }),
    ...(pending !== undefined && { pending }),
    ...(trace !== undefined && { touches: { list: trace.list, unlisted: trace.unlisted } }),
  };
}
