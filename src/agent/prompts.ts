import type { BetaTextBlockParam } from '@anthropic-ai/sdk/resources/beta';

/**
 * Additions to the system prompt. The API explains the memory tool to Claude by itself whenever the tool is given, so
 * nothing of that is repeated.
 */
export interface PromptAdditions {
  /** Asks Claude to keep the memory directory in order. */
  readonly tidy?: boolean;
  /** Asks Claude to write down only what concerns this topic. */
  readonly topic?: string;
}

export type SystemPrompt = string | readonly BetaTextBlockParam[];

const TIDY =
  'Keep your memory directory in order while you work: correct and merge what is there before you add to it, delete or rename files that have become useless or misleading, and make a new file only when no existing one fits.';

/** The system prompt with the additions behind it; undefined when there is neither. */
export function withAdditions(
  system: SystemPrompt | undefined,
  { tidy = false, topic }: PromptAdditions,
): string | BetaTextBlockParam[] | undefined {
  const additions = [
    ...(tidy ? [TIDY] : []),
    ...(topic === undefined ? [] : [`Write to your memory only what concerns ${topic}.`]),
  ];
  if (additions.length === 0) return typeof system === 'object' ? [...system] : system;
  const text = additions.join('\n\n');
  if (typeof system === 'object') return [...system, { type: 'text', text }];
  return system === undefined ? text : `${system}\n\n${text}`;
}
