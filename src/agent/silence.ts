import type { Transformer } from 'node:stream/web';
import type { Middleware } from '@anthropic-ai/sdk/client';

/**
 * The longest time in which nothing of a reply comes, in milliseconds: between its events, also while Claude thinks
 * unseen, the API sends pings.
 */
const LONGEST_SILENCE_MS = 60_000;

/**
 * Makes the middleware of Claude's client that breaks a reply off once nothing of it has come for `longestMs`
 * milliseconds. It watches the bytes, because the SDK tells nobody of pings.
 */
export function endSilence(longestMs: number = LONGEST_SILENCE_MS): Middleware {
  return async (request, next) => {
    const response = await next(request);
    if (response.body === null) return response;
    const watched = response.body.pipeThrough(new TransformStream(watchSilence(longestMs)));
    return new Response(watched, response);
  };
}

function watchSilence(longestMs: number): Transformer<Uint8Array, Uint8Array> {
  let silence: ReturnType<typeof setTimeout> | undefined;
  const listenOn = (controller: TransformStreamDefaultController): void => {
    clearTimeout(silence);
    silence = setTimeout(() => controller.error(new Error('Nothing more of the reply came.')), longestMs);
  };
  return {
    start: listenOn,
    transform(bytes, controller) {
      listenOn(controller);
      controller.enqueue(bytes);
    },
    flush: () => clearTimeout(silence),
    cancel: () => clearTimeout(silence),
  };
}
