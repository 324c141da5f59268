import { EventEmitter } from 'node:events';
import type { ClientRequest } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { isTooLate } from '../../../../src/store/port.ts';
import {
  followed,
  mayHaveLanded,
  newTrace,
  readAttempt,
  servedAt,
  watched,
  watchOf,
} from '../../../../src/store/s3/attempts.ts';
import type { AttemptTrace, HttpAnswer } from '../../../../src/store/s3/wire.ts';

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

describe('the trace of a request', () => {
  const HELD = { hostname: 'h' };
  const told = ({ earlierMayHaveLanded, lastMayHaveLanded }: AttemptTrace) => [
    earlierMayHaveLanded,
    lastMayHaveLanded,
  ];

  it.each([
    ...[100, 200, 204, 299].map((status) => [status, true] as const),
    ...[300, 304, 400, 404, 412, 499, 501].map((status) => [status, false] as const),
    ...[500, 502, 503].map((status) => [status, true] as const),
  ])('behind the status %i says that it may have been executed: %s', async (status, may) => {
    const trace = newTrace();
    expect([told(trace), mayHaveLanded(trace)]).toEqual([[false, false], false]);
    const answer = await followed({ trace }, HELD, async () => answerOf(status));
    expect(trace.answer).toBe(answer);
    expect([told(trace), mayHaveLanded(trace)]).toEqual([[false, may], may]);
  });

  it('keeps of earlier attempts that they may have been executed, and the last answer alone', async () => {
    const trace = newTrace();
    await followed({ trace }, HELD, async () => answerOf(503));
    await followed({ trace }, HELD, async () => {
      expect([told(trace), trace.answer]).toEqual([[true, true], undefined]);
      return answerOf(412);
    });
    expect([told(trace), mayHaveLanded(trace)]).toEqual([[true, false], true]);
    const lost = followed({ trace }, HELD, () => Promise.reject(new Error('lost')));
    await expect(lost).rejects.toThrow('lost');
    expect([told(trace), trace.answer]).toEqual([[true, true], undefined]);
  });

  it.each([
    ['that broke off', Object.assign(new Error('no'), { code: 'ECONNRESET' }), true],
    ['for which there was no connection', Object.assign(new Error('no'), { code: 'ECONNREFUSED' }), false],
    ['that was refused before it was sent', new MemoryError('misconfigured', 'no'), false],
  ])('%s says whether it may have been executed', async (_, error, may) => {
    const trace = newTrace();
    await expect(followed({ trace }, HELD, () => Promise.reject(error))).rejects.toBe(error);
    expect(told(trace)).toEqual([false, may]);
  });

  it('that is too late says that it was not sent', async () => {
    const trace = newTrace();
    let sent = 0;
    const late = followed({ trace, sendBy: { isPast: () => true } }, HELD, async () => {
      sent++;
      return answerOf(200);
    });
    expect(isTooLate(await late.catch((error: unknown) => error))).toBe(true);
    expect([sent, told(trace)]).toEqual([0, [false, false]]);
  });

  it.each([
    ['QuotaExceeded', false],
    ['InternalError', true],
  ])('says by the document of the answer, %s, whether it was executed', async (name, may) => {
    const trace = newTrace();
    const error = Object.assign(new Error('no'), { name });
    const reading = readAttempt({ trace }, async () => {
      await followed({ trace }, HELD, async () => answerOf(500));
      throw error;
    });
    await expect(reading).rejects.toBe(error);
    expect(told(trace)).toEqual([false, may]);
  });

  it('says when its last answer was sent, where the server tells that', async () => {
    const trace = newTrace();
    expect(servedAt(trace, 7)).toBe(7);
    for (const [date, at] of [
      ['Mon, 23 Nov 2026 21:00:00 GMT', Date.UTC(2026, 10, 23, 21)],
      ['soon', 7],
    ] as const) {
      await followed({ trace }, HELD, async () => ({ ...answerOf(200), headers: { date } }));
      expect(servedAt(trace, 7)).toBe(at);
    }
  });
});

describe('the watch over requests', () => {
  it.each([
    ['bucket.s3.eu-west-1.amazonaws.com', true],
    ['amazonaws.com', true],
    ['s3.cn-north-1.amazonaws.com.cn', true],
    ['s3.eusc-de-east-1.amazonaws.eu', true],
    ['s3.us-iso-east-1.c2s.ic.gov', true],
    ['s3.us-isob-east-1.sc2s.sgov.gov', true],
    ['s3.us-isof-south-1.csp.hci.ic.gov', true],
    ['s3.eu-isoe-west-1.cloud.adc-e.uk', true],
    ['notamazonaws.com', false],
    ['amazonaws.com.example', false],
    ['amazonaws-com', false],
    ['localhost', false],
  ])('without an endpoint of its own sends to %s: %s', async (hostname, isSent) => {
    const asked: unknown[] = [];
    const onRequest = (each: unknown): void => void asked.push(each);
    for (const endpoint of [undefined, 'http://127.0.0.1:9000']) {
      const sent = watched(watchOf({ endpoint, onRequest }), { operation: 'GetObject', hostname }, async () =>
        answerOf(200),
      );
      if (isSent || endpoint !== undefined) expect(await sent).toMatchObject({ statusCode: 200 });
      else await expect(sent).rejects.toMatchObject({ code: 'misconfigured' });
    }
    expect(asked).toEqual(Array(isSent ? 2 : 1).fill({ operation: 'GetObject' }));
  });
});
