import { isWithin, type MemoryPath } from '../language/path.ts';
import { chainOf } from './chain.ts';
import { draftPlan, finishPlan, type HistoryPlan, haveSameText, type IsHidden } from './plan.ts';
import { treeAt, unknownBefore } from './tree-at.ts';
import type { Past } from './versions.ts';

interface RestoredMoment {
  readonly time: number;
  readonly below: MemoryPath;
  /** What was replaced before may have expired. */
  readonly expiredBefore: number;
  /** From when on every writer keeps the history; undefined where none does, or nothing tells. */
  readonly keptSince: number | undefined;
  readonly isHidden: IsHidden;
}

/**
 * What makes the files at or below a path what they were at a moment. Of what cannot be had nothing is changed.
 */
export function planRestoreAt(past: Past, moment: RestoredMoment): HistoryPlan {
  const { time, below, expiredBefore, isHidden } = moment;
  const draft = draftPlan();
  const { writes, left } = draft;
  const then = treeAt(past, moment);
  const isMeant = (path: MemoryPath): boolean => path === below || isWithin(path, below);
  if (past.damaged.records.length > 0) left.set(below, { path: below, reason: 'damaged' });
  const begins = beginningOf(past);
  const isBefore = begins !== undefined && time < begins;
  if (time < expiredBefore || isBefore) left.set(below, { path: below, reason: 'too_early' });
  for (const path of past.damaged.files) if (isMeant(path)) left.set(path, { path, reason: 'damaged' });
  for (const [path, { reason, version }] of then.doubts)
    if (isMeant(path)) left.set(path, { path, reason, version });

  for (const [path, version] of then.files) {
    const now = past.files.get(path);
    if (!isMeant(path) || left.has(path) || now === version.id) continue;
    const current = now === undefined ? undefined : past.versions.get(now);
    if (version.text === 'redacted') left.set(path, { path, reason: 'redacted', version: version.id });
    else if (current === undefined) writes.set(path, { path, what: 'create', toVersion: version.id });
    else if (!haveSameText(current, version))
      writes.set(path, { path, what: 'replace', fromVersion: current.id, toVersion: version.id });
  }
  for (const [path, id] of past.files) {
    if (!isMeant(path) || left.has(path) || then.files.has(path)) continue;
    const current = past.versions.get(id);
    const isCopy = current?.path !== path;
    const first = current && chainOf(past, current).at(-1);
    const unknown = first && first.mtime >= time ? unknownBefore(past, first, moment) : undefined;
    // A rename that was cut off left it at two places: nothing tells at which it stays.
    if (isCopy) left.set(path, { path, reason: 'unrecorded', version: id });
    else if (unknown !== undefined) left.set(path, { path, ...unknown });
    else writes.set(path, { path, what: 'delete', fromVersion: id });
  }
  return { ...finishPlan(draft, past.files, isHidden), ...(isBefore && { begins: new Date(begins) }) };
}

/** The time of the first entry that is known; undefined where there is none. */
function beginningOf({ versions, moves }: Past): number | undefined {
  let begins: number | undefined;
  for (const { mtime } of versions.values()) begins = Math.min(mtime, begins ?? mtime);
  for (const { at } of moves) begins = Math.min(at, begins ?? at);
  return begins;
}
