import type { SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { FIRST_SENT, sendingOf } from '../../../../src/worker/queue/queue-records.ts';

const SENT = Date.UTC(2026, 0, 10);
const DAY = 86_400_000;
const TIMES = { nowMs: SENT + 1_000, longestMs: 3 * DAY };

function recordOf(attribute: unknown, sent: string | undefined = String(SENT)): SQSRecord {
  const attributes = { ...(sent !== '' && { SentTimestamp: sent }) };
  const messageAttributes = attribute === undefined ? {} : { [FIRST_SENT]: attribute };
  return { attributes, messageAttributes } as unknown as SQSRecord;
}

const number = (stringValue: unknown) => ({ dataType: 'Number', stringValue });

describe('the time of first sending', () => {
  it.each([SENT, SENT - 1, SENT - 3 * DAY])('is what the worker wrote: %d', (first) => {
    expect(sendingOf(recordOf(number(String(first))), TIMES)).toEqual({ firstMs: first, isSentOn: true });
  });

  it('is the time of this sending where nothing was written, and now where the queue tells none', () => {
    expect(sendingOf(recordOf(undefined), TIMES)).toEqual({ firstMs: SENT, isSentOn: false });
    expect(sendingOf(recordOf(undefined, ''), TIMES)).toEqual({ firstMs: TIMES.nowMs, isSentOn: false });
    expect(sendingOf({ attributes: {} } as SQSRecord, TIMES)).toEqual({
      firstMs: TIMES.nowMs,
      isSentOn: false,
    });
  });

  it.each([
    ['in the future', number(String(SENT + 1))],
    ['before all that the worker sends on', number(String(SENT - 3 * DAY - 1))],
    ['in seconds', number(String(SENT / 1_000))],
    ['with a fraction', number(`${SENT - 1}.5`)],
    ['with an exponent', number('1.7e12')],
    ['negative', number(`-${SENT}`)],
    ['with a sign', number(`+${SENT - 1}`)],
    ['with space', number(` ${SENT - 1}`)],
    ['with a leading zero', number(`0${SENT - 1}`)],
    ['in hexadecimal', number('0x19b8a0f5c00')],
    ['no number', number('yesterday')],
    ['empty', number('')],
    ['without a value', number(undefined)],
    ['as a text', { dataType: 'String', stringValue: String(SENT - 1) }],
    ['of a kind of its own', { dataType: 'Number.ms', stringValue: String(SENT - 1) }],
    ['as bytes', { dataType: 'Binary', binaryValue: 'MTc2ODAwMzIwMDAwMA==' }],
    ['as the SDK writes it', { DataType: 'Number', StringValue: String(SENT - 1) }],
  ])('is not believed %s', (_, attribute) => {
    expect(sendingOf(recordOf(attribute), TIMES)).toEqual({ firstMs: SENT, isSentOn: false });
  });

  it('is not believed where the queue tells no time of its own to hold it against', () => {
    const record = recordOf(number(String(SENT - 1)), '');
    expect(sendingOf(record, TIMES)).toEqual({ firstMs: TIMES.nowMs, isSentOn: false });
  });
});
