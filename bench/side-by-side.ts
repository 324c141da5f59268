import pLimit from 'p-limit';

/** As many at once as the library's own default. */
const AT_ONCE = 32;

/** Runs `work` on every item, 32 at once. */
export async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  await pLimit(AT_ONCE).map(items, work);
}
