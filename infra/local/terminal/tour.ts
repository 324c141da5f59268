import { setTimeout as sleep } from 'node:timers/promises';
import type { TurnAnswer } from '../../../src/worker/index.ts';
import { keepPrompt, RECITE_PROMPT } from '../claude/note-taker.ts';
import type { Cloud } from '../cloud.ts';
import { block, type Line, rule } from './screen.ts';
import { type RawObject, readBucket, readReceipts, type StorePlace } from './store-report.ts';

export interface TourOptions extends StorePlace {
  readonly cloud: Cloud;
  /** Counts the requests to Claude so far; absent where they cannot be counted. */
  readonly claudeRequests?: (() => number) | undefined;
  readonly signal: AbortSignal;
  readonly print: (text: string) => void;
}

interface Turn {
  readonly tenant: string;
  readonly turn: string;
  readonly prompt: string;
}

const FACTS: readonly (readonly [tenant: string, fact: string])[] = [
  ['acme', 'the code name of the launch is Kestrel'],
  ['globex', 'the auditor is called Ines Falk'],
  ['initech', 'the spare key lies under the third stone'],
];
const WITHIN_MS = 5 * 60_000;

/** Sends turns for three tenants and shows their results. False when a check failed. */
export async function giveTour(options: TourOptions): Promise<boolean> {
  const { cloud, print } = options;
  const first = FACTS.map(([tenant, fact]) => ({ tenant, turn: `${tenant}-1`, prompt: keepPrompt(fact) }));
  const second = FACTS.map(([tenant]) => ({ tenant, turn: `${tenant}-2`, prompt: RECITE_PROMPT }));
  const answers = [await answered(options, first), await answered(options, second)];
  for (const [index, [tenant]] of FACTS.entries()) {
    print(rule(`Tenant ${tenant}`));
    for (const turn of [first[index], second[index]].filter((each) => each !== undefined)) {
      // The answer of a finished turn lies in the store; the same message again does not ask Claude.
      const answer = (await cloud.direct.invoke({ ...turn, answer: 'full' })) as TurnAnswer;
      print(block(conversationLines(answer)));
    }
    const { states, answers: stored } = await readReceipts(options, tenant);
    print(block([{ text: `receipts: ${states.join(', ')}; sealed answers: ${stored}`, style: 'cyan' }]));
  }
  print(rule('What the bucket holds'));
  const objects = await readBucket(options);
  print(block(objects.map(objectLine)));
  print(rule('What became of it'));
  const checks = [
    ownFactsOnly(answers[1] ?? new Map()),
    nothingReadable(objects),
    ...(await redelivered(options, first[0])),
  ];
  for (const { holds, text } of checks) {
    print(block([{ text: `${holds ? 'checked' : 'NOT TRUE'}: ${text}`, style: holds ? 'green' : 'red' }]));
  }
  return checks.every(({ holds }) => holds);
}

/**
 * Sends turns, and collects their replies by turn.
 *
 * @throws Error when a turn ends among the dead letters, or the answers do not come in time.
 */
async function answered(
  { cloud, signal }: TourOptions,
  turns: readonly Turn[],
): Promise<ReadonlyMap<string, string>> {
  for (const turn of turns) await cloud.send(turn, turn.tenant);
  const replies = new Map<string, string>();
  for (const deadline = Date.now() + WITHIN_MS; replies.size < turns.length; ) {
    signal.throwIfAborted();
    if (Date.now() > deadline) throw new Error('the turns were not answered in time; --log shows why');
    for (const reply of await cloud.take(cloud.resources.replies)) {
      const { turn, text } = JSON.parse(reply) as { readonly turn: string; readonly text?: string };
      replies.set(turn, text ?? '');
    }
    if ((await cloud.take(cloud.resources.deadLetters)).length > 0) {
      throw new Error('a turn lies among the dead letters; --log shows why');
    }
    await sleep(200, undefined, { signal });
  }
  return replies;
}

function conversationLines({ messages }: TurnAnswer): readonly Line[] {
  return messages.flatMap(({ role, content }): readonly Line[] => {
    const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
    return blocks.flatMap((part): readonly Line[] => {
      if (part.type === 'text') {
        const who = role === 'user' ? 'User   ' : 'Claude ';
        return [{ text: `${who}  ${part.text}`, hang: 9, ...(role === 'user' && { style: 'bold' }) }];
      }
      if (part.type !== 'tool_use') return [];
      const { command, path } = part.input as Readonly<Record<string, unknown>>;
      return [{ text: `memory: ${command} ${path ?? ''}`, indent: 9, style: 'dim' }];
    });
  });
}

/** Makes a line of an object's size, its last bytes in hex, and its key. */
function objectLine({ key, body }: RawObject): Line {
  return {
    text: `${String(body.length).padStart(6)}  …${Buffer.from(body.subarray(-4)).toString('hex')}  ${key}`,
  };
}

interface Check {
  readonly holds: boolean;
  readonly text: string;
}

function ownFactsOnly(replies: ReadonlyMap<string, string>): Check {
  const holds = FACTS.every(([tenant, fact]) => {
    const reply = replies.get(`${tenant}-2`) ?? '';
    return FACTS.every(([, other]) => reply.includes(other) === (other === fact));
  });
  return { holds, text: 'every tenant was told its own fact again, and no other.' };
}

function nothingReadable(objects: readonly RawObject[]): Check {
  const texts = objects.map(({ key, body }) => key + new TextDecoder('latin1').decode(body));
  const words = [...FACTS.flatMap(([, fact]) => fact), 'memories', 'notes'];
  const holds = texts.length > 0 && !texts.some((text) => words.some((word) => text.includes(word)));
  return { holds, text: `no fact and no file name is readable in any of the ${texts.length} objects.` };
}

async function redelivered(options: TourOptions, turn: Turn | undefined): Promise<readonly Check[]> {
  const { claudeRequests } = options;
  if (turn === undefined || claudeRequests === undefined) return [];
  const before = claudeRequests();
  await answered(options, [turn]);
  const holds = claudeRequests() === before;
  return [
    { holds, text: 'a turn that was delivered again got its stored answer, without a request to Claude.' },
  ];
}
