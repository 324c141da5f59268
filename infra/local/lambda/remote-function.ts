import { setTimeout as sleep } from 'node:timers/promises';
import { encodeEvent, refuseResponse } from '../aws/service-limits.ts';
import { FunctionError } from './function-error.ts';
import type { InvokedFunction } from './local-function.ts';

const PATH = '/2015-03-31/functions/function/invocations';
const READY_WITHIN_MS = 60_000;

/**
 * Opens a function in a container of AWS's base image, behind the emulator that the image brings. It takes one event at
 * a time.
 *
 * @param options.origin such as `http://worker:8080`.
 */
export async function openRemoteFunction({
  origin,
  timeoutSeconds,
  signal,
}: {
  readonly origin: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}): Promise<InvokedFunction> {
  await untilAnswering(origin, signal);
  let last: Promise<unknown> = Promise.resolve();
  return {
    invoke(event) {
      const own = last.then(() => post(new URL(PATH, origin), { event, timeoutSeconds, signal }));
      last = own.catch(() => {});
      return own;
    },
    async [Symbol.asyncDispose]() {
      await last;
    },
  };
}

async function post(
  url: URL,
  request: { readonly event: unknown; readonly timeoutSeconds: number; readonly signal: AbortSignal },
): Promise<unknown> {
  const body = encodeEvent(request.event);
  const limit = AbortSignal.timeout((request.timeoutSeconds + 10) * 1_000);
  const answer = await fetch(url, {
    method: 'POST',
    body,
    signal: AbortSignal.any([limit, request.signal]),
  });
  const text = await answer.text();
  const refusal = refuseResponse(text);
  if (refusal !== undefined) throw refusal;
  const result: unknown = JSON.parse(text || 'null');
  // The emulator answers 200 to every result of the function; only the body tells an error.
  if (typeof result === 'object' && result !== null && 'errorType' in result) {
    const { errorType, errorMessage } = result as Readonly<Record<string, unknown>>;
    throw new FunctionError(String(errorType), String(errorMessage ?? ''));
  }
  if (!answer.ok) throw new FunctionError('Runtime.ExitError', `the emulator answered ${answer.status}`);
  return result;
}

/** Waits for any answer, because the emulator has no address for its health. */
async function untilAnswering(origin: string, signal: AbortSignal): Promise<void> {
  for (const end = Date.now() + READY_WITHIN_MS; ; ) {
    const isThere = await fetch(origin, { signal }).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    signal.throwIfAborted();
    if (Date.now() > end) throw new Error(`nothing answers at ${origin}`);
    await sleep(500, undefined, { signal });
  }
}
