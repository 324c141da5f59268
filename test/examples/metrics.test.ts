import { describe, expect, it } from 'vitest';
import { createTurnMetrics } from '../../examples/metrics/turn-metrics.ts';
import { type Play, playSteps, startLocalWorker } from '../../infra/local/lambda/local-worker.ts';
import { createJsonLogger } from '../../src/worker/index.ts';
import { closedBehindEach } from '../stage/closed-behind.ts';

const UNITS = ['Seconds', 'Microseconds', 'Milliseconds', 'Bytes', 'Percent', 'Count', 'None'];
const SECRET = 'the launch is in May';

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= most;
const isList = (value: unknown, least: number, most: number): value is readonly unknown[] =>
  Array.isArray(value) && value.length >= least && value.length <= most;
const hasOnly = (value: Json, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name));

/** Answers what CloudWatch would refuse in a line, by the specification of the embedded metric format. */
function faultsOf(line: string): readonly string[] {
  const faults: string[] = [];
  const check = (isRight: boolean, fault: string): void => void (isRight || faults.push(fault));
  const root: unknown = JSON.parse(line);
  const { _aws: meta } = isObject(root) ? root : {};
  if (!isObject(root) || !isObject(meta)) return ['no _aws'];
  check(Number.isInteger(meta['Timestamp']), 'Timestamp');
  check(hasOnly(meta, ['Timestamp', 'CloudWatchMetrics']), 'another member of _aws');
  const directives = meta['CloudWatchMetrics'];
  if (!isList(directives, 1, 100)) return [...faults, 'CloudWatchMetrics'];
  for (const directive of directives) {
    if (!isObject(directive)) return [...faults, 'a directive'];
    const { Namespace, Dimensions, Metrics } = directive;
    check(hasOnly(directive, ['Namespace', 'Dimensions', 'Metrics']), 'another member of a directive');
    check(isText(Namespace, 1_024), 'Namespace');
    if (!isList(Dimensions, 1, 100) || !isList(Metrics, 1, 100)) return [...faults, 'Dimensions or Metrics'];
    for (const set of Dimensions) {
      if (!isList(set, 1, 30)) return [...faults, 'a set of dimensions'];
      for (const name of set)
        check(isText(name, 250) && isText(root[name], 1_024), `dimension ${String(name)}`);
    }
    for (const metric of Metrics) {
      if (!isObject(metric)) return [...faults, 'a metric'];
      const { Name, Unit } = metric;
      check(hasOnly(metric, ['Name', 'Unit', 'StorageResolution']), 'another member of a metric');
      check(isText(Name, 1_024) && Number.isFinite(root[Name]), `metric ${String(Name)}`);
      check(Unit === undefined || UNITS.includes(String(Unit)), `unit ${String(Unit)}`);
    }
  }
  return faults;
}

/** Says something with its calls, too. */
const speak: Play = (scene) => ({ say: 'I look.', ...playSteps(scene) });

describe('examples/metrics', () => {
  const closedBehind = closedBehindEach();

  it('writes what CloudWatch takes: of a service, of watched tenants, and never a word', async () => {
    const all: string[] = [];
    const { onTurn, write } = createTurnMetrics({
      service: 'assistant',
      isWatched: (tenant) => tenant === 'acme',
      write: (line) => void all.push(line),
    });
    const logger = createJsonLogger({ write });
    const site = closedBehind(await startLocalWorker(undefined, speak, { onTurn, logger }));
    const note = { command: 'create', path: '/memories/launch.md', file_text: SECRET };
    const prompt = JSON.stringify([[note], [{ command: 'view', path: '/memories/none.md' }]]);
    await site.deliver([
      { tenant: 'acme', turn: 'one', prompt },
      { tenant: 'other', turn: 'one', prompt: '[]' },
    ]);

    const lines = all.filter((line) => 'Tenant' in JSON.parse(line));
    const logged = all.filter((line) => !lines.includes(line));
    expect(lines.flatMap(faultsOf)).toEqual([]);
    const told = lines.map((line) => JSON.parse(line));
    const sum = (tenant: string, name: string): number =>
      told.filter(({ Tenant }) => Tenant === tenant).reduce((all, each) => all + (each[name] ?? 0), 0);
    expect([sum('acme', 'ToolUses'), sum('acme', 'ToolErrors'), sum('other', 'ToolUses')]).toEqual([2, 1, 0]);
    expect(told.filter(({ FirstWord }) => FirstWord !== undefined)).toHaveLength(2);
    const ended = logged.map((line) => JSON.parse(line)).filter(({ message }) => message === 'turn answered');
    for (const { tenant, inputTokens, outputTokens } of ended) {
      expect([sum(tenant, 'InputTokens'), sum(tenant, 'OutputTokens')]).toEqual([inputTokens, outputTokens]);
    }
    expect(ended).toHaveLength(2);
    for (const { Tenant, _aws } of told) {
      const sets = [['Service'], ...(Tenant === 'acme' ? [['Service', 'Tenant']] : [])];
      expect(_aws.CloudWatchMetrics[0].Dimensions).toEqual(sets);
    }
    expect(lines.join('\n')).not.toMatch(/launch|none\.md|done/);
  });
});
