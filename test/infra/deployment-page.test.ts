import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Template } from './iam/template.ts';
import { synthesize } from './synthesized.ts';

const page = (name: string): string => readFileSync(`docs/${name}.md`, 'utf8');
const template = synthesize({ direct: 'true' });

/** The logical ids that a resource names, and for which CloudFormation therefore waits. */
function waitsFor({ Resources }: Template, id: string): readonly string[] {
  const { Properties, DependsOn } = Resources[id] as { Properties: object; DependsOn?: string | string[] };
  const text = JSON.stringify([Properties, DependsOn]);
  return Object.keys(Resources).filter((each) => each !== id && new RegExp(`["{]${each}["}.]`).test(text));
}

/** Everything that stands before a resource, however far. */
function earlierThan(of: Template, id: string, found: Set<string> = new Set()): ReadonlySet<string> {
  for (const each of waitsFor(of, id)) {
    if (found.has(each)) continue;
    found.add(each);
    earlierThan(of, each, found);
  }
  return found;
}

describe('docs/deployment.md', () => {
  const idOf = (name: string): string => {
    const id = Object.keys(template.Resources).find((each) =>
      new RegExp(`^Memory${name}[0-9A-F]{8}$`).test(each),
    );
    if (id === undefined) throw new Error(`there is no ${name}`);
    return id;
  };

  it.each([
    ['TenantRole', ['WorkerRole', 'ExpiryRole']],
    ['Turns', ['QueueKey', 'DeadLetters']],
    ['RootKey', ['TenantRole']],
    ['BucketPolicy', ['Bucket', 'TenantRole']],
    ['Worker', ['WorkerRoleDefaultPolicy', 'WorkerLogs', 'RootKey', 'Turns', 'ApiKey']],
    ['Expiry', ['ExpiryRoleDefaultPolicy', 'ExpiryLogs', 'RootKey', 'ExpiryQueue']],
    ['TurnsToWorker', ['Worker']],
    ['TenantsToExpiry', ['Expiry']],
    ['ExpirySchedule', ['Expiry']],
    ['Dashboard', ['WorkerAlarm', 'ExpiryAlarm']],
  ])('has the order of a deployment: %s behind %j', (name, earlier) => {
    expect([...earlierThan(template, idOf(name))]).toEqual(expect.arrayContaining(earlier.map(idOf)));
  });

  it('says truly that two things have no order', () => {
    expect([...earlierThan(template, idOf('Worker'))]).not.toContain(idOf('Expiry'));
    expect([...earlierThan(template, idOf('Expiry'))]).not.toContain(idOf('Worker'));
    for (const name of ['Worker', 'Expiry']) {
      expect([...earlierThan(template, idOf(name))]).not.toContain(idOf('TenantRoleDefaultPolicy'));
    }
  });

  it('lists each metric that is counted from the logs, with the functions and the alarms', () => {
    const [, table = ''] =
      /### Metrics\n[\s\S]*?\|---\|---\|---\|---\|\n((?:\|.*\n)+)/.exec(page('deployment')) ?? [];
    const rows = table
      .split('\n')
      .filter(Boolean)
      .flatMap((row) => {
        const [, names = '', , logs = '', alarms = ''] = row.split('|');
        const functions = logs.trim() === 'all functions' ? 'direct function, expiry, worker' : logs.trim();
        const told = { functions: functions.split(', ').sort(), alarms: alarms.match(/\w+Alarm\b/g) ?? [] };
        return [...names.matchAll(/`(\w+)`/g)].map(([, name]) => [name, told] as const);
      });
    const all = Object.entries(template.Resources);
    const filters = all.filter(([, { Type }]) => Type === 'AWS::Logs::MetricFilter');
    const made = new Map<string, { functions: string[]; alarms: string[] }>();
    const functionOf = { Worker: 'worker', DirectWorker: 'direct function', Expiry: 'expiry' } as const;
    for (const [id, { Properties }] of filters) {
      const [{ MetricName, MetricNamespace }] = Properties['MetricTransformations'] as [
        { MetricName: string; MetricNamespace: string },
      ];
      expect(MetricNamespace).toBe('SealedMemory/SealedMemory/Memory');
      const [, logs] = /^Memory(\w+?)Logs/.exec(id) ?? [];
      const alarms = all.filter(
        ([, { Type, Properties: alarm }]) =>
          Type === 'AWS::CloudWatch::Alarm' &&
          JSON.stringify(alarm).includes(`"MetricName":"${MetricName}"`) &&
          JSON.stringify(alarm).includes(MetricNamespace),
      );
      const before = made.get(MetricName)?.functions ?? [];
      made.set(MetricName, {
        functions: [...before, functionOf[logs as keyof typeof functionOf]].sort(),
        alarms: alarms.map(([name]) => name.replace(/^Memory(\w+Alarm)[0-9A-F]{8}$/, '$1')).sort(),
      });
    }
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(made));
  });

  it('and two other pages tell the hour of the daily expiry', () => {
    const { Properties } = template.Resources[idOf('ExpirySchedule')] ?? {};
    const [, minute = '', hour = ''] =
      /^cron\((\d+) (\d+) \* \* \? \*\)$/.exec(String(Properties?.['ScheduleExpression'])) ?? [];
    const told = `${hour.padStart(2, '0')}:${minute} UTC`;
    for (const name of ['deployment', 'worker', 'operations']) expect(page(name)).toContain(told);
  });
});
