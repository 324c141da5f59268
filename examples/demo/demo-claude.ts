import { readDialogue } from '../../infra/local/claude/dialogue.ts';
import { type ScriptedClaude, startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import { ApiRefusal } from '../../src/testing/claude/api-refusal.ts';
import type { ScriptedReply } from '../../src/testing/claude/reply.ts';
import { nextTurn } from './script.ts';

/** Starts a Claude that plays the demo's script. `onReply` hears what it sends. */
export function startDemoClaude(
  options: { readonly onReply?: (reply: ScriptedReply) => void } = {},
): Promise<ScriptedClaude> {
  return startScriptedClaude({
    ...options,
    play({ tools, messages }) {
      if (tools.get('memory') !== 'memory_20250818') {
        throw new ApiRefusal('tools: one tool of type memory_20250818 with the name memory is required');
      }
      const { say, commands = [] } = nextTurn(readDialogue(messages));
      return { say, calls: commands.map((input) => ({ name: 'memory', input })) };
    },
  });
}
