import { createHash } from 'node:crypto';
import { ApiRefusal, type JsonObject } from './api-refusal.ts';

/** A thought as a reply holds it. */
export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

/** One entry of the reply's `input_transformations`. */
export interface DroppedThought {
  readonly type: 'thinking_dropped';
  readonly path: string;
  readonly reason: 'model_binding_mismatch' | 'prefix_binding_mismatch';
}

/** A request as far as thoughts are signed over it. */
export interface SignedRequest {
  readonly model: string;
  readonly system: unknown;
  readonly tools: unknown;
  readonly messages: readonly { readonly role: unknown; readonly content: unknown }[];
}

/** Everything before the next block; its digest grows block by block. */
interface Prefix {
  readonly basis: string;
  readonly blocks: readonly string[];
  /** The signature of the thought before, where one stands. */
  readonly thought: string;
}

/**
 * Checks the thoughts that come back, and gives those that are left out, with the prefix that the reply is signed over.
 *
 * The comparison follows "Prefix checks on thinking blocks": `system`, `tools`, every message before the block, and
 * that no thought between others is missing; not the marks of the prompt cache. What lies before a summary is not part
 * of the conversation any more ("Compaction"). A block of another model is dropped without an error ("Preserved
 * thinking"); which models read the blocks of which others is a fixed set that is not played here: each reads its own.
 *
 * Throws `ApiRefusal` in the words of "Fix a thinking block bound to a different conversation".
 */
export function checkThoughts(
  request: SignedRequest,
  rules: { readonly isBound: boolean; readonly onMismatch: 'error' | 'drop_block' },
): { readonly prefix: Prefix; readonly dropped: readonly DroppedThought[] } {
  const dropped: DroppedThought[] = [];
  let prefix: Prefix = { basis: basisOf(request), blocks: [], thought: '' };
  for (const [i, { role, content }] of request.messages.entries()) {
    let dropsRun = false;
    for (const [j, block] of blocksOf(content).entries()) {
      const signature = signatureOf(block);
      if (signature === undefined) {
        dropsRun = false;
        prefix = after(prefix, { role, block });
        continue;
      }
      const at = `messages.${i}.content.${j}`;
      const [model, digest = '', mark] = signature.split('|');
      if (mark !== markOf({ model, digest, block })) throw forged(at, block);
      const isOwn = model === request.model;
      const isValid = !dropsRun && (!rules.isBound || digest === digestOf(prefix));
      if (isOwn && !isValid && rules.onMismatch === 'error') throw misplaced(at, block);
      if (isOwn && isValid) {
        prefix = { ...prefix, thought: signature };
        continue;
      }
      dropsRun ||= isOwn;
      const reason = isOwn ? 'prefix_binding_mismatch' : 'model_binding_mismatch';
      dropped.push({ type: 'thinking_dropped', path: at, reason });
    }
  }
  return { prefix, dropped };
}

/** Signs the thoughts of a reply to the request that ends with this prefix. */
export function signThoughts<Block extends { readonly type: string }>(
  content: readonly (Block | ThinkingBlock)[],
  { model, prefix: before }: { readonly model: string; readonly prefix: Prefix },
): readonly (Block | ThinkingBlock)[] {
  let prefix = before;
  return content.map((block) => {
    if (!isThinking(block)) {
      prefix = after(prefix, { role: 'assistant', block });
      return block;
    }
    const digest = digestOf(prefix);
    const signature = [model, digest, markOf({ model, digest, block })].join('|');
    prefix = { ...prefix, thought: signature };
    return { ...block, signature };
  });
}

function isThinking(block: { readonly type: string }): block is ThinkingBlock {
  return block.type === 'thinking';
}

function after(prefix: Prefix, { role, block }: { readonly role: unknown; readonly block: unknown }): Prefix {
  const { type } = block as { readonly type?: unknown };
  const text = JSON.stringify([role, withoutCacheMark(block)]);
  return type === 'compaction'
    ? { ...prefix, blocks: [text], thought: '' }
    : { ...prefix, blocks: [...prefix.blocks, text] };
}

function basisOf({ system, tools }: SignedRequest): string {
  const parts = [Array.isArray(system) ? system : [system ?? ''], Array.isArray(tools) ? tools : []];
  return JSON.stringify(parts.map((part: readonly unknown[]) => part.map(withoutCacheMark)));
}

function digestOf({ basis, blocks, thought }: Prefix): string {
  return hash([basis, ...blocks, thought]);
}

function markOf(signed: {
  readonly model: string | undefined;
  readonly digest: string;
  readonly block: unknown;
}): string {
  const { thinking } = signed.block as { readonly thinking?: unknown };
  return hash([signed.model ?? '', signed.digest, String(thinking)]);
}

function hash(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}

function signatureOf(block: unknown): string | undefined {
  const { type, signature } = block as { readonly type?: unknown; readonly signature?: unknown };
  return type === 'thinking' ? String(signature) : undefined;
}

function blocksOf(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }];
}

function withoutCacheMark(part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return part;
  const { cache_control: _, ...rest } = part as JsonObject;
  return rest;
}

function forged(at: string, block: unknown): ApiRefusal {
  return new ApiRefusal(`${at}: Invalid \`signature\` in \`${typeOf(block)}\` block`);
}

function misplaced(at: string, block: unknown): ApiRefusal {
  return new ApiRefusal(
    `${at}: Invalid \`signature\` in \`${typeOf(block)}\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
  );
}

function typeOf(block: unknown): string {
  return String((block as { readonly type?: unknown }).type);
}
