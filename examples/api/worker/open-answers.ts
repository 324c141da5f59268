import { randomBytes } from 'node:crypto';
import type {
  Answers,
  BareAnswer,
  DirectAnswer,
  FullAnswer,
  TextAnswer,
  TurnAnswer,
  TurnTouches,
} from 'sealed-memory/worker';
import { openAnswers } from 'sealed-memory/worker';

const options = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) };
await using answers: Answers = await openAnswers(options);
const answer: TurnAnswer | undefined = await answers.read('chat-7-2');
const touched: TurnTouches | undefined = answer?.trace;
console.log(answer?.text ?? 'not yet', touched?.list.length ?? 0);

/** Reads what `invoke` of a worker answers: all of the answer, its words alone, or neither. */
export function wordsOf(direct: DirectAnswer): string {
  if (typeof direct === 'string' || 'statusCode' in direct) return 'an answer over HTTP';
  const told: FullAnswer | TextAnswer | BareAnswer = direct as FullAnswer | TextAnswer | BareAnswer;
  return 'text' in told ? told.text : `${told.outcome}, to be read with openAnswers`;
}
