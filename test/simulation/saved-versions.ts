import { sameBytes, toBase64url } from '../../src/format/encoding.ts';
import type { OpenedObject } from '../../src/format/object.ts';
import { classLogicalName, type LogicalName, parseClassKey } from '../../src/format/object-keys.ts';
import { decodeHistoryRecord, type HistoryRecord } from '../../src/history/save/history-record.ts';
import type { History } from './history.ts';
import { type Lived, liveOf, type SealedAnew } from './lived-versions.ts';
import { LAYOUT } from './tenant.ts';

export interface Openers {
  readonly openAt: (path: string, object: Uint8Array) => OpenedObject;
  readonly openAs: (name: LogicalName, object: Uint8Array) => OpenedObject;
}

type SavedVersion = Extract<HistoryRecord, { kind: 'replaced' | 'redacted' }>;

/**
 * Lists the versions that were saved before they were replaced or deleted, in the order in which the records landed.
 */
export function savedVersions({ records }: History, { openAs }: Openers): readonly SavedVersion[] {
  return records.flatMap(({ key, body }) => {
    const name = parseClassKey(LAYOUT, key);
    if (name?.cls !== 'history') return [];
    const record = decodeHistoryRecord(openAs(classLogicalName('history', name.id), body).content);
    return record?.kind === 'replaced' || record?.kind === 'redacted' ? [record] : [];
  });
}

/** Tells whether a record has exactly the facts of the version that its id names. */
export function isTrueOf(lived: Lived, { version: facts, ...record }: SavedVersion): boolean {
  const version = lived.versions.get(toBase64url(facts.id));
  if (version === undefined) return false;
  const text = new TextEncoder().encode(version.text);
  return (
    facts.mtime === version.mtime &&
    toBase64url(facts.previous) === (version.previous ?? NONE) &&
    toBase64url(facts.writer) === version.writer &&
    facts.size === text.length &&
    (record.kind === 'redacted' || sameBytes(record.text, text))
  );
}

const NONE = toBase64url(new Uint8Array(16));

/** The processes that saw each of the two attempts of a write that was sealed anew. */
interface SeenAttempts extends SealedAnew {
  readonly read: readonly [boolean, boolean];
  readonly saved: readonly [boolean, boolean];
}

export function seenAttempts(history: History, openers: Openers): readonly SeenAttempts[] {
  const saved = savedVersions(history, openers);
  return liveOf(history, openers.openAt).sealedAnew.map((anew) => {
    const { id, path, operation, attempts } = anew;
    const isRead = ({ body }: SealedAnew['attempts'][number]): boolean =>
      history.found.some(
        (found) => found.path === path && found.operation !== operation && sameBytes(found.body, body),
      );
    const isSaved = ({ bound }: SealedAnew['attempts'][number]): boolean =>
      saved.some(({ version }) => version.bound === bound && toBase64url(version.id) === id);
    const [first, second] = attempts;
    return {
      ...anew,
      read: [isRead(first), isRead(second)],
      saved: [isSaved(first), isSaved(second)],
    };
  });
}
