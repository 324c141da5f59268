// The verbs of the administration alone, in a module of their own: it is loaded when one of them is asked for first.
export { readKeyStatus } from '../admin/key-status.ts';
export { migrateObjects } from '../admin/migrate.ts';
export { restoreTree } from '../admin/restore.ts';
export { readRootKeyStatus } from '../admin/root-key-status.ts';
export { rewrapRoot, rotateKey } from '../admin/rotate.ts';
export { shredTenant } from '../admin/shred.ts';
export { turnTenantHistory } from '../admin/turn-history.ts';
