import { checkWholeNumber, misconfigured } from '../errors.ts';
import { LEAST_TTL_MS, LONGEST_TTL_MS } from '../keys/keyring-cache.ts';
import { createKeyringEditor } from '../keys/keyring-editor.ts';
import type { RollbackGuard } from '../keys/rollback-guard.ts';
import type { RootKey } from '../keys/root-key.ts';
import type { ObjectVersions, RequestOptions } from '../store/port.ts';
import { refuseWriting, type Tenant } from '../tree/tenant.ts';
import { type ExportOptions, type ExportReport, exportTree } from './export/export-tree.ts';
import { type KeyStatus, readKeyStatus } from './keys/key-status.ts';
import { type MigrateOptions, type MigrationReport, migrateObjects } from './keys/migrate.ts';
import { type RootKeyStatus, readRootKeyStatus } from './keys/root-key-status.ts';
import {
  type RewrapOptions,
  type RewrapReport,
  type RotateOptions,
  type RotateReport,
  rewrapRoot,
  rotateKey,
} from './keys/rotate.ts';
import { type ShredOptions, type ShredReport, shredTenant } from './keys/shred.ts';
import { type HistorySwitch, turnTenantHistory } from './keys/turn-history.ts';

/** The verbs that an operator alone calls, as `TenantAdmin` promises them. */
interface OperatorVerbs {
  keyStatus(options?: RequestOptions): Promise<KeyStatus>;
  rootKeyStatus(options?: RequestOptions): Promise<RootKeyStatus>;
  rotate(options?: RotateOptions): Promise<RotateReport>;
  migrate(options?: MigrateOptions): Promise<MigrationReport>;
  rewrapRoot(options?: RewrapOptions): Promise<RewrapReport>;
  switchHistory(to: 'on' | 'off' | 'anew', options?: RequestOptions): Promise<HistorySwitch>;
  shred(options?: ShredOptions): Promise<ShredReport>;
  export(request: ExportOptions): Promise<ExportReport>;
}

/** The means of the verbs beside the tenant. */
interface OperatedTenant {
  /** The root keys: the first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** The process's memory of the tenant's keyring. */
  readonly guard: RollbackGuard;
  /** The versions that the bucket keeps beside the current ones. */
  readonly versions: ObjectVersions | undefined;
}

export function createOperatorVerbs(
  tenant: Tenant,
  { rootKeys, guard, versions }: OperatedTenant,
): OperatorVerbs {
  const { store, layout, keyrings, clock, stamps, random, pause } = tenant;
  const editor = createKeyringEditor({ store, layout, rootKeys, guard, clock: stamps.now, random });
  return {
    keyStatus: ({ signal } = {}) => readKeyStatus({ rootKeys, editor, signal }),
    rootKeyStatus: ({ signal } = {}) => readRootKeyStatus({ rootKeys, editor, signal }),
    async rotate(request) {
      refuseWriting(tenant);
      return rotateKey({ editor, clock: stamps.now, random }, request);
    },
    async migrate(request) {
      refuseWriting(tenant);
      checkTtl(request?.ttlMs, LEAST_TTL_MS);
      return migrateObjects(tenant, { ...request, editor });
    },
    async rewrapRoot(request) {
      refuseWriting(tenant);
      return rewrapRoot({ editor, rootKeys }, request);
    },
    async switchHistory(to, request) {
      refuseWriting(tenant);
      if (to !== 'on' && to !== 'off' && to !== 'anew')
        throw misconfigured('History is turned on or off, or begun anew.');
      // A tenant without a write gets its keyring here.
      if (to === 'on') await keyrings.load({ create: true, signal: request?.signal });
      return turnTenantHistory({ editor, stamps }, to, request);
    },
    async shred(request) {
      refuseWriting(tenant);
      checkTtl(request?.ttlMs, 0);
      const report = await shredTenant({ store, layout, versions, clock, pause }, request);
      // The look meets the marker, and the keys leave this process too.
      await keyrings.look().catch(() => undefined);
      return report;
    },
    export: (request) => exportTree(tenant, request),
  };
}

function checkTtl(ttlMs: number | undefined, least: number): void {
  if (ttlMs !== undefined) checkWholeNumber('ttlMs', ttlMs, { least, most: LONGEST_TTL_MS });
}
