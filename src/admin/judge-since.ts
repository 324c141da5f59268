import type { MemoryPath } from '../language/path.ts';
import type { SinceFinding } from '../tree/findings.ts';
import { compare, type Since } from './comparison.ts';
import { judgeFile } from './judge-file.ts';
import { judgeGone } from './judge-gone.ts';

/**
 * Holds what a tenant has now to a checkpoint: each file is the same version or came of it, or the history says how it ended.
 * Nothing of a file is taken for wrong that an honest process, cut off at any moment, may have left.
 */
export function judgeSince(since: Since): readonly SinceFinding[] {
  const { held, entries } = since;
  const comparison = compare(since);
  const { evidence, fileAt } = comparison;
  const findings: SinceFinding[] = [];
  const told = new Set<MemoryPath>();
  for (const file of held.files) {
    const finding = judgeFile(comparison, file);
    if (finding === undefined) continue;
    findings.push(finding);
    told.add(file.path);
  }
  for (const entry of entries) {
    const file = fileAt(entry.path);
    if (told.has(entry.path) || held.damaged.has(entry.path)) continue;
    if (file !== undefined && evidence.descendants(entry.id).has(evidence.sameAs(file.id))) continue;
    const finding = judgeGone(comparison, entry);
    if (finding !== undefined) findings.push(finding);
  }
  return findings;
}
