import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { endSilence } from '../../../src/agent/silence.ts';

const PING = new TextEncoder().encode('event: ping\ndata: {"type":"ping"}\n\n');

describe('a reply', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  /** A reply that comes as its source gives it, watched. */
  const watch = async () => {
    let source: ReadableStreamDefaultController<Uint8Array> | undefined;
    let isLeft = false;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        source = controller;
      },
      cancel() {
        isLeft = true;
      },
    });
    const given = new Response(body, { status: 200, headers: { 'request-id': 'req_1' } });
    const response = await endSilence()({} as never, async () => given, {} as never);
    const reader = response.body?.getReader();
    return { source, reader, response, isLeft: () => isLeft };
  };

  it('goes on for as long as pings come, which are all that is heard of a long thought', async () => {
    const { source, reader, response } = await watch();
    for (let i = 0; i < 10; i++) {
      await vi.advanceTimersByTimeAsync(59_000);
      source?.enqueue(PING);
      expect((await reader?.read())?.value).toEqual(PING);
    }
    source?.close();
    expect((await reader?.read())?.done).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    expect([response.status, response.headers.get('request-id')]).toEqual([200, 'req_1']);
  });

  it('is broken off once nothing has come for a minute, and its connection with it', async () => {
    const { source, reader, isLeft } = await watch();
    source?.enqueue(PING);
    await reader?.read();
    const reading = expect(reader?.read()).rejects.toThrow('Nothing more of the reply came.');
    await vi.advanceTimersByTimeAsync(59_999);
    expect(isLeft()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await reading;
    expect(isLeft()).toBe(true);
  });

  it('is watched no more once it is left', async () => {
    const { reader, isLeft } = await watch();
    await reader?.cancel();
    expect([isLeft(), vi.getTimerCount()]).toEqual([true, 0]);
  });

  it('without a body is as it is', async () => {
    const given = new Response(null, { status: 204 });
    expect(await endSilence()({} as never, async () => given, {} as never)).toBe(given);
  });
});
