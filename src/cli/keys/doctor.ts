import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { hasCode, MemoryError } from '../../errors.ts';
import { createLayout, type Layout } from '../../format/object-keys.ts';
import { createKeyringCache } from '../../keys/keyring-cache.ts';
import type { RootKey } from '../../keys/root-key.ts';
import { tryRootKey } from '../../keys/try-root-key.ts';
import { openViews } from '../../open/open-views.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { withRemedy } from '../../open/options/remedy.ts';
import { readSettings, requireTenant, type Settings } from '../../open/options/settings.ts';
import { type ConfiguredStore, openBaseStore } from '../../store/open-store.ts';
import type { ObjectStore } from '../../store/port.ts';
import { type ChosenVerb, EXIT_FAILED, failureLine, type Invocation } from '../run/invocation.ts';
import { readOptions } from '../run/settings.ts';
import { type ProbeFinding, probeConditions } from './condition-probe.ts';

/** Declares `doctor`. */
export function declareDoctor(program: Command, run: ChosenVerb<typeof runDoctor>): void {
  program
    .command('doctor')
    .description('check the configuration, the store and the keyring, and say what to do')
    .action(() => run());
}

/**
 * Checks, in this order and up to the first failure that leaves nothing more to check: the configuration, the tenant's
 * own settings, the root keys, the store, its conditions, the tenant's keyring. Prints one line for each; resolves to 0
 * when all are well. Writes scratch objects only, beside the tenant's probe, and removes them.
 */
export async function runDoctor(invocation: Invocation): Promise<number> {
  const { report } = invocation;
  let isWell = true;
  const tell = async ({ ok, what, advice }: ProbeFinding): Promise<void> => {
    isWell &&= ok;
    await report.entry(
      { ok, what, ...(!ok && { advice }) },
      ok ? `ok    ${what}` : `FAIL  ${what} — ${advice ?? 'see above'}`,
    );
  };
  try {
    for await (const finding of examine(invocation)) await tell(finding);
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    await tell({ ok: false, what: error.what, advice: adviceFor(error.cause) });
  }
  await report.done({ ok: isWell });
  return isWell ? 0 : EXIT_FAILED;
}

/** Runs one step of the examination; its failure names it. */
type Attempt = <T>(what: string, action: () => T | Promise<T>) => Promise<T>;

async function* examine(invocation: Invocation): AsyncGenerator<ProbeFinding> {
  const { report, signal } = invocation;
  const attempt: Attempt = (what, action) =>
    report.during(`checking: ${what}`, () => named(what, { action, signal }));
  const { common, options, layout } = await attempt('configuration', () => readAll(invocation));
  const location = common.store;
  yield { ok: true, what: `configuration: ${storeWords(location)}, tenant and root key are set` };

  const { settings, given } = await attempt('settings of the tenant', () =>
    openViews(options, { settings: common, points: [] })(layout.tenant).of(signal),
  );
  if (options.tenants !== undefined) {
    yield {
      ok: true,
      what: `settings of the tenant: ${Object.keys(given ?? {}).join(', ') || 'none of its own'}`,
    };
  }

  const rootKeys = settings.rootKeys.keys;
  yield {
    ok: true,
    what: rootKeys.length === 1 ? 'root key: one' : `root keys: ${rootKeys.length}, the first wraps`,
  };

  // Conditional deletes are sent as such, so that the server itself is seen.
  const s3 = { ...settings.s3, guarded: true };
  await using base = await attempt('store', () => openBaseStore({ store: location, s3 }));
  const store = base.plain;
  await attempt('store', () => reach(store, layout, signal));
  yield { ok: true, what: 'store: reachable' };

  if (settings.readOnly) {
    yield { ok: true, what: 'conditions: not tried, for nothing is to be written' };
  } else {
    yield* examineConditions({ store, layout, settings, signal, attempt });
  }
  yield await attempt('keyring', () => openKeyring({ store, layout, rootKeys, settings, signal }));
}

async function* examineConditions(given: {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly settings: Settings;
  readonly signal: AbortSignal;
  readonly attempt: Attempt;
}): AsyncGenerator<ProbeFinding> {
  const { store, layout, settings, signal, attempt } = given;
  const location = settings.store;
  const isCustom = location.kind === 's3' && settings.s3.endpoint !== undefined;
  const probe = probeConditions({
    store,
    scratch: `${layout.probe}-${randomBytes(6).toString('hex')}`,
    isTrustedGuarded: location.kind === 's3' ? (settings.s3.guarded ?? !isCustom) : true,
    signal,
  });
  const next = (): Promise<IteratorResult<ProbeFinding>> => attempt('conditions', () => probe.next());
  try {
    for (let finding = await next(); finding.done !== true; finding = await next()) {
      yield finding.value;
    }
  } finally {
    // A reader that goes away ends the loop before the probe has removed its scratch objects.
    await probe.return(undefined);
  }
}

function readAll(invocation: Invocation): {
  /** The settings of tenants that have none of their own. */
  readonly common: Settings;
  readonly options: MemoryOptions;
  readonly layout: Layout;
} {
  const options = readOptions(invocation);
  const common = readSettings(options);
  return {
    common,
    options,
    layout: createLayout({ prefix: common.prefix, tenant: requireTenant(common) }),
  };
}

async function reach(store: ObjectStore, layout: Layout, signal: AbortSignal | undefined): Promise<void> {
  for await (const _page of store.list({ prefix: layout.data, maxKeys: 1, signal })) {
    return;
  }
}

async function openKeyring(given: {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly rootKeys: readonly RootKey[];
  readonly settings: Settings;
  readonly signal: AbortSignal | undefined;
}): Promise<ProbeFinding> {
  const { store, layout, rootKeys, settings, signal } = given;
  const nameMode = settings.names;
  const keyrings = createKeyringCache({
    store,
    layout,
    rootKeys,
    ...settings.keyring,
    ...(nameMode && { nameMode }),
  });
  try {
    const loaded = await keyrings.load({ ...(signal && { signal }) });
    const [rootKey] = rootKeys;
    if (loaded === undefined && rootKey !== undefined && !settings.readOnly) {
      await tryRootKey(rootKey, { tenant: layout.tenant, signal });
    }
    const what =
      loaded === undefined ? 'this tenant has none yet; its first write makes it' : 'opens with the root key';
    return { ok: true, what: `keyring: ${what}` };
  } finally {
    keyrings.close();
  }
}

/** A step that cannot go on; `what` names it. */
class Failed extends Error {
  readonly what: string;

  constructor(what: string, cause: unknown) {
    super(what, { cause });
    this.what = what;
  }
}

/** Runs one step. After Ctrl-C its failure is the interruption, whatever a request that was cut off says. */
async function named<T>(
  what: string,
  { action, signal }: { readonly action: () => T | Promise<T>; readonly signal: AbortSignal },
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw signal.aborted || hasCode(error, 'aborted') ? error : new Failed(what, error);
  }
}

function adviceFor(error: unknown): string {
  if (!(error instanceof MemoryError)) {
    return failureLine(error);
  }
  return withRemedy(error).replace(/\.$/, '');
}

function storeWords(location: ConfiguredStore): string {
  switch (location.kind) {
    case 'memory':
      return 'a store that ends with the process';
    case 'sqlite':
      return 'an SQLite file';
    case 's3':
      return 'a bucket';
    case 'opened':
      return 'an open store';
  }
}
