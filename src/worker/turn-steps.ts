import { NO_USAGE } from '../agent/turn-outcome.ts';
import type { TurnProgress } from '../agent/turn-progress.ts';
import { MemoryError } from '../errors.ts';
import { decodeFields, encodeFields } from '../tree/sealed-record.ts';
import { codeOf, type JsonLog } from './json-log.ts';
import { type TurnGround, withoutOtherThoughts } from './turn-ground.ts';
import type { TurnLease } from './turn-lease.ts';

/** The steps of a turn within one delivery. Each is kept with the receipt, so that the next delivery goes on from it. */
export interface TurnSteps {
  /** Where the turn is; undefined at its beginning. */
  readonly latest: TurnProgress | undefined;
  /** This delivery has come further than the one before. */
  readonly hasProgress: boolean;
  /** Another worker has the turn. */
  readonly isTakenOver: boolean;
  /** As `runTurn` calls it: stops the turn where another step would hardly fit into the time that is left. */
  onStep(progress: TurnProgress): Promise<'go_on' | 'stop'>;
}

/** Of what is left of the function after the turn's own time. */
const SAVED_WITHIN_MS = 4_000;

/** @throws MemoryError `unsupported_format` for a progress that a later version of the library saved. */
export function createTurnSteps(options: {
  readonly lease: TurnLease;
  readonly saved: Uint8Array | undefined;
  readonly ground: TurnGround;
  /** Until the turn is ended by its signal. */
  readonly remainingMs: () => number;
  readonly log: JsonLog;
}): TurnSteps {
  const { lease, saved, ground, remainingMs, log } = options;
  let latest = saved && resume(decodeProgress(saved), ground);
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
        // What Claude has said is kept even when the time is up meanwhile.
        const signal = AbortSignal.timeout(SAVED_WITHIN_MS);
        isTakenOver = !(await lease.save(encodeProgress(progress, ground), { signal }));
        hasProgress = !isTakenOver;
      } catch (error) {
        log.warn('the progress of a turn could not be saved', { code: codeOf(error) });
      }
      const left = remainingMs();
      longestMs = Math.max(longestMs, leftBefore - left);
      leftBefore = left;
      return isTakenOver || left < longestMs ? 'stop' : 'go_on';
    },
  };
}

/** A turn's own part of its conversation, and how many turns the conversation held. */
interface SavedProgress extends TurnProgress {
  readonly version?: number;
}

/** What the store holds of the conversation already is not saved again. */
function encodeProgress(progress: TurnProgress, { lease, before }: TurnGround): Uint8Array {
  const messages = progress.messages.slice(before.length);
  return encodeFields({ ...progress, messages, ...(lease && { version: lease.version }) });
}

/** Where another turn was stored since, the turn begins again, on what is there now; what it took is not forgotten. */
function resume({ version, ...saved }: SavedProgress, ground: TurnGround): TurnProgress {
  const { lease, before, messages, digest } = ground;
  if (version !== lease?.version) return { messages, text: '', usage: saved.usage, digest };
  return { ...saved, messages: [...before, ...withoutOtherThoughts(digest, saved)], digest };
}

function decodeProgress(content: Uint8Array): SavedProgress {
  const fields = (decodeFields(content) ?? {}) as Partial<SavedProgress>;
  const { messages, text, usage, digest, version } = fields;
  const isKnown =
    (typeof digest === 'string' || digest === undefined) &&
    (Number.isSafeInteger(version) || version === undefined);
  if (isKnown && Array.isArray(messages) && typeof text === 'string' && typeof usage === 'object') {
    return {
      ...{ messages, text, usage: { ...NO_USAGE, ...usage } },
      ...(digest !== undefined && { digest }),
      ...(version !== undefined && { version }),
    };
  }
  throw new MemoryError('unsupported_format', 'the progress of a turn is of a later version');
}
