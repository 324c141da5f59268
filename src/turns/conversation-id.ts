import type { Names } from '../format/names.ts';

export const CLASS = 'conversations';

const HASH = '[\\w-]{43}';
const ID = new RegExp(
  `^(?:(?<head>h)(?<ofHead>${HASH})|(?<body>b)(?<ofBody>${HASH})[\\w-]{16}|(?<prompt>p)${HASH})$`,
);

/**
 * Computes the id of the record that tells where a conversation is: a keyed hash, since a plain one could be guessed.
 */
export function headId(names: Names, conversation: string): string {
  return `h${names.keyedHash(CLASS, JSON.stringify(['conversation', conversation]))}`;
}

/**
 * Makes the id of a record that holds a large conversation as one turn left it; `random` is 12 random bytes in
 * base64url.
 */
export function bodyId(head: string, random: string): string {
  return `b${head.slice(1)}${random}`;
}

/** Computes the id to which a sealed prompt is bound, and which is its record's where it lies in the store. */
export function promptId(
  names: Names,
  { conversation = null, turn }: { readonly conversation?: string | null | undefined; readonly turn: string },
): string {
  return `p${names.keyedHash(CLASS, JSON.stringify(['prompt', conversation, turn]))}`;
}

/** Parses an id into its kind; `head` is the id of the conversation's head. Undefined for any other id. */
export function parseConversationId(
  id: string,
): { readonly kind: 'head' | 'body'; readonly head: string } | { readonly kind: 'prompt' } | undefined {
  const { head, ofHead, body, ofBody, prompt } = ID.exec(id)?.groups ?? {};
  if (head !== undefined) return { kind: 'head', head: `h${ofHead}` };
  if (body !== undefined) return { kind: 'body', head: `h${ofBody}` };
  return prompt === undefined ? undefined : { kind: 'prompt' };
}
