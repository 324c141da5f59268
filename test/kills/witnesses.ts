import { type Finding, weightOf } from '../../src/admin/findings.ts';
import { type KeyStatus, readKeyStatus } from '../../src/admin/keys/key-status.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { MemoryError } from '../../src/errors.ts';
import { readWholePast } from '../../src/history/past/read.ts';
import { contentOf } from '../../src/history/past/read-version.ts';
import { historyOf, textsOf } from '../stage/history-site.ts';
import type { TestClient } from '../stage/test-tree.ts';
import { editorOf, newProcess, type Place, ROOT_KEYS, TEXTS } from './tenant.ts';

const HOUR = 3_600_000;

/** The tenant as processes find it once nobody acts any more. */
export interface Seen {
  /** The files and their texts, as a process reads them that has seen nothing, or the code with which it is refused. */
  readonly texts: Readonly<Record<string, string | undefined>> | string;
  /** The same for the two processes that have met. */
  readonly warm: readonly unknown[];
  /** The root key and the tenant keys of the keyring. */
  readonly keys: unknown;
  /** The text of every version that can be read. */
  readonly kept: readonly string[];
  /** Versions that another one replaced and that are nowhere. */
  readonly holes: readonly string[];
  /** The changes that the log tells twice. */
  readonly twice: readonly string[];
  /** The findings of "verify" since each line of a checkpoint. */
  readonly findings: readonly Finding[];
}

/** Looks two hours later: what was left half-way is finished by the first command. */
export async function look(place: Place): Promise<Seen> {
  const { site } = place;
  await site.time.pause(2 * HOUR);
  const fresh = await newProcess(site);
  const texts = await readBy(fresh);
  const warm = [await readBy(place.operator), await readBy(place.writer)];
  const keys = keysIn(await readKeyStatus({ rootKeys: ROOT_KEYS, editor: editorOf(fresh) }));
  if (typeof texts === 'string') return { ...NOTHING, texts, warm, keys };
  const entries = await historyOf(fresh).list();
  const work = await fresh.open();
  const past = await readWholePast(work);
  const written = [...past.versions.values()];
  const kept: string[] = [];
  for (const version of written) {
    if (version.text === 'redacted') continue;
    const content = await contentOf(work, version);
    if (content !== undefined) kept.push(new TextDecoder().decode(content));
  }
  const told = entries.flatMap((entry) =>
    entry.kind === 'written' ? [] : [`${entry.kind} ${entry.version} ${entry.path} ${entry.time.getTime()}`],
  );
  const findings: Finding[] = [];
  for (const since of place.lines) findings.push(...(await verifyTree(fresh.tenant, { since })).findings);
  return {
    texts,
    warm,
    keys,
    kept,
    holes: written.flatMap(({ path, previous }) =>
      previous === undefined || past.versions.has(previous) ? [] : [`${path} before ${previous}`],
    ),
    twice: told.filter((each, index) => told.indexOf(each) !== index),
    findings,
  };
}

/**
 * Answers everything that must not be, whoever met whom.
 *
 * @param known kinds of findings that there are also where nobody meets anybody.
 */
export function faultsIn(place: Place, seen: Seen, known: readonly Finding['kind'][]): readonly unknown[] {
  const { texts, warm, kept, holes, twice, findings } = seen;
  const isUnreadable = typeof texts === 'string';
  const lost = [
    ...TEXTS.filter((text) => !kept.includes(text)),
    ...[...place.acknowledged].filter((text) => !kept.some((each) => each.includes(text))),
  ];
  return [
    ...(isUnreadable ? [] : lost.map((text) => ({ lost: text }))),
    ...holes.map((hole) => ({ hole })),
    ...twice.map((each) => ({ twice: each })),
    ...findings.filter((finding) => {
      const weight = weightOf(finding);
      return weight === 'alarm' || !(weight === 'untold' || known.includes(finding.kind));
    }),
    ...warm.flatMap((each) =>
      JSON.stringify(each) === JSON.stringify(texts) ? [] : [{ warm: each, texts }],
    ),
  ];
}

/** The parts of `Seen` that stay empty for a tenant that nobody can read. */
const NOTHING = { kept: [], holes: [], twice: [], findings: [] } as const;

async function readBy(client: TestClient): Promise<Seen['texts']> {
  try {
    return await textsOf(client);
  } catch (error) {
    if (error instanceof MemoryError) return error.code;
    throw error;
  }
}

function keysIn(status: KeyStatus): unknown {
  if (status.state !== 'open') return status.state;
  return { rootId: status.rootId, versions: status.keys.map(({ version }) => version) };
}

/** How many findings since a line say that it cannot be told. */
export const untoldIn = ({ findings }: Seen): number =>
  findings.filter((finding) => weightOf(finding) === 'untold').length;
