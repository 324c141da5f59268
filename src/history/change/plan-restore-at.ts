import { isWithin, type MemoryPath } from '../../language/path.ts';
import { dateOf } from '../../time.ts';
import { treeAt, unknownBefore } from '../past/at.ts';
import type { Past } from '../past/past.ts';
import { draftPlan, haveSameText, type IsHidden, type PlanDraft } from './plan.ts';

interface RestoredMoment {
  readonly time: number;
  readonly below: MemoryPath;
  /** The time before which replaced versions may have expired. */
  readonly expiredBefore: number;
  /** The time from which on every writer keeps the history; undefined where history is off, or the time is unknown. */
  readonly keptSince: number | undefined;
  readonly isHidden: IsHidden;
}

/**
 * Plans the changes that make the files at or below a path what they were at a moment, in steps. A file that it cannot
 * restore is left.
 */
export function* planRestoreAt(past: Past, moment: RestoredMoment): Generator<void, PlanDraft> {
  const { time, below, expiredBefore, isHidden } = moment;
  const begins = yield* beginningOf(past);
  const isBefore = begins !== undefined && time < begins;
  const draft = { ...draftPlan(past, isHidden), ...(isBefore && { begins: dateOf(begins) }) };
  const { writes, deletes, left } = draft;
  const then = yield* treeAt(past, moment);
  const isMeant = (path: MemoryPath): boolean => path === below || isWithin(path, below);
  if (past.damaged.records.length > 0) left.set(below, { path: below, reason: 'damaged' });
  if (time < expiredBefore || isBefore) left.set(below, { path: below, reason: 'too_early' });
  for (const path of past.damaged.files) if (isMeant(path)) left.set(path, { path, reason: 'damaged' });
  for (const [path, { reason, version }] of then.doubts)
    if (isMeant(path)) left.set(path, { path, reason, version });

  for (const [path, version] of then.files) {
    yield;
    const now = past.files.get(path)?.id;
    if (!isMeant(path) || left.has(path) || now === version.id) continue;
    const current = now === undefined ? undefined : past.versions.get(now);
    if (version.text === 'redacted') left.set(path, { path, reason: 'redacted', version: version.id });
    else if (current === undefined) writes.set(path, { path, what: 'create', toVersion: version.id });
    else if (!haveSameText(current, version))
      writes.set(path, { path, what: 'replace', fromVersion: current.id, toVersion: version.id });
  }
  for (const [path, { id }] of past.files) {
    yield;
    if (!isMeant(path) || left.has(path) || then.files.has(path)) continue;
    const current = past.versions.get(id);
    const first = past.ancestors(id).at(-1) ?? current;
    const unknown = first && first.mtime >= time ? unknownBefore(past, first, moment) : undefined;
    if (unknown !== undefined) left.set(path, { path, ...unknown });
    else deletes.set(path, { path, what: 'delete', fromVersion: id });
  }
  return draft;
}

/** Finds the time of the first known entry; undefined where the history is empty. */
function* beginningOf({ versions, leaves }: Past): Generator<void, number | undefined> {
  let begins: number | undefined;
  for (const { mtime } of versions.values()) {
    yield;
    begins = Math.min(mtime, begins ?? mtime);
  }
  for (const { at } of leaves) {
    yield;
    begins = Math.min(at, begins ?? at);
  }
  return begins;
}
