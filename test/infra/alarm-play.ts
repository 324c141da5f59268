import { runInNewContext } from 'node:vm';
import type { Template } from './iam/template.ts';

/** A line of a function's log, as its JSON says. */
export type LogLine = Readonly<Record<string, unknown>>;

/**
 * The deeds of a deployment: the log of each function by the beginning of its log group's id, and metrics of AWS's own.
 */
export interface Played {
  readonly logs: Readonly<Record<string, readonly LogLine[]>>;
  /** Answers the value of a metric of AWS in five minutes that begin at a time, by its name and its dimensions as JSON. */
  readonly ofAws: (metric: string, dimensions: string, fromMs: number) => number | undefined;
}

interface MetricFilter {
  readonly FilterPattern: string;
  readonly LogGroupName: { readonly Ref: string };
  readonly MetricTransformations: readonly [{ readonly MetricName: string; readonly MetricValue: string }];
}

interface MetricNamed {
  readonly MetricName: string;
  readonly Dimensions?: unknown;
}

interface Alarm extends Partial<MetricNamed> {
  readonly Statistic?: string;
  readonly Threshold: number;
  readonly Metrics?: readonly {
    readonly Id: string;
    readonly Expression?: string;
    readonly MetricStat?: { readonly Metric: MetricNamed; readonly Stat: string };
  }[];
}

const WINDOW_MS = 300_000;

/** Answers the ids of the alarms of a template that go off in one of the five minutes that were played, in order. */
export function alarmsOf(template: Template, played: Played): readonly string[] {
  const lines = Object.values(played.logs).flat();
  const windows = new Set(lines.map((line) => windowOf(line)));
  const filters = resourcesOf<MetricFilter>(template, 'AWS::Logs::MetricFilter');
  const measured = (
    { MetricName, Dimensions }: MetricNamed,
    { statistic, fromMs }: { readonly statistic: string; readonly fromMs: number },
  ): number | undefined => {
    const own = filters.filter(
      ([
        ,
        {
          MetricTransformations: [to],
        },
      ]) => to.MetricName === MetricName,
    );
    if (own.length === 0) return played.ofAws(MetricName, JSON.stringify(Dimensions), fromMs);
    const values = own.flatMap(
      ([
        ,
        {
          FilterPattern,
          LogGroupName,
          MetricTransformations: [to],
        },
      ]) => {
        const log = Object.entries(played.logs).find(([name]) => LogGroupName.Ref.startsWith(name));
        return (log?.[1] ?? [])
          .filter((line) => windowOf(line) === fromMs && matches(FilterPattern, line))
          .map((line) => (to.MetricValue === '1' ? 1 : Number(line[to.MetricValue.slice(2)])));
      },
    );
    if (values.length === 0) return undefined;
    return statistic === 'Maximum' ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
  };
  const isOver = (alarm: Alarm, fromMs: number): boolean => {
    const { MetricName, Dimensions, Statistic = 'Sum', Metrics = [], Threshold } = alarm;
    if (MetricName !== undefined) {
      const value = measured({ MetricName, Dimensions }, { statistic: Statistic, fromMs });
      return value !== undefined && value >= Threshold;
    }
    const known = Object.fromEntries(
      Metrics.map(({ Id, MetricStat }) => {
        const value = MetricStat && measured(MetricStat.Metric, { statistic: MetricStat.Stat, fromMs });
        return [Id, value ?? Number.NaN];
      }),
    );
    const expression = Metrics.find(({ Expression }) => Expression !== undefined)?.Expression ?? 'NaN';
    const FILL = (value: number, otherwise: number): number => (Number.isNaN(value) ? otherwise : value);
    const IF = (is: boolean, value: number, otherwise: number): number => (is ? value : otherwise);
    return Number(runInNewContext(expression, { ...known, FILL, IF })) >= Threshold;
  };
  return resourcesOf<Alarm>(template, 'AWS::CloudWatch::Alarm')
    .filter(([, alarm]) => [...windows].some((fromMs) => isOver(alarm, fromMs)))
    .map(([id]) => /^Memory(\w+)Alarm/.exec(id)?.[1] ?? id)
    .toSorted();
}

/** Answers the number of lines of a log that a metric counts. */
export function countedAs(template: Template, metric: string, lines: readonly LogLine[]): number {
  const [filter] = resourcesOf<MetricFilter>(template, 'AWS::Logs::MetricFilter').filter(
    ([
      ,
      {
        MetricTransformations: [to],
      },
    ]) => to.MetricName === metric,
  );
  return lines.filter((line) => matches(filter?.[1].FilterPattern ?? '', line)).length;
}

function windowOf(line: LogLine): number {
  return Math.floor(Date.parse(String(line['time'])) / WINDOW_MS) * WINDOW_MS;
}

function resourcesOf<T>({ Resources }: Template, type: string): readonly (readonly [string, T])[] {
  return Object.entries(Resources).flatMap(([id, { Type, Properties }]) =>
    Type === type ? [[id, Properties as T] as const] : [],
  );
}

const TOKEN = /\s*(&&|\|\||!=|>=|<=|[(){}=<>]|"[^"]*"|[$\w.-]+)/y;

/**
 * Tells whether a filter pattern of CloudWatch Logs matches a line, as far as the construct writes such patterns. A field
 * that a line lacks matches no comparison, and `NOT EXISTS`.
 *
 * @throws Error for a pattern of another kind.
 */
function matches(pattern: string, line: LogLine): boolean {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(pattern); found !== null; found = TOKEN.exec(pattern))
    tokens.push(found[1] ?? '');
  const take = (wanted?: string): string => {
    const token = tokens.shift() ?? '';
    if (wanted !== undefined && token !== wanted) throw new Error(`${pattern}: ${wanted} is missing`);
    return token;
  };
  const some = (): boolean => {
    let is = every();
    while (tokens[0] === '||') {
      take();
      is = every() || is;
    }
    return is;
  };
  const every = (): boolean => {
    let is = one();
    while (tokens[0] === '&&') {
      take();
      is = one() && is;
    }
    return is;
  };
  const one = (): boolean => {
    if (tokens[0] === '(') {
      take();
      const is = some();
      take(')');
      return is;
    }
    const field = line[take().replace(/^\$\./, '')];
    const sign = take();
    if (sign === 'NOT') {
      take('EXISTS');
      return field === undefined;
    }
    const text = take();
    const value: unknown = JSON.parse(text);
    if (field === undefined) return false;
    if (sign === '=') return field === value;
    if (sign === '!=') return field !== value;
    if (sign === '>') return Number(field) > Number(value);
    if (sign === '>=') return Number(field) >= Number(value);
    throw new Error(`${pattern}: the sign ${sign} is not known`);
  };
  take('{');
  const is = some();
  take('}');
  if (tokens.length > 0) throw new Error(`${pattern}: there is more behind its end`);
  return is;
}
