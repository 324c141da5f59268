import { type JsonObject, list } from './api-refusal.ts';

/** Tokens of a request that came from the cache and that went into it. */
export interface CacheUse {
  readonly read: number;
  readonly written: number;
}

export interface PromptCache {
  /** Looks for the longest prefix of the request that is there, and keeps what the request marks. */
  use(body: JsonObject, inputTokens: number): CacheUse;
}

const NOTHING: CacheUse = { read: 0, written: 0 };
/** A shorter prefix is not kept ("Prompt caching", cache limitations; smaller for some models). */
const LEAST_TOKENS = 1024;

/**
 * Makes a prompt cache: it holds tools, system and messages in this order, up to a mark. Here all of a request is kept
 * where it bears a mark, as with the one for the whole request; entries do not age.
 */
export function createPromptCache(): PromptCache {
  const entries = new Set<string>();
  return {
    use(body, inputTokens) {
      if (!JSON.stringify(body).includes('"cache_control":{') || inputTokens < LEAST_TOKENS) return NOTHING;
      const prompt = promptOf(body);
      const known = [...entries].filter((entry) => prompt.startsWith(entry)).map(({ length }) => length);
      const share = Math.max(0, ...known) / prompt.length;
      entries.add(prompt);
      const read = Math.floor(share * inputTokens);
      return { read, written: inputTokens - read };
    },
  };
}

function promptOf({ model, tools, system, messages }: JsonObject): string {
  const parts = [model, tools ?? [], system ?? '', ...list(messages, 'messages')];
  const unmarked = (key: string, value: unknown): unknown => (key === 'cache_control' ? undefined : value);
  return parts.map((part) => `${JSON.stringify(part, unmarked)}\n`).join('');
}
