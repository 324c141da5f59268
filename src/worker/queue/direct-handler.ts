import type { Context, LambdaFunctionURLEvent, LambdaFunctionURLResult } from 'aws-lambda';
import { fromBase64 } from '../../format/encoding.ts';
import type { Delivery, NotAnswered } from '../turn/delivery.ts';
import { type TextAnswer, type TurnAnswer, textOf } from '../turn/turn-answer.ts';

/** The parts of Lambda's context that an invocation needs: the time that is left, and Lambda's name for it. */
export type LambdaContext = Pick<Context, 'getRemainingTimeInMillis'> &
  Partial<Pick<Context, 'awsRequestId'>>;

/**
 * The error that a state machine catches: `error.name` is `TurnLater` or `TurnFailed`, the message is the code alone.
 */
class TurnNotAnswered extends Error {
  override readonly name: 'TurnLater' | 'TurnFailed';

  constructor({ state, code }: NotAnswered) {
    super(code);
    this.name = state === 'later' ? 'TurnLater' : 'TurnFailed';
  }
}

/** An answer in the form that the message asks for, or as HTTP. */
export type DirectAnswer = FullAnswer | TextAnswer | BareAnswer | LambdaFunctionURLResult;

/** The answer for a caller that waits, without the paths that the turn touched, which are the operator's. */
export type FullAnswer = Omit<TurnAnswer, 'trace'>;

/** The answer for a caller that keeps what it is told, such as a state machine: the words stay in the store. */
export type BareAnswer = Omit<TextAnswer, 'text'>;

/**
 * Makes the handler for callers that wait for the answer: a function URL, which must be guarded by IAM because it takes
 * the tenant from the message, or Step Functions and `Invoke`, where the event is the message.
 */
export function createDirectHandler({
  deliver,
  onThrown,
}: {
  /** Delivers one message, as JSON text or as the value itself. Never rejects. */
  readonly deliver: (message: unknown, context: LambdaContext) => Promise<Delivery>;
  /** Hears of a delivery without an answer, before the function fails with it; must not throw. */
  readonly onThrown?: (delivery: NotAnswered) => void;
}): (event: unknown, context: LambdaContext) => Promise<DirectAnswer> {
  return async (event, context) => {
    if (isUrlEvent(event)) return httpAnswer(await deliver(bodyOf(event), context));
    const delivery = await deliver(event, context);
    if (delivery.state === 'answered') return answerOf(delivery);
    onThrown?.(delivery);
    throw new TurnNotAnswered(delivery);
  };
}

function answerOf({
  answer,
  form,
}: Extract<Delivery, { readonly state: 'answered' }>): FullAnswer | TextAnswer | BareAnswer {
  const { trace: _trace, ...full } = answer;
  if (form === 'full') return full;
  const words = textOf(answer);
  const { text: _text, ...bare } = words;
  return form === 'none' ? bare : words;
}

function isUrlEvent(event: unknown): event is LambdaFunctionURLEvent {
  return typeof event === 'object' && event !== null && 'requestContext' in event;
}

function bodyOf({ body = '', isBase64Encoded }: LambdaFunctionURLEvent): string {
  return isBase64Encoded ? new TextDecoder().decode(fromBase64(body)) : body;
}

const STATUS: Readonly<Record<string, number>> = {
  invalid_command: 400,
  limit_exceeded: 413,
  running: 409,
  conversation_busy: 409,
  other_message: 422,
  sealed_prompt_refused: 422,
  tenant_unknown: 404,
};

function httpAnswer(delivery: Delivery): LambdaFunctionURLResult {
  const headers = { 'content-type': 'application/json' };
  switch (delivery.state) {
    case 'answered':
      return { statusCode: 200, headers, body: JSON.stringify(answerOf(delivery)) };
    case 'later':
      return {
        statusCode: STATUS[delivery.code] ?? 503,
        headers: { ...headers, 'retry-after': String(delivery.afterSeconds) },
        body: JSON.stringify({ code: delivery.code, keyHolder: delivery.keyHolder }),
      };
    case 'failed':
      return {
        statusCode: STATUS[delivery.code] ?? 500,
        headers,
        body: JSON.stringify({ code: delivery.code }),
      };
  }
}
