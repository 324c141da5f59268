// The verbs of the administration alone, in a module of their own: the first call of one of them loads it.

export { exportTree } from '../admin/export/export-tree.ts';
export { readKeyStatus } from '../admin/keys/key-status.ts';
export { migrateObjects } from '../admin/keys/migrate.ts';
export { readRootKeyStatus } from '../admin/keys/root-key-status.ts';
export { rewrapRoot, rotateKey } from '../admin/keys/rotate.ts';
export { shredTenant } from '../admin/keys/shred.ts';
export { turnTenantHistory } from '../admin/keys/turn-history.ts';
