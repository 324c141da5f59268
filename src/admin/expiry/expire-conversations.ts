import type { ListedObject } from '../../store/port.ts';
import { DAY_MS } from '../../time.ts';
import type { Work } from '../../tree/session.ts';
import { readHead } from '../../turns/conversation-head.ts';
import { CLASS, parseConversationId } from '../../turns/conversation-id.ts';
import { deleteListed } from './delete-listed.ts';
import { type ClassExpiry, listClass } from './expiry-records.ts';

/** A conversation as a listing shows it. */
interface StoredConversation {
  /** The time of the last write, by the server's clock; milliseconds since the epoch. */
  written: number;
  head: ListedObject | undefined;
  readonly bodies: (readonly [id: string, body: ListedObject])[];
}

interface ConversationExpiry extends ClassExpiry {
  /** The age at which a prompt goes: no queue delivers its turn any later. */
  readonly promptMs: number;
}

/** The age at which a body goes that no head names: until then it may belong to a turn that is at work. */
const AT_WORK_MS = DAY_MS;

/**
 * Deletes the conversations to which no turn came for `limitMs`, bodies that turns left behind, and old prompts. Returns how many
 * objects went; in a dry run how many would. One LIST for each 1,000, and a GET for each conversation with several parts. A turn
 * changes the head first: where one comes meanwhile, the head stays, and with it the rest.
 */
export async function expireConversations(
  work: Work,
  { migrated, limitMs, promptMs, dryRun }: ConversationExpiry,
): Promise<number> {
  const { objects, servedAt } = await listClass(work, CLASS);
  const ageOf = (object: ListedObject): number => servedAt - migrated.writtenVersion(object).lastModified;
  const conversations = new Map<string, StoredConversation>();
  const idle: ListedObject[] = [];
  for (const [id, object] of objects) {
    const parsed = parseConversationId(id);
    if (parsed?.kind === 'prompt' && ageOf(object) > promptMs) idle.push(object);
    if (parsed === undefined || parsed.kind === 'prompt') continue;
    const found = conversations.get(parsed.head) ?? { written: 0, head: undefined, bodies: [] };
    conversations.set(parsed.head, found);
    found.written = Math.max(found.written, servedAt - ageOf(object));
    if (parsed.kind === 'head') found.head = object;
    else found.bodies.push([id, object]);
  }
  const old = [...conversations.values()].filter(({ written }) => servedAt - written > limitMs);
  for (const [id, conversation] of conversations) {
    if (old.includes(conversation)) continue;
    idle.push(...(await unnamedBodies(work, { id, conversation, ageOf })));
  }
  const heads = old.flatMap(({ head }) => head ?? []);
  if (dryRun) return idle.length + old.reduce((sum, { bodies }) => sum + bodies.length, heads.length);

  const left = await deleteListed(work, heads);
  const ended = old.filter(({ head }) => head === undefined || !left.has(head.key));
  const bodies = ended.flatMap((conversation) => conversation.bodies.map(([, body]) => body));
  const kept = await deleteListed(work, [...bodies, ...idle]);
  return heads.length - left.size + bodies.length + idle.length - kept.size;
}

/** Finds old bodies that the head no longer names: workers that died have left them. A single body counts as named. */
async function unnamedBodies(
  work: Work,
  given: {
    readonly id: string;
    readonly conversation: StoredConversation;
    readonly ageOf: (object: ListedObject) => number;
  },
): Promise<readonly ListedObject[]> {
  const { id, conversation, ageOf } = given;
  const left = conversation.bodies.filter(([, body]) => ageOf(body) > AT_WORK_MS);
  if (conversation.bodies.length < 2 || left.length === 0) return [];
  const { content } = (await readHead(work, id)).head;
  const named = content !== undefined && 'record' in content ? content.record : undefined;
  return left.flatMap(([body, object]) => (body === named ? [] : [object]));
}
