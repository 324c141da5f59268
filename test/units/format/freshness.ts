import { HEADER_BYTES, readHeader } from '../../../src/format/header.ts';
import { isShredMarker, parseKeyringHead } from '../../../src/format/keyring-bytes.ts';
import { isTombstone } from '../../../src/format/tombstone.ts';
import { toHex } from '../../format/format-vectors.ts';

const COMMITMENT = [28, 60] as const;
const NONCE_BYTES = 24;

/** The kinds of values that are drawn for every write and must never come again. */
export type Drawn =
  | 'version id'
  | 'data key'
  | 'wrap nonce'
  | 'keyring nonce'
  | 'root wrap nonce'
  | 'tombstone';

/** Watches what is stored, by whomever, for anything random that comes a second time. */
export interface Freshness {
  /**
   * One stored body. The identical object or keyring may come again: a request that got no answer is resent. Bodies
   * that are neither objects, keyrings nor tombstones are left out.
   */
  note(body: Uint8Array): void;
  /** The data key that was found in an object. */
  noteDataKey(object: Uint8Array, dataKey: Uint8Array): void;
  readonly repeats: ReadonlySet<Drawn>;
  /** How many different ones of each kind were seen. */
  counts(): Readonly<Partial<Record<Drawn, number>>>;
}

export function watchFreshness(): Freshness {
  const bodies = new Set<string>();
  /** The use of each drawn value. */
  const uses = new Map<Drawn, Map<string, string>>();
  const repeats = new Set<Drawn>();
  let tombstones = 0;
  const see = (kind: Drawn, value: Uint8Array, use: string): void => {
    const known = uses.get(kind) ?? new Map<string, string>();
    uses.set(kind, known);
    const before = known.get(toHex(value));
    if (before !== undefined && before !== use) repeats.add(kind);
    known.set(toHex(value), use);
  };

  return {
    note(body) {
      const whole = toHex(body);
      if (isTombstone(body)) see('tombstone', body, `tombstone ${tombstones++}`);
      if (bodies.has(whole)) return;
      bodies.add(whole);
      const header = readHeader(body);
      if (header !== undefined) {
        see('version id', header.id, sealingOf(body));
        see('wrap nonce', header.wrapNonce, whole);
      } else if (isKeyring(body)) {
        const { wrapped, length } = parseKeyringHead(body);
        see('root wrap nonce', wrapped.subarray(0, NONCE_BYTES), whole);
        see('keyring nonce', body.subarray(length, length + NONCE_BYTES), whole);
      }
    },
    noteDataKey(object, dataKey) {
      see('data key', dataKey, sealingOf(object));
    },
    repeats,
    counts: () => Object.fromEntries([...uses].map(([kind, known]) => [kind, known.size])),
  };
}

/** Answers what a re-bound object keeps, commitment and chunks, and no other object may share. */
function sealingOf(object: Uint8Array): string {
  return toHex(object.subarray(...COMMITMENT)) + toHex(object.subarray(HEADER_BYTES));
}

function isKeyring(body: Uint8Array): boolean {
  if (body.length === 0 || isShredMarker(body)) return false;
  try {
    parseKeyringHead(body);
    return true;
  } catch {
    return false;
  }
}
