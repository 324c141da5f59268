import { hasCode } from '../../errors.ts';
import type { PlannedChange } from '../../history/change/plan.ts';
import type { AdminRun } from '../run/admin.ts';
import { type Content, changePatch, type TextPatch } from '../show/patch.ts';

/**
 * The effect of a change on a text. `not_text`: one of the two sides is no text. `gone`: one of the two versions is not
 * kept, or no longer.
 */
export type Patch = TextPatch | { readonly without: 'not_text' | 'gone' };

/**
 * Compares the text of a file before and after a change; undefined for a rename, which alters no text.
 *
 * @param changes the whole plan: a file that is renamed as well has its versions at its earlier path.
 */
export async function patchOfChange(
  { admin, report, signal }: AdminRun,
  change: PlannedChange,
  changes: readonly PlannedChange[],
): Promise<Patch | undefined> {
  const { path, what, fromVersion, toVersion } = change;
  if (what === 'rename') return undefined;
  const earlier = changes.flatMap(({ path: from, to }) => (to === path ? [from] : []));
  const contentOf = async (version: string | undefined): Promise<Content | 'gone' | undefined> => {
    if (version === undefined) return undefined;
    for (const at of [path, ...earlier]) {
      try {
        const { bytes } = await admin.history.read({ path: at, version }, { signal });
        return { path, version, bytes };
      } catch (error) {
        if (!hasCode(error, 'not_found')) throw error;
      }
    }
    return 'gone';
  };
  const [before, after] = await report.during(`reading versions of ${path}`, async () => [
    await contentOf(fromVersion),
    await contentOf(toVersion),
  ]);
  if (before === 'gone' || after === 'gone') return { without: 'gone' };
  const found = await changePatch(before, after, signal);
  return found ?? { without: 'not_text' };
}
