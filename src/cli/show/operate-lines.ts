import type { TenantExpiry } from '../../admin/expiry/expire.ts';
import type { KeyStatus } from '../../admin/keys/key-status.ts';
import type { MigrationProgress, MigrationReport } from '../../admin/keys/migrate.ts';
import type { ConfiguredRootKey, RootKeyStatus } from '../../admin/keys/root-key-status.ts';
import type { RewrapReport, RotateReport } from '../../admin/keys/rotate.ts';
import type { ShredProgress, ShredReport } from '../../admin/keys/shred.ts';
import { findingLine } from './finding-lines.ts';
import type { Step } from './progress.ts';
import { counted } from './report.ts';
import { timeOf } from './shown.ts';

export function statusLines(status: KeyStatus): readonly string[] {
  switch (status.state) {
    case 'absent':
      return ['ok    no keyring: nothing was written for this tenant yet, or its keyring object is gone'];
    case 'shredded':
      return ["ok    shredded: this tenant's keys were destroyed for good"];
    case 'locked':
      return [
        `FAIL  the keyring (epoch ${status.epoch}) is wrapped by ${status.rootId} — configure that root key`,
      ];
    case 'open':
      break;
  }
  const { epoch, nameMode, writtenAt, rootId, wrappedByFirst, keys, free } = status;
  const old = keys.length - 1;
  return [
    `ok    keyring: epoch ${epoch}, written ${timeOf(writtenAt)}, names ${nameMode}`,
    wrappedByFirst
      ? `ok    root key: ${rootId}`
      : `to do root key: ${rootId}, which is not the first configured one — "sealed-memory keys rewrap-root" moves the keyring to that`,
    historyLine(status),
    ...keys.map(
      ({ version, created, active }) =>
        `ok    key ${version}: made ${timeOf(created)}, ${active ? 'active' : 'opens only'}`,
    ),
    ...(old === 0
      ? []
      : [
          `to do ${counted(old, 'old key')}; room for ${free} more — "sealed-memory keys migrate" retires what nothing needs`,
        ]),
  ];
}

/** Makes a line for each configured root key, in their order, and one for what is missing among them. */
export function rootKeyLines(status: RootKeyStatus): readonly string[] {
  const { keyring, wrappedBy, rootKeys, failure } = status;
  const why = failure === undefined ? '' : `${failure.code}: ${failure.message}`;
  return [
    ...rootKeys.map((rootKey, index) => rootKeyLine(rootKey, { index, keyring, why })),
    ...(keyring === 'absent' || keyring === 'shredded' ? statusLines({ state: keyring }) : []),
    ...(keyring === 'locked'
      ? [`FAIL  the keyring is wrapped by ${wrappedBy}, which is not configured — configure that root key`]
      : []),
    ...(keyring === 'unread' && !rootKeys.some(({ wraps }) => wraps)
      ? [`FAIL  the keyring could not be read, so nothing tells which one wraps it: ${why}`]
      : []),
  ];
}

function rootKeyLine(
  { id, wraps, opens }: ConfiguredRootKey,
  {
    index,
    keyring,
    why,
  }: { readonly index: number; readonly keyring: RootKeyStatus['keyring']; readonly why: string },
): string {
  const named = `root key ${index + 1}: ${id}`;
  if (wraps && !opens) return `FAIL  ${named} wraps the keyring, and did not open it: ${why}`;
  if (wraps && index === 0) return `ok    ${named} wraps the keyring, and opens it`;
  if (wraps) {
    return `to do ${named} wraps the keyring, and opens it — "sealed-memory keys rewrap-root" moves the keyring to root key 1`;
  }
  if (index === 0 && keyring === 'absent') return `ok    ${named} will wrap the keyring`;
  return keyring === 'open' || keyring === 'locked'
    ? `ok    ${named} does not wrap the keyring`
    : `ok    ${named}`;
}

/** Tells people whether the tenant keeps history. */
export function historyLine({
  history,
  historySince,
}: Pick<Extract<KeyStatus, { state: 'open' }>, 'history' | 'historySince'>): string {
  const since = historySince === undefined ? '' : `; every writer keeps it from ${timeOf(historySince)} on`;
  return history === 'on'
    ? `ok    history: on${since}`
    : 'ok    history: off — "sealed-memory tenant history on" turns it on';
}

export function rotationLines({ rotated, version, created, held, epoch }: RotateReport): readonly string[] {
  const told = rotated ? 'ok    key' : 'ok    nothing changed: key';
  return [
    `${told} ${version} is active since ${timeOf(created)} (epoch ${epoch})`,
    ...(held > 1
      ? [
          `to do "sealed-memory keys migrate" brings all objects under it and retires ${counted(held - 1, 'old key')}`,
        ]
      : []),
  ];
}

export function rewrapLines({ rewrapped, rootId, epoch }: RewrapReport): readonly string[] {
  const told = rewrapped ? 'the keyring is now' : 'nothing changed: the keyring is';
  return [`ok    ${told} wrapped by ${rootId} (epoch ${epoch})`];
}

/** @param reencrypt Whether the migration was one that encrypts again, as it is to go on. */
export function migrationLines(
  report: MigrationReport,
  { reencrypt = false }: { readonly reencrypt?: boolean | undefined } = {},
): readonly string[] {
  const { passes, objects, rebound, busy, young, problems, versions, retired, blocked, retireAfter } = report;
  const { madeKey, wantsCheckpoint } = report;
  const again = `run "sealed-memory keys migrate${reencrypt ? ' --reencrypt' : ''}" again`;
  const isAllUnderActive = versions.every(({ active, objects: count }) => active || count === 0);
  const held = versions.map(({ version, active, objects: count }) => {
    return `${active ? 'ok   ' : 'old  '} key ${version}: ${counted(count, 'object')}${active ? ', active' : ''}`;
  });
  return [
    ...problems.map((problem) => findingLine(problem)),
    ...(madeKey === undefined
      ? []
      : [`ok    key ${madeKey} was made first: objects under the active key had older data keys`]),
    ...held,
    ...(retired.length > 0
      ? [`ok    retired: ${retired.map((version) => `key ${version}`).join(', ')}`]
      : []),
    ...(blocked.length > 0
      ? [
          `FAIL  ${blocked.map((version) => `key ${version}`).join(', ')} cannot be retired before that is mended`,
        ]
      : []),
    ...(busy > 0 ? [`wait  ${counted(busy, 'object')} in use by a rename or a turn — ${again}`] : []),
    ...(young > 0
      ? [`wait  left for the next pass: ${counted(young, 'object')} written a moment ago — ${again}`]
      : []),
    ...(retireAfter === undefined
      ? []
      : [`to do old keys can be retired from ${timeOf(retireAfter)} on — ${again} then, or use --wait`]),
    `${problems.length === 0 ? 'ok    ' : 'FAIL  '}${counted(objects, 'object')} looked at, ${rebound} brought under the active key, in ${counted(passes, 'pass', 'passes')}`,
    ...(reencrypt && rebound === 0 && isAllUnderActive
      ? [
          'note  no data key is older than the active key — "sealed-memory keys rotate" first, after a compromise',
        ]
      : []),
    ...(wantsCheckpoint
      ? [
          'to do take a checkpoint now ("sealed-memory checkpoint --since" and the last line, if you have one): it tells what is put back from before',
        ]
      : []),
  ];
}

export function migrationStep({ done, total, pass, waitingUntil }: MigrationProgress): Step {
  return waitingUntil === undefined
    ? { what: `objects, pass ${pass}`, done, total }
    : { line: `waiting until ${timeOf(waitingUntil)}, then old keys can be retired` };
}

export function shredLines({ marked, versionsRemoved, objects, bytes }: ShredReport): readonly string[] {
  return [
    `ok    ${marked ? "the tenant's keys are destroyed" : "the tenant's keys had been destroyed before"}`,
    versionsRemoved === undefined
      ? 'note  versions or copies that the store itself may keep of the keyring were not looked for'
      : `ok    ${counted(versionsRemoved, 'older version')} of the keyring removed`,
    `note  ${counted(objects, 'sealed object')} (${counted(bytes, 'byte')}) ${objects === 1 ? 'stays' : 'stay'}, unreadable; plain tools may delete them`,
    'to do backups, replicas and other regions still hold older keyrings, which open their own copies: delete those there',
  ];
}

export function shredLine(progress: ShredProgress): string {
  switch (progress.phase) {
    case 'marked':
      return "the tenant's keys are destroyed";
    case 'waiting':
      return `waiting until ${timeOf(progress.until)}, when the last cache has expired`;
    case 'versions':
      return `${counted(progress.removed, 'older version')} removed`;
  }
}

export function expiryLines(
  { files, deleted, marked, records, sessions, history = 0, tombstones, busy }: TenantExpiry,
  { dryRun }: { readonly dryRun: boolean },
): readonly string[] {
  const done = dryRun ? 'would be deleted' : 'deleted';
  return [
    ...(busy ? ['wait  a directory is being renamed, so no file was looked at — run it again'] : []),
    ...(marked > 0
      ? [
          `to do ${marked} unused: ${dryRun ? 'a run marks them, and one' : 'a run'} at least an hour later deletes what is still unused`,
        ]
      : []),
    `${dryRun ? 'note ' : 'ok   '} ${counted(files, 'file')} looked at, ${deleted} ${done}`,
    `${dryRun ? 'note ' : 'ok   '} ${counted(records, 'old access record, receipt, answer or conversation', 'old access records, receipts, answers and conversations')} ${done}`,
    ...(sessions > 0 ? [`${dryRun ? 'note ' : 'ok   '} ${counted(sessions, 'unused session')} ${done}`] : []),
    ...(history > 0
      ? [`${dryRun ? 'note ' : 'ok   '} ${counted(history, 'old record')} of the history ${done}`]
      : []),
    ...(tombstones > 0
      ? [`ok    ${counted(tombstones, 'tombstone')} of deletes that were cut off removed`]
      : []),
  ];
}
