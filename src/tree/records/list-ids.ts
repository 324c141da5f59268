import { type ObjectClass, parseClassKey } from '../../format/object-keys.ts';
import type { ListedObject } from '../../store/port.ts';
import { pagesBelow } from '../list-objects.ts';
import type { Work } from '../tenant.ts';

/** A record of a class, as a listing shows it. */
export interface ListedId {
  readonly id: string;
  readonly object: ListedObject;
}

/** One page of a listing of records. */
interface PageOfIds {
  readonly ids: readonly ListedId[];
  /** The time of the answer, by the server's clock. */
  readonly servedAt: number;
}

/**
 * Lists the records of a class whose ids have a beginning, in the order of their ids, page by page. One LIST for each
 * 1,000.
 */
export async function* pagesOfIds(
  work: Work,
  cls: ObjectClass,
  beginning = '',
): AsyncGenerator<PageOfIds, void, undefined> {
  const { layout } = work.tenant;
  const prefix = `${layout.tenantPrefix}${cls}/${beginning}`;
  for await (const { objects, servedAt } of pagesBelow(work, { prefix })) {
    const ids = objects.flatMap((object) => {
      const parsed = parseClassKey(layout, object.key);
      return parsed?.cls === cls ? [{ id: parsed.id, object }] : [];
    });
    yield { ids, servedAt };
  }
}

/** Lists the records of all pages of `pagesOfIds`. */
export async function listIds(
  work: Work,
  cls: ObjectClass,
  beginning?: string,
): Promise<readonly ListedId[]> {
  const listed: ListedId[] = [];
  for await (const { ids } of pagesOfIds(work, cls, beginning)) listed.push(...ids);
  return listed;
}
