import { createHash } from 'node:crypto';
import { numberIn } from '../tree/records/record-values.ts';
import { MOST_TOUCHES, type Touch, type Touches } from '../tree/touches.ts';

/** The touches of files by a turn, as they are sealed with its answer or its progress. */
export interface TurnTouches extends Touches {
  /** The caller's id of the turn. */
  readonly turn: string;
  /** The name of the answer to the turn before in the same conversation: this turn knows what that one read. */
  readonly follows?: string;
}

const LONGEST_ACTOR = 256;
const HASH_CHARACTERS = 43;

/**
 * Names the actor on whose behalf a turn writes: `turn ` and its id. An id of more than 251 characters is cut to 207, or
 * to 206 before a surrogate pair, followed by `~` and its SHA-256 in base64url.
 */
export function turnActor(turn: string): string {
  const actor = `turn ${turn}`;
  if (actor.length <= LONGEST_ACTOR) return actor;
  const hash = createHash('sha256').update(turn).digest('base64url');
  const start = actor.slice(0, LONGEST_ACTOR - HASH_CHARACTERS - 1);
  return `${start.isWellFormed() ? start : start.slice(0, -1)}~${hash}`;
}

/** Reads the trace of a turn; undefined for anything else. */
export function parseTurnTrace(value: unknown): TurnTouches | undefined {
  const { turn, follows, list, unlisted: count } = Object(value) as Readonly<Record<string, unknown>>;
  const unlisted = numberIn(count);
  if (typeof turn !== 'string' || unlisted === undefined || !Array.isArray(list)) return undefined;
  if (list.length > MOST_TOUCHES || !list.every(isTouch)) return undefined;
  if (follows === undefined) return { turn, list, unlisted };
  return typeof follows === 'string' ? { turn, list, unlisted, follows } : undefined;
}

function isTouch(value: unknown): value is Touch {
  const { kind, path, version, to } = Object(value) as Readonly<Record<string, unknown>>;
  if (typeof path !== 'string') return false;
  if (kind === 'read' || kind === 'written') return typeof version === 'string';
  return kind === 'deleted' || (kind === 'renamed' && typeof to === 'string');
}
