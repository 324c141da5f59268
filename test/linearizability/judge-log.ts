import type { HistoryEntry } from '../../src/history/past/entries.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import type { RecordedHistory } from './recording.ts';

/** A version in the log of a tenant that keeps history. */
export interface LoggedVersion {
  readonly id: string;
  /** The version that it replaced. */
  readonly previous?: string;
  readonly text: string;
}

/** All versions that the history of a tenant has, the newest first. @throws MemoryError where one cannot be read. */
export async function readLog(history: Memory['history']): Promise<readonly LoggedVersion[]> {
  const entries = (await history.list()).filter(isWritten);
  return Promise.all(
    entries.map(async (entry) => {
      const { version: id, previous } = entry;
      const text = (await history.read(entry)).text();
      return { id, text, ...(previous !== undefined && { previous }) };
    }),
  );
}

function isWritten(entry: HistoryEntry): entry is Extract<HistoryEntry, { kind: 'written' }> {
  return entry.kind === 'written';
}

/**
 * Answers what is wrong with the log that was read after a history; undefined: nothing. Every acknowledged write is in
 * one version for the first time, and a refused edit in none; what a view has shown was a version; no version is
 * missing between two, and none comes of one that was written after its own write was answered.
 */
export function judgeLog({ commands, log }: RecordedHistory): string | undefined {
  if (log === undefined) return undefined;
  const byId = new Map(log.map((version, at) => [version.id, { version, at }]));
  for (const { id, previous, text } of log) {
    if (previous === undefined) continue;
    const before = byId.get(previous);
    if (before === undefined) return `the version that ${id} ("${text}") replaced is missing`;
    if (before.at < (byId.get(id)?.at ?? 0)) return `${id} ("${text}") comes before the one that it replaced`;
  }
  const introduced = new Map<string, LoggedVersion[]>();
  for (const version of log) {
    const known = byId.get(version.previous ?? '')?.version.text ?? '';
    for (const token of tokensOf(version.text)) {
      if (!known.includes(token)) introduced.set(token, [...(introduced.get(token) ?? []), version]);
    }
  }
  const writes = commands.flatMap((command) => {
    const [token] = tokensOf(command.text ?? '');
    return token === undefined ? [] : [{ ...command, token }];
  });
  for (const { command, token, outcome } of writes) {
    const times = introduced.get(token)?.length ?? 0;
    if (times > 1) return `${command} of ${token} is in ${times} versions for the first time`;
    if (outcome === 'ok' && times === 0)
      return `${command} of ${token} was acknowledged and is in no version`;
    // A create that is refused may have been there for a moment, and others may have built on it.
    if (outcome !== 'ok' && outcome !== 'unknown' && command !== 'create' && times > 0)
      return `${command} of ${token} was refused and is in a version`;
  }
  const taken = writes.filter(({ outcome }) => outcome !== 'ok').map(({ token }) => token);
  const texts = new Set(log.map(({ text }) => text));
  for (const { shown } of commands) {
    if (shown === undefined || texts.has(shown) || taken.some((token) => shown.includes(token))) continue;
    return `"${shown}" was shown and is no version`;
  }
  const answered = writes.filter(({ outcome }) => outcome === 'ok');
  for (const later of answered) {
    const ancestors = ancestorsOf(introduced.get(later.token)?.[0], byId);
    const wrong = answered.find(
      ({ call, token }) => call > later.end && ancestors.has(introduced.get(token)?.[0]?.id ?? ''),
    );
    if (wrong !== undefined) return `${later.token} comes of ${wrong.token}, which was written after it`;
  }
  return undefined;
}

function ancestorsOf(
  version: LoggedVersion | undefined,
  byId: ReadonlyMap<string, { readonly version: LoggedVersion }>,
): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at = version?.previous; at !== undefined && !found.has(at); at = byId.get(at)?.version.previous)
    found.add(at);
  return found;
}

/** Each write of the plan holds one; those of the files that are there at first have none. */
function tokensOf(text: string): readonly string[] {
  return text.match(/t\d+\./g) ?? [];
}
