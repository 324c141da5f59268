import { hasCode } from '../../errors.ts';
import type { LogicalName } from '../../format/object-keys.ts';
import { decodeActor } from '../../history/save/actors.ts';
import { decodePage } from '../../sessions/page.ts';
import { inTurns } from '../../time.ts';
import { parseHead } from '../../turns/conversation-head.ts';
import { parseAnswer, parseConversation, parsePrompt, parseSaved } from '../../turns/turn-records.ts';
import { decodeHead, decodePart, numberOfHead, runOfPart } from '../checkpoints/checkpoint-record.ts';
import { LINES_PER_TURN } from '../checkpoints/read-checkpoint.ts';
import { decodeMarks } from '../expiry/expire-files.ts';
import { decodeExpired } from '../expiry/history-note.ts';
import { decodeVersions } from '../keys/migrated-versions.ts';

/** A kind of records: the form of their names, and the function that reads them and throws for malformed content. */
type Grammar = readonly [names: RegExp, read: (content: Uint8Array) => unknown];

/** The grammars of records, except the history and the register, which their own readers judge. */
const GRAMMARS: readonly Grammar[] = [
  [/^\/journal\/expiry$/, decodeMarks],
  [/^\/journal\/swept$/, decodeVersions],
  [/^\/journal\/history$/, decodeExpired],
  [/^\/receipts\/[\w-]{43}$/, parseSaved],
  [/^\/answers\/[\w-]{43}$/, parseAnswer],
  [/^\/actors\/[\w-]{43}$/, decodeActor],
  [/^\/sessions\/[\w-]{38}(?:m|s[\w-]{16})\d{8}$/, decodePage],
  [/^\/conversations\/h[\w-]{43}$/, parseHead],
  [/^\/conversations\/b[\w-]{59}$/, parseConversation],
  [/^\/conversations\/p[\w-]{43}$/, parsePrompt],
];

const CHECKPOINTS = '/checkpoints/';

/** Tells whether the content of a record breaks the rules for its name (docs/format.md, "Records"). */
export async function isMalformed(
  name: LogicalName,
  content: Uint8Array,
  signal?: AbortSignal,
): Promise<boolean> {
  if (name.startsWith(CHECKPOINTS)) return isNoCheckpoint(name.slice(CHECKPOINTS.length), content, signal);
  const [, read] = GRAMMARS.find(([names]) => names.test(name)) ?? [];
  try {
    read?.(content);
    return false;
  } catch (error) {
    if (!hasCode(error, 'integrity')) throw error;
    return true;
  }
}

async function isNoCheckpoint(id: string, content: Uint8Array, signal?: AbortSignal): Promise<boolean> {
  const number = numberOfHead(id);
  if (number !== undefined) return decodeHead(content)?.number !== number;
  if (runOfPart(id) === undefined) return false;
  return (await inTurns(decodePart(content), signal, LINES_PER_TURN)) === undefined;
}
