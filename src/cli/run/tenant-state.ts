import type { History } from '../../history/history.ts';
import { parseMemoryPath } from '../../language/path.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import type { TenantAdmin } from '../../open/tenant-admin.ts';
import { turningHistoryOn } from '../../tree/tenant.ts';
import type { Invocation } from './invocation.ts';

/** The fields by which the last line of an answer tells programs that the tenant is absent or keeps no history. */
export type StateFields = { readonly tenantExists?: false; readonly history?: 'off' };

/** The tenant whose state is asked for, and the invocation that is told. */
export interface AskedTenant {
  readonly tenant: string;
  readonly history: Pick<History, 'state'>;
  readonly invocation: Pick<Invocation, 'terminal' | 'signal'>;
}

/** The tenant of a verb that looks after it. */
export function ofAdmin(
  { admin }: { readonly admin: Pick<TenantAdmin, 'tenant' | 'history'> },
  invocation: Invocation,
): AskedTenant {
  return { tenant: admin.tenant, history: admin.history, invocation };
}

/** Says why an answer is empty where nothing was ever written for the tenant: its name may have been mistyped. */
export function absentTenant(tenant: string): string {
  return `nothing was ever written for the tenant ${tenant}: is its name right?`;
}

/** Says, for a verb on history, in a line on standard error that the tenant keeps none, or does not exist. */
export async function tellHistoryOff(asked: AskedTenant): Promise<StateFields> {
  const { tenant, history, invocation } = asked;
  const state = await history.state({ signal: invocation.signal });
  if (state === 'on') return {};
  if (state === 'absent') return tellAbsent(asked);
  invocation.terminal.note(
    `the tenant ${tenant} keeps no history: ${turningHistoryOn(tenant)} keeps it from then on`,
  );
  return { history: 'off' };
}

/** Says, for an answer with nothing in it, in a line on standard error that the tenant does not exist. */
export async function tellIfAbsent(asked: AskedTenant): Promise<StateFields> {
  const state = await asked.history.state({ signal: asked.invocation.signal });
  return state === 'absent' ? tellAbsent(asked) : {};
}

function tellAbsent({ tenant, invocation: { terminal } }: AskedTenant): StateFields {
  terminal.note(absentTenant(tenant));
  return { tenantExists: false };
}

/** Tells whether a path lies in another memory that is mounted. */
export function isMounted(path: string, { mounts = [] }: Pick<MemoryOptions, 'mounts'>): boolean {
  return mounts.some(({ at }) => `${path}/`.startsWith(`${parseMemoryPath(at)}/`));
}
