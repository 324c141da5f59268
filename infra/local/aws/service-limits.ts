import { FunctionError } from '../lambda/function-error.ts';

// The limits of AWS's services, and their answers to more. Sizes are bytes of UTF-8.

/** The most bytes of an invocation that waits for its answer. */
const LAMBDA_REQUEST_BYTES = 6 * 1024 * 1024;
/** The most bytes of an answer: Lambda allows it 100 bytes more than the invocation. */
export const LAMBDA_RESPONSE_BYTES = LAMBDA_REQUEST_BYTES + 100;
/** The most bytes of a message, its attributes included. */
const SQS_MESSAGE_BYTES = 1024 * 1024;
/** The most bytes of the input of a state of Step Functions, and of its result. */
const STEP_FUNCTIONS_BYTES = 256 * 1024;

/**
 * Encodes the event as JSON.
 *
 * @throws FunctionError `RequestEntityTooLargeException`, before any function has seen it.
 */
export function encodeEvent(event: unknown): string {
  const body = JSON.stringify(event);
  if (Buffer.byteLength(body) <= LAMBDA_REQUEST_BYTES) return body;
  throw new FunctionError(
    'RequestEntityTooLargeException',
    `Request must be smaller than ${LAMBDA_REQUEST_BYTES} bytes for the InvokeFunction operation`,
  );
}

/** Makes the error that a caller gets instead of an answer that is too large; undefined for one that is not. */
export function refuseResponse(body: string): FunctionError | undefined {
  const bytes = Buffer.byteLength(body);
  if (bytes <= LAMBDA_RESPONSE_BYTES) return undefined;
  return new FunctionError(
    'Function.ResponseSizeTooLarge',
    `Response payload size (${bytes} bytes) exceeded maximum allowed payload size (${LAMBDA_RESPONSE_BYTES} bytes).`,
  );
}

/** The code of SQS for a message that is too large; moto counts characters and no bytes. */
class MessageTooLarge extends Error {
  override readonly name = 'InvalidParameterValue';

  constructor() {
    super(
      `One or more parameters are invalid. Reason: Message must be shorter than ${SQS_MESSAGE_BYTES} bytes.`,
    );
  }
}

/**
 * Checks the size of a message.
 *
 * @throws Error `InvalidParameterValue` above 1 MiB.
 */
export function checkMessage(body: string): void {
  if (Buffer.byteLength(body) > SQS_MESSAGE_BYTES) throw new MessageTooLarge();
}

/**
 * Invokes a function as the task of a state machine.
 *
 * @throws FunctionError `States.DataLimitExceeded` for an input or a result that a state machine does not carry; the
 * function has run in the second case.
 */
export async function invokeAsTask(
  invoke: (event: unknown) => Promise<unknown>,
  input: unknown,
): Promise<unknown> {
  checkState(input, 'was given an input');
  const result = await invoke(input);
  checkState(result, 'returned a result');
  return result;
}

function checkState(data: unknown, what: string): void {
  if (Buffer.byteLength(JSON.stringify(data) ?? '') <= STEP_FUNCTIONS_BYTES) return;
  throw new FunctionError(
    'States.DataLimitExceeded',
    `The state/task ${what} with a size exceeding the maximum number of bytes service limit.`,
  );
}
