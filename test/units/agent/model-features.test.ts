import { describe, expect, it } from 'vitest';
import { lacksOf, type ModelFeature, refusedFeatures } from '../../../src/agent/model-features.ts';

const ALL: readonly ModelFeature[] = [
  'clear_thinking_20251015',
  'clear_tool_uses_20250919',
  'compact_20260112',
  'cache_control',
];
const refusal = (message: string, status = 400) => Object.assign(new Error(message), { status });

describe('lacksOf', () => {
  it.each([
    'claude-haiku-4-5',
    'claude-sonnet-4-5-20250929',
    'claude-opus-4-20250514',
    'claude-3-5-sonnet-20241022',
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'claude-opus-4-5@20251101',
  ])('knows that %s does not compact', (model) => {
    expect([...lacksOf({}, model)]).toEqual(['compact_20260112', 'compaction']);
  });

  it.each([
    'anthropic.claude-opus-4-6-v1',
    'global.anthropic.claude-sonnet-5-5',
    'arn:aws:bedrock:us-east-1:1:application-inference-profile/x',
  ])('knows that %s compacts at a threshold alone', (model) => {
    expect([...lacksOf({}, model)]).toEqual(['compaction']);
  });

  it.each([
    'claude-opus-4-6',
    'claude-sonnet-5',
    'claude-sonnet-5-5',
    'claude-opus-4-10',
    'claude-mythos-preview',
    'claude-opus-4-6@20260205',
  ])('takes it that %s has everything', (model) => {
    expect([...lacksOf({}, model)]).toEqual([]);
  });

  it('remembers by client and model', () => {
    const client = {};
    lacksOf(client, 'claude-sonnet-5').add('cache_control');
    expect(lacksOf(client, 'claude-sonnet-5').has('cache_control')).toBe(true);
    expect(lacksOf(client, 'claude-sonnet-5-5').has('cache_control')).toBe(false);
    expect(lacksOf({}, 'claude-sonnet-5').has('cache_control')).toBe(false);
  });
});

describe('refusedFeatures', () => {
  it.each([
    ["context_management.edits.1: 'compact_20260112' is not supported", ['compact_20260112']],
    [
      "edits.0: Input tag 'compact_20260112' does not match any of the expected tags: 'clear_tool_uses_20250919'",
      ['compact_20260112'],
    ],
    ['Unexpected value(s) `compact-2026-01-12` for the `anthropic-beta` header.', ['compact_20260112']],
    [
      'Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header.',
      ['clear_thinking_20251015', 'clear_tool_uses_20250919'],
    ],
    ['context_management: Extra inputs are not permitted', ALL.slice(0, 3)],
    ['cache_control: Extra inputs are not permitted', ['cache_control']],
    ['max_tokens: Field required', []],
  ])('finds in: %s', (message, features) => {
    expect(refusedFeatures(refusal(message), ALL)).toEqual(features);
  });

  it('finds nothing that was not asked for, and nothing in another failure', () => {
    expect(refusedFeatures(refusal('cache_control: Extra inputs'), [])).toEqual([]);
    expect(refusedFeatures(refusal('cache_control: busy', 529), ALL)).toEqual([]);
    expect(refusedFeatures(undefined, ALL)).toEqual([]);
  });
});
