import type { HistoryEntry, WrittenEntry } from '../../history/past/entries.ts';
import { visibleName } from '../../language/invisible.ts';
import { shownVersion } from '../show/shown.ts';

/** A file that has a text of an actor again, by a version that is not the actor's. */
export interface BroughtBack {
  readonly entry: WrittenEntry;
  /** The actor's version with that text. */
  readonly textOf: string;
}

/**
 * Finds the current versions in which others brought back a text that an actor wrote, such as by an undo of the undo:
 * those are not the actor's to take back.
 */
export function broughtBackOf(entries: readonly HistoryEntry[], writer: string): readonly BroughtBack[] {
  const written = entries.filter((entry) => entry.kind === 'written');
  const byVersion = new Map(written.map((entry) => [entry.version, entry]));
  return written.flatMap((entry) => {
    if (entry.end !== 'current' || entry.writer === writer) return [];
    const seen = new Set([entry]);
    let earlier = byVersion.get(entry.sameTextAs ?? '');
    while (earlier !== undefined && !seen.has(earlier)) {
      if (earlier.writer === writer) return [{ entry, textOf: earlier.version }];
      seen.add(earlier);
      earlier = byVersion.get(earlier.sameTextAs ?? '');
    }
    return [];
  });
}

/** Says where the text is again, who brought it back, and what to do. */
export function broughtBackLine({ entry, textOf }: BroughtBack): string {
  const { path, version, writer } = entry;
  const by = writer === undefined ? '' : ` by ${visibleName(writer)}`;
  const undo = writer === undefined ? '' : ', or "undo" takes back what that actor did';
  return `again    ${path}  ${shownVersion(version)}${by} has the text of ${shownVersion(textOf)} again: "restore" gives the file another of its versions${undo}`;
}
