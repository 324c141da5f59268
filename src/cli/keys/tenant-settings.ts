import type { Command } from 'commander';
import { misconfigured } from '../../errors.ts';
import { readTenant } from '../../open/options/option-table.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { shownSettings } from '../../open/shown-settings.ts';
import { judgeOwn, readSource, refuseExpiring, refuseUnknownSettings } from '../../open/tenant-views.ts';
import {
  type ChosenVerb,
  EXIT_FAILED,
  failureLine,
  type Invocation,
  ofOneChange,
  tellInterruption,
  wrongCall,
} from '../run/invocation.ts';
import { readTenantsOptions } from '../run/settings.ts';
import { counted } from '../show/report.ts';

/** Declares `settings` among the commands about the tenant as a whole. */
export function declareTenantSettings(
  tenant: Command,
  run: {
    readonly show: ChosenVerb<typeof runShowSettings>;
    readonly check: ChosenVerb<typeof runCheckSettings>;
    readonly set: ChosenVerb<typeof runSetSetting>;
    readonly unset: ChosenVerb<typeof runUnsetSetting>;
  },
): void {
  const settings = tenant
    .command('settings')
    .description('look after what a tenant has of its own, in a file or a table; docs/tenants.md');
  settings
    .command('show')
    .description("show the tenant's settings; of root keys the names alone")
    .action(() => run.show());
  settings
    .command('check')
    .description('judge the settings of every tenant of the file, or of the tenant in the table')
    .action(() => run.check());
  const dryRun = ['--dry-run', 'write nothing, and tell what would be written'] as const;
  settings
    .command('set <name> <value>')
    .description('write a setting into the table; a value that is not a text is JSON: set limits.files 500')
    .option(...dryRun)
    .action((name: string, value: string, options: ChangeArguments) => run.set(name, value, options));
  settings
    .command('unset <name>')
    .description('remove a setting from the table')
    .option(...dryRun)
    .action((name: string, options: ChangeArguments) => run.unset(name, options));
}

interface ChangeArguments {
  readonly dryRun?: boolean;
}

type TypedSettings = Readonly<Record<string, unknown>>;

/** The place of the settings, and the options that they are judged with. */
interface Place extends ReturnType<typeof readSource> {
  readonly options: Partial<MemoryOptions>;
  readonly tenant: string | undefined;
}

/** Shows the settings of the configured tenant. */
export async function runShowSettings(invocation: Invocation): Promise<number> {
  const { report } = invocation;
  const place = placeOf(invocation);
  const tenant = requireTenant(place);
  const given = await report.during('reading the settings', () => readGiven(place, tenant, invocation));
  const shown = Object.entries(shownSettings(given === undefined ? {} : objectOf(given, tenant)));
  for (const [name, value] of shown) {
    await report.entry({ name, value }, `${name}: ${JSON.stringify(value)}`);
  }
  const none = [`ok    ${tenant} has no settings of its own: it has those of all tenants`];
  await report.done({ tenant, settings: shown.length }, shown.length === 0 ? none : []);
  return 0;
}

/** Judges settings as a pool does. Resolves to 1 where some are refused. */
export async function runCheckSettings(invocation: Invocation): Promise<number> {
  const { report } = invocation;
  const place = placeOf(invocation);
  const known = await report.during('reading the settings', async () => {
    if (place.kind === 'file') return (await import('../../open/tenant-file.ts')).readTenantFile(place.at);
    const tenant = requireTenant(place);
    return new Map([[tenant, await readGiven(place, tenant, invocation)]]);
  });
  let refused = 0;
  for (const [tenant, given] of known) {
    try {
      if (given !== undefined) await judgeAll(place, { tenant, given, invocation });
      const own = given === undefined ? ' has no settings of its own' : '';
      await report.entry({ tenant, ok: true }, `ok    ${tenant}${own}`);
    } catch (error) {
      refused++;
      const message = failureLine(error);
      await report.entry({ tenant, ok: false, message }, `FAIL  ${tenant}: ${message}`);
    }
  }
  await report.done({ checked: known.size, refused }, [
    ...(refused > 0 ? [`FAIL  the settings of ${counted(refused, 'tenant')} are refused`] : []),
    ...(known.size === 0 ? ['ok    the file names no tenant'] : []),
  ]);
  return refused > 0 ? EXIT_FAILED : 0;
}

/** Gives a setting of the configured tenant in its table. */
export async function runSetSetting(
  name: string,
  value: string,
  options: ChangeArguments,
  invocation: Invocation,
): Promise<number> {
  const next = typedValue(name, value);
  return change({ name, value: next, ...options }, invocation);
}

/** Takes a setting of the configured tenant out of its table. */
export async function runUnsetSetting(
  name: string,
  options: ChangeArguments,
  invocation: Invocation,
): Promise<number> {
  return change({ name, value: undefined, ...options }, invocation);
}

async function change(
  { name, value, dryRun = false }: ChangeArguments & { readonly name: string; readonly value: unknown },
  invocation: Invocation,
): Promise<number> {
  const { report, signal } = invocation;
  const place = placeOf(invocation);
  const tenant = requireTenant(place);
  if (place.kind === 'file') {
    throw wrongCall(
      'The settings lie in a file: edit a copy of it, judge that with "sealed-memory tenant settings check", and rename it over the file.',
    );
  }
  try {
    const { openTable, parseSettings } = await import('../../open/tenant-table.ts');
    const table = openTable(place.at);
    const read = await report.during('reading the settings', () => table.read(tenant, signal));
    const before = read === undefined ? {} : objectOf(parseSettings(read, tenant), tenant);
    // A mistyped name may be taken out where it is set; where it is not set, there is nothing to do.
    const [setting = ''] = name.split('.');
    if (!Object.hasOwn(before, setting)) refuseUnknownSettings([setting], tenant);
    const after = withSetting(before, { name, value });
    const settings = Object.keys(after).length === 0 ? undefined : JSON.stringify(after);
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    if (settings !== undefined) parseSettings(settings, tenant);
    // A setting that is taken out may mend settings that were refused, step by step.
    const judging =
      settings === undefined ? undefined : judgeAll(place, { tenant, given: after, invocation });
    const left =
      value === undefined ? await judging?.catch((error: unknown) => failureLine(error)) : await judging;
    if (!isSame && !dryRun) {
      const { changeSettings } = await import('../../open/tenant-table-changes.ts');
      await report.during('writing the settings', () =>
        changeSettings(table, { tenant, read, settings, signal }),
      );
    }
    const shown = value === undefined ? undefined : JSON.stringify(shownSettings({ [name]: value })[name]);
    const has = `${tenant} has ${shown === undefined ? `no ${name} of its own` : `${name} ${shown}`}`;
    const would = shown === undefined ? `take ${name} from ${tenant}` : `give ${tenant} ${name} ${shown}`;
    const told = isSame
      ? `ok    nothing changed: ${has}`
      : dryRun
        ? `would ${would}`
        : `ok    ${has}; processes follow within five minutes`;
    await report.done({ tenant, name, dryRun, changed: !isSame, ...(typeof left === 'string' && { left }) }, [
      told,
      ...(name === 'rootKey' && !isSame ? [KEEP_OLD_KEY] : []),
      ...(typeof left === 'string' ? [`to do the settings are still refused: ${left}`] : []),
    ]);
    return typeof left === 'string' ? EXIT_FAILED : 0;
  } catch (error) {
    tellInterruption(error, invocation, ofOneChange);
    throw error;
  }
}

const KEEP_OLD_KEY =
  'to do a keyring opens by the keys of this list alone: keep the old key after the new one, wait the five minutes, run "sealed-memory keys rewrap-root", and take the old key out then';

function placeOf(invocation: Invocation): Place {
  const { tenants, tenant, options } = readTenantsOptions(invocation);
  return { ...readSource(tenants), options, tenant };
}

function requireTenant({ tenant }: Place): string {
  if (tenant !== undefined) return tenant;
  throw misconfigured('not set: the tenant (--tenant or SEALED_MEMORY_TENANT).');
}

async function readGiven(place: Place, tenant: string, { signal }: Invocation): Promise<unknown> {
  if (place.kind === 'file') {
    return (await (await import('../../open/tenant-file.ts')).readTenantFile(place.at)).get(tenant);
  }
  const { openTable, parseSettings } = await import('../../open/tenant-table.ts');
  const text = await openTable(place.at).read(tenant, signal);
  return text === undefined ? undefined : parseSettings(text, tenant);
}

/**
 * Judges the settings of a tenant, and its mounts against the settings of those that they mount.
 *
 * @throws MemoryError `misconfigured`.
 */
async function judgeAll(
  place: Place,
  {
    tenant,
    given,
    invocation,
  }: { readonly tenant: string; readonly given: unknown; readonly invocation: Invocation },
): Promise<void> {
  const { points } = judgeOwn(readTenant(tenant, 'tenant'), given, place.options);
  if (objectOf(given, tenant)['mounts'] === undefined) return;
  await refuseExpiring(tenant, points, async (mounted) => {
    const own = await readGiven(place, mounted, invocation);
    return own === undefined
      ? place.options.expireAfterDays
      : judgeOwn(mounted, own, place.options).settings.expireAfterDays;
  });
}

function objectOf(given: unknown, tenant: string): TypedSettings {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return { ...given };
  throw misconfigured(`The settings of tenant ${tenant} are no object.`);
}

/** The settings whose values are texts as they are typed. */
const TEXTS: ReadonlySet<string> = new Set(['model', 'system', 'effort', 'policy']);

/** Reads a value as a person typed it. @throws MemoryError `misconfigured` for one that is no JSON. */
function typedValue(name: string, text: string): unknown {
  if (TEXTS.has(name)) return text;
  if (name === 'rootKey' && !text.startsWith('[')) {
    const keys = text.split(',').map((key) => key.trim());
    return keys.length === 1 ? keys[0] : keys;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw wrongCall(
      `The value of ${name} is no JSON: a number, true, false, or a list or an object in quotes of the shell.`,
    );
  }
}

/** Sets or takes out a setting, or a member of one: `limits.files`. A group without members goes. */
function withSetting(
  given: TypedSettings,
  { name, value }: { readonly name: string; readonly value: unknown },
): TypedSettings {
  const [first = '', ...rest] = name.split('.');
  const next = rest.length === 0 ? value : withMember(given[first], { name: rest.join('.'), value });
  const changed = Object.entries({ ...given, [first]: next });
  return Object.fromEntries(changed.filter(([, each]) => each !== undefined));
}

function withMember(group: unknown, member: { readonly name: string; readonly value: unknown }): unknown {
  const members = withSetting({ ...Object(group) }, member);
  return Object.keys(members).length === 0 ? undefined : members;
}
