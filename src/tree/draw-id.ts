import { ID_BYTES, NO_ID } from '../format/wrap.ts';
import type { Once, Work } from './tenant.ts';

/**
 * Draws an id. It bears the marks of calls that take effect once, and is another one at each draw all the same.
 *
 * @param from.onces the calls that have a part in it; that of the work unless given.
 * @param from.replaced the id of the version that the new one replaces.
 */
export function drawId(
  { tenant, call }: Work,
  from: { readonly onces?: readonly Once[] | undefined; readonly replaced?: Uint8Array | undefined } = {},
): Uint8Array {
  let id = tenant.random(ID_BYTES);
  let before = from.replaced ?? NO_ID;
  for (const once of from.onces ?? [call.once]) if (once) before = id = once.mark(id, before);
  return id;
}
