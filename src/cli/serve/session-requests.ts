import { MemoryError } from '../../errors.ts';
import type { Memory } from '../../tool/memory-tool.ts';
import { invalidRequest, type RequestFields, refuseOtherFields } from './request-fields.ts';

/**
 * The most characters of a transcript that one answer holds: as JSON they are at most twice as long, which a text of
 * JavaScript can still hold.
 */
const MOST_LOADED_CHARACTERS: number = 128 * 1024 * 1024;

/**
 * Carries out one line of `exec --jsonl --sessions` (docs/sessions.md, "From other languages"). Resolves to what the
 * answer holds as `content`.
 *
 * @throws MemoryError `invalid_command` for anything that is no request; `limit_exceeded` for a transcript that is too
 * long for one line; whatever the memory's sessions throw.
 */
export async function answerSessionRequest(
  sessions: Memory['sessions'],
  { request, signal }: { readonly request: RequestFields; readonly signal: AbortSignal },
): Promise<unknown> {
  const { operation } = request;
  switch (operation) {
    case 'append':
      refuseOtherFields(request, ['operation', 'key', 'lines']);
      return sessions.append(keyOf(request), linesOf(request), { signal });
    case 'load':
      refuseOtherFields(request, ['operation', 'key']);
      return loaded(await sessions.load(keyOf(request), { signal }));
    case 'list':
      refuseOtherFields(request, ['operation', 'projectKey']);
      return (await sessions.list(request['projectKey'] as string, { signal })).map(
        ({ sessionId, modified }) => ({ sessionId, modified }),
      );
    case 'subpaths':
      refuseOtherFields(request, ['operation', 'key']);
      return sessions.subpaths(keyOf(request), { signal });
    case 'remove':
      refuseOtherFields(request, ['operation', 'key']);
      return sessions.remove(keyOf(request), { signal });
    default:
      throw invalidRequest('"operation" must be append, load, list, subpaths or remove.');
  }
}

type RequestedSession = Parameters<Memory['sessions']['load']>[0];

/**
 * Reads the key of a request, whose names the sessions judge themselves. A field of another name is refused, as it may
 * be a misspelt subagent's.
 */
function keyOf({ key }: RequestFields): RequestedSession {
  if (typeof key !== 'object' || key === null) throw invalidRequest('"key" must be an object.');
  refuseOtherFields(key as RequestFields, ['projectKey', 'sessionId', 'subpath']);
  return key as RequestedSession;
}

function linesOf({ lines }: RequestFields): readonly string[] {
  if (!Array.isArray(lines)) throw invalidRequest('"lines" must be an array of texts.');
  return lines;
}

function loaded(lines: readonly string[] | undefined): readonly string[] | null {
  const characters = lines?.reduce((sum, line) => sum + line.length, 0) ?? 0;
  if (characters <= MOST_LOADED_CHARACTERS) return lines ?? null;
  throw new MemoryError('limit_exceeded', 'The transcript is too long for one line.', {
    details: { limit: 'session_characters', value: characters, max: MOST_LOADED_CHARACTERS },
  });
}
