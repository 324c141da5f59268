import { type Finding, weightOf } from '../../src/admin/findings.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { readWholePast } from '../../src/history/past/read.ts';
import { contentOf } from '../../src/history/past/read-version.ts';
import { historyOf, textsOf } from '../stage/history-site.ts';
import { editorOf, versionsOf } from '../stage/key-operator.ts';
import type { TestClient } from '../stage/test-tree.ts';
import { newProcess, type Place, TEXTS } from './tenant.ts';

const HOUR = 3_600_000;

/** What processes find once nobody acts any more. */
export interface Seen {
  /** The files and their texts, as a process reads them that has seen nothing. */
  readonly texts: Readonly<Record<string, string | undefined>>;
  /** The same, or the error, for the two processes that have met. */
  readonly warm: readonly unknown[];
  /** The tenant keys that the keyring holds. */
  readonly keys: readonly number[];
  /** The text of every version that can be read. */
  readonly kept: readonly string[];
  /** Versions that another one replaced and that are nowhere. */
  readonly holes: readonly string[];
  /** What the log tells twice. */
  readonly twice: readonly string[];
  /** What "verify" finds since each line of a checkpoint. */
  readonly findings: readonly Finding[];
}

/** Looks two hours later: what was left half-way is finished by the first command. */
export async function look(place: Place): Promise<Seen> {
  const { site } = place;
  await site.time.pause(2 * HOUR);
  const fresh = await newProcess(site);
  const texts = await textsOf(fresh);
  const entries = await historyOf(fresh).list();
  const work = await fresh.open();
  const past = await readWholePast(work);
  const written = [...past.versions.values()];
  const kept: string[] = [];
  for (const version of written) {
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
    warm: [await readBy(place.operator), await readBy(place.writer)],
    keys: await versionsOf(editorOf(fresh.tenant)),
    kept,
    holes: written.flatMap(({ path, previous }) =>
      previous === undefined || past.versions.has(previous) ? [] : [`${path} before ${previous}`],
    ),
    twice: told.filter((each, index) => told.indexOf(each) !== index),
    findings,
  };
}

/**
 * What must not be, whoever met whom.
 *
 * @param known kinds of findings that there are also where nobody meets anybody.
 */
export function faultsIn(place: Place, seen: Seen, known: readonly Finding['kind'][]): readonly unknown[] {
  const { texts, warm, kept, holes, twice, findings } = seen;
  const lost = [
    ...TEXTS.filter((text) => !kept.includes(text)),
    ...[...place.acknowledged].filter((text) => !kept.some((each) => each.includes(text))),
  ];
  return [
    ...lost.map((text) => ({ lost: text })),
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

const readBy = (client: TestClient): Promise<unknown> =>
  textsOf(client).catch((error: unknown) => String(error));

/** How many findings since a line say that it cannot be told. */
export const untoldIn = ({ findings }: Seen): number =>
  findings.filter((finding) => weightOf(finding) === 'untold').length;
