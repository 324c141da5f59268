import type { BetaMessage } from '@anthropic-ai/sdk/resources/beta';
import { describe, expect, it } from 'vitest';
import { meaningOf } from '../../../src/agent/stop-reasons.ts';

describe('meaningOf', () => {
  it.each([
    ['end_turn', 'nothing', 'answered'],
    ['stop_sequence', 'nothing', 'answered'],
    ['tool_use', 'results', 'max_requests'],
    ['pause_turn', 'rest', 'max_requests'],
    ['compaction', 'rest', 'max_requests'],
    ['max_tokens', 'nothing', 'max_tokens'],
    ['model_context_window_exceeded', 'nothing', 'context_window'],
    ['refusal', 'nothing', 'refused'],
  ] as const)(
    'says of %s that Claude is asked for %s, and that it ends a turn as %s',
    (reason, asks, ends) => {
      expect(meaningOf({ stop_reason: reason })).toMatchObject({ asks, ends });
    },
  );

  it.each(['tired', 'constructor', null])('ends a turn at %s, which nobody knows', (reason) => {
    const reply = { stop_reason: reason } as BetaMessage;
    expect(meaningOf(reply)).toEqual({ asks: 'nothing', ends: 'unknown' });
  });
});
