import { EventEmitter } from 'node:events';
import type { ClientRequest } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { isTooLate } from '../../../../src/store/port.ts';
import { followed, newTrace, watched } from '../../../../src/store/s3/attempts.ts';
import type { HttpAnswer } from '../../../../src/store/s3/wire.ts';

function answerOf(statusCode: number, body = new Readable({ read: () => {} })): HttpAnswer {
  return { statusCode, headers: {}, body };
}

const watch = { onRequest: undefined, onDate: undefined, acceptsHost: () => true };
const request = { operation: 'PutObject', hostname: '127.0.0.1' };

describe('the socket of an answer', () => {
  it.each([
    [200, false],
    [206, false],
    [304, false],
    [403, true],
    [404, false],
    [409, true],
    [412, true],
    [503, false],
  ])('behind %i is let go, once the body was read: %s', async (status, isClosed) => {
    let destroyed = 0;
    const socket = { destroy: () => void destroyed++ };
    const body = Object.assign(new Readable({ read: () => {} }), { socket });
    await watched(watch, request, async () => answerOf(status, body));
    expect(destroyed).toBe(0);
    const ended = new Promise((resolve) => body.once('end', resolve));
    body.push(null);
    body.resume();
    await ended;
    expect(destroyed).toBe(isClosed ? 1 : 0);
  });
});

describe('the date of an answer', () => {
  it.each([
    ['Mon, 23 Nov 2026 21:00:00 GMT', [Date.UTC(2026, 10, 23, 21)]],
    ['', []],
    ['soon', []],
  ])('is told where it is one, whatever else the answer says: %s', async (date, told) => {
    const dates: number[] = [];
    const listening = { ...watch, onDate: (each: number) => void dates.push(each) };
    for (const status of [200, 404, 503])
      await watched(listening, request, async () => ({ ...answerOf(status), headers: { date } }));
    expect(dates).toEqual(told.flatMap((each) => [each, each, each]));
  });
});

describe('a request with a bound', () => {
  /** The request as the HTTP handler has it in the queue for a connection. */
  async function queued(bound: { isPast(): boolean }) {
    const body = new TextEncoder().encode('sealed');
    const sent = new EventEmitter();
    const deeds: unknown[] = [];
    Object.assign(sent, {
      end: (bytes: unknown) => deeds.push(bytes),
      destroy: (error: unknown) => deeds.push(isTooLate(error) ? 'too late' : error),
    });
    await followed({ trace: newTrace(), sendBy: bound }, { hostname: 'h', body }, async (held) => {
      (held.body as unknown as Readable).pipe(sent as ClientRequest);
      return answerOf(200);
    });
    return { body, sent, deeds };
  }

  it.each([
    ['connect', {}],
    ['secureConnect', { encrypted: true }],
  ])('is judged and written at the event %s, not when it gets its socket', async (event, kind) => {
    for (const isLate of [false, true]) {
      let isPast = false;
      const { body, sent, deeds } = await queued({ isPast: () => isPast });
      const socket = Object.assign(new EventEmitter(), { connecting: true, ...kind });
      sent.emit('socket', socket);
      if ('encrypted' in kind) socket.emit('connect');
      expect(deeds).toEqual([]);
      isPast = isLate;
      socket.emit(event);
      expect(deeds).toEqual([isLate ? 'too late' : body]);
    }
  });

  it('is written at once to a socket that stands', async () => {
    const { body, sent, deeds } = await queued({ isPast: () => false });
    sent.emit('socket', Object.assign(new EventEmitter(), { connecting: false }));
    expect(deeds).toEqual([body]);
  });
});
