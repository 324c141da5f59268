import { expect } from 'vitest';
import type { History } from '../../../src/history/history.ts';
import type { Files } from './tenant-texts.ts';

/** One of the deeds of a tenant, in their order; the first one made what is there at the beginning. */
export interface Deed {
  readonly by: string;
  /** The files after the turn. */
  readonly files: Files;
  /** True where the turn may have renamed a file. */
  readonly renames: boolean;
}

/**
 * `back`: what the turn did is taken back to the byte. `apart`: path by path, as far as no other deed touched it.
 * `renamed`: a file may have been renamed, so that no path tells whose it is; no text is there but those of now and
 * before the turn.
 */
export type Judged = 'back' | 'apart' | 'renamed' | 'nothing';

/**
 * Takes a turn back and judges what the files are then, all of which lie at `paths`; a turn leaves its id in what it
 * writes.
 */
export async function undoTurn(
  deeds: Deed[],
  {
    turn,
    paths,
    history,
    read,
  }: {
    readonly turn: string;
    readonly paths: readonly string[];
    readonly history: History;
    readonly read: () => Promise<Files>;
  },
): Promise<Judged> {
  const index = deeds.findIndex(({ by }) => by === turn);
  const [before, own, now] = [deeds[index - 1]?.files, deeds[index]?.files, deeds.at(-1)?.files];
  if (before === undefined || own === undefined || now === undefined) throw new Error(`${turn} did not run`);
  const outcome = await history.undo({ writer: `turn ${turn}` });
  const after = await read();
  const label = JSON.stringify({ turn, outcome, before: [...before], own: [...own], now: [...now] });
  const differs = (path: string): boolean => own.get(path) !== before.get(path);
  const since = deeds.slice(index);
  const mayHaveRenamed = since.some(({ renames }) => renames);
  deeds.push({
    by: 'operator',
    files: after,
    renames: outcome.changes.some(({ what }) => what === 'rename'),
  });
  const isUntouched = (path: string): boolean =>
    since.every(({ files }) => files.get(path) === own.get(path));
  expect(outcome.outcome, label).toBe(outcome.changes.length > 0 ? 'written' : 'nothing');
  if (paths.every(isUntouched)) {
    expect([...after].sort(), label).toEqual([...before].sort());
    expect(outcome.left, label).toEqual([]);
    return paths.some(differs) ? 'back' : 'nothing';
  }
  const mayBe = (path: string): readonly (string | undefined)[] => {
    const [then, present] = [before.get(path), now.get(path)];
    if (mayHaveRenamed) return [undefined, present, ...before.values()];
    if (!differs(path)) return [present];
    if (isUntouched(path)) return [then];
    return present === undefined ? [undefined, then] : [present];
  };
  for (const path of paths) {
    const allowed = mayBe(path);
    expect(allowed, `${path}: ${label}`).toContain(after.get(path));
    const isBuiltOn = differs(path) && !isUntouched(path) && now.get(path)?.includes(`${turn}-`);
    if (isBuiltOn && allowed.length === 1)
      expect(outcome.left, label).toContainEqual(expect.objectContaining({ path, reason: 'built_on' }));
  }
  if (mayHaveRenamed) return 'renamed';
  return paths.some(differs) ? 'apart' : 'nothing';
}
