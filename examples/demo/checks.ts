import { existsSync, readFileSync } from 'node:fs';
import type { ConversationReport } from './conversation.ts';
import { CODE_NAME } from './script.ts';
import type { StoreView } from './store-view.ts';

/** A claim of the demo, looked into. */
export interface Check {
  readonly holds: boolean;
  readonly text: string;
}

export function checkMemory({ answer }: ConversationReport): Check {
  return {
    holds: answer.toLowerCase().includes(CODE_NAME.toLowerCase()),
    text: `the second process, whose user never says it, answers with the code name "${CODE_NAME}"`,
  };
}

/** Looks for every longer word that Claude wrote, in every byte of every object and in every encrypted name. */
export async function checkStore(request: {
  readonly view: StoreView;
  readonly reports: readonly ConversationReport[];
  readonly namesAreEncrypted: boolean;
}): Promise<Check> {
  const { view, reports, namesAreEncrypted } = request;
  const words = new Set(reports.flatMap(({ written }) => written.flatMap(longWords)));
  const objects = await view.objects();
  const leaks = objects.filter(({ name, body }) => {
    const bytes = Buffer.from(body);
    const isNamed = (word: string) => namesAreEncrypted && name.startsWith('data/') && name.includes(word);
    return [...words].some((word) => isNamed(word) || bytes.includes(word));
  });
  return {
    holds: words.size > 0 && objects.length > 0 && leaks.length === 0,
    text: `none of the ${objects.length} objects in the store holds any of the ${words.size} longer words Claude wrote${namesAreEncrypted ? '' : '; their names are plain, as configured'}`,
  };
}

/**
 * Lists what plain tools find in the file without a key: lines of readable characters with one of the longest words
 * that Claude wrote.
 */
export function searchStrings(request: {
  readonly file: string;
  readonly reports: readonly ConversationReport[];
}): { readonly command: string; readonly found: number } {
  const words = [...new Set(request.reports.flatMap(({ written }) => written.flatMap(longWords)))]
    .sort((a, b) => b.length - a.length)
    .slice(0, 4);
  const bytes = [request.file, `${request.file}-wal`]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file));
  const lines =
    Buffer.concat(bytes)
      .toString('latin1')
      .match(/[\t\x20-\x7e]{4,}/g) ?? [];
  const pattern = new RegExp(words.join('|'), 'i');
  return {
    command: `cat ${request.file}* | strings | grep -ciE '${words.join('|')}'`,
    found: lines.filter((line) => pattern.test(line)).length,
  };
}

function longWords(text: string): readonly string[] {
  return text.match(/\p{L}{6,}/gu)?.filter((word) => word !== 'memories') ?? [];
}
