import { FILE_SUFFIX } from '../../src/format/names.ts';
import { createLayout, type Layout, type ObjectKey, parseTenantId } from '../../src/format/object-keys.ts';

/** The layout of the one simulated tenant's objects. */
export const LAYOUT: Layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });

export const ROOT_KEY: Uint8Array = new Uint8Array(32).fill(7);

/** Answers the path of an object in the tree; names are not encrypted in simulations. */
export function pathOf(key: ObjectKey): string {
  return `/memories/${key.slice(LAYOUT.data.length, -FILE_SUFFIX.length)}`;
}
