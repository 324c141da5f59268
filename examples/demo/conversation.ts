import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import type {
  BetaMessage,
  BetaMessageParam,
  BetaToolResultBlockParam,
  BetaToolUseBlock,
} from '@anthropic-ai/sdk/resources/beta';
import type { MemoryCommand } from '../../infra/local/claude/dialogue.ts';
import { block, type Line, rule, sideBySide, writePaced } from '../../infra/local/terminal/screen.ts';
import { openMemory, optionsFromEnvironment } from '../../src/index.ts';
import { exitWithParent, fail } from './process.ts';
import { type ConversationName, USER_LINES } from './script.ts';
import { openStoreView, type StoreView } from './store-view.ts';

/** The messages of a conversation to the process that started it. */
export interface ConversationReport {
  /** Claude's last words. */
  readonly answer: string;
  /** Every text and path Claude sent to its memory. */
  readonly written: readonly string[];
}

const MODEL = process.env['ANTHROPIC_MODEL'] || 'claude-sonnet-5-5';
const SYSTEM =
  'You assist one person, in short answers. All that you keep between conversations is your memory directory: look there first, and do what the user asks about files in it with the memory tool.';

/** One conversation in a process of its own; all it shares with the one before is the store. */
async function converse(name: ConversationName): Promise<ConversationReport> {
  const client = new Anthropic();
  await using memory = await openMemory({
    ...optionsFromEnvironment(),
    actor: `conversation ${name}`,
  });
  await using view = await openStoreView(process.env);
  // The library's own tool and the SDK's adapter around the same handlers do the same.
  const tool = name === 'one' ? memory.tool() : betaMemoryTool(memory.handlers);
  const how = name === 'one' ? 'memory.tool()' : 'betaMemoryTool(memory.handlers)';
  process.stdout.write(rule(`Conversation ${name}, process ${process.pid}, ${how}`));
  await view.changes();

  const written: string[] = [];
  let messages: readonly BetaMessageParam[] = [];
  let answer = '';
  for (const line of USER_LINES[name]) {
    process.stdout.write(block([{ text: `User: ${line}\n`, style: 'bold' }]));
    const runner = client.beta.messages.toolRunner({
      model: MODEL,
      max_tokens: 4096,
      max_iterations: 24,
      system: SYSTEM,
      tools: [tool],
      messages: [...messages, { role: 'user', content: line }],
      // Every request carries the whole conversation, so nothing but the memory outlives it.
      thread: false,
    });
    for await (const reply of runner) {
      const results = await runner.generateToolResponse();
      await printTurn({ reply, results: toolResults(results), view });
      written.push(...memoryCalls(reply).flatMap(({ input }) => Object.values(input as object).map(String)));
      answer = spokenText(reply);
    }
    messages = runner.params.messages;
  }
  return { answer, written };
}

async function printTurn({
  reply,
  results,
  view,
}: {
  readonly reply: BetaMessage;
  readonly results: readonly BetaToolResultBlockParam[];
  readonly view: StoreView;
}): Promise<void> {
  const said: Line[] = spokenText(reply) ? [{ text: `Claude: ${spokenText(reply)}` }] : [];
  const calls = memoryCalls(reply).flatMap((call) => {
    const result = results.find(({ tool_use_id }) => tool_use_id === call.id);
    return [...describeCommand(call.input as MemoryCommand), describeResult(result)];
  });
  const changes = await view.changes();
  const right: readonly Line[] =
    changes.length > 0 || calls.length === 0 ? changes : [{ text: '(unchanged)', style: 'dim' }];
  await writePaced(`${sideBySide({ left: [...said, ...calls], right })}\n`);
}

function describeCommand({ command, ...args }: MemoryCommand): readonly Line[] {
  const { path, old_path, new_path, ...rest } = args as Record<string, unknown>;
  const paths = [path, old_path, new_path].filter((value) => value !== undefined).join(' → ');
  return [
    { text: `→ ${command} ${paths}`, hang: 2, style: 'cyan' },
    ...Object.entries(rest).map(([name, value]): Line => {
      const text = String(value).trimEnd();
      return {
        text: text.includes('\n') ? `${name}:\n${text}` : `${name}: ${text}`,
        indent: 4,
        hang: 2,
        style: 'dim',
      };
    }),
  ];
}

function describeResult(result: BetaToolResultBlockParam | undefined): Line {
  const content = result?.content ?? '';
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
  return { text: `← ${text}`, indent: 2, hang: 2, ...(result?.is_error && { style: 'red' as const }) };
}

function spokenText({ content }: BetaMessage): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function memoryCalls({ content }: BetaMessage): readonly BetaToolUseBlock[] {
  return content.filter((part) => part.type === 'tool_use');
}

function toolResults(message: BetaMessageParam | null): readonly BetaToolResultBlockParam[] {
  const content = message?.content ?? [];
  return typeof content === 'string' ? [] : content.filter((part) => part.type === 'tool_result');
}

function apiFailure({ status, message, error }: InstanceType<typeof Anthropic.APIError>): string {
  if (status === undefined) return `The API cannot be reached: ${message}`;
  const body = error as { readonly error?: { readonly message?: string } } | undefined;
  return `The API answered ${status}: ${body?.error?.message ?? message}`;
}

exitWithParent();
try {
  const report = await converse(process.argv[2] === 'two' ? 'two' : 'one');
  process.send?.(report);
} catch (error) {
  fail(error instanceof Anthropic.APIError ? apiFailure(error) : error);
}
