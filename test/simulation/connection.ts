import { MemoryError } from '../../src/errors.ts';
import { lateness, type SendBound } from '../../src/store/port.ts';
import type { Chance } from './chance.ts';
import { type Attempt, drawAttempt, type Weather } from './faults.ts';
import { type Operation, underWay } from './history.ts';
import type { Life } from './life.ts';
import type { Scheduler } from './scheduler.ts';
import type { Trace } from './trace.ts';

/** The execution of one attempt at the server. */
export interface Execution {
  readonly part: 'all' | 'some';
  /** The client has given this attempt up before it was executed. */
  readonly late: boolean;
  /** The time that it was on the wire, in milliseconds. */
  readonly travelled: number;
  readonly operation: Operation | undefined;
}

interface Request<T> {
  readonly label: string;
  readonly writes: boolean;
  /** The most times that the client sends it, as SDKs do. */
  readonly attempts: number;
  readonly sendBy?: SendBound | undefined;
  /** Ends the wait for the answer, and closes the connection. */
  readonly signal?: AbortSignal | undefined;
  /** The answer as the trace shows it. */
  show(answer: T): string;
  /** Executes the request, over several instants if it likes, and calls `done` with its answer. */
  execute(execution: Execution, done: (answer: T) => void): void;
}

interface Answered<T> {
  readonly answer: T;
  /** An earlier attempt may have been executed, too. */
  readonly retried: boolean;
}

/** The network between a process and the server. */
export interface Connection {
  /** Throws as the port says: `outcome_unknown` for a write that may have been executed, otherwise `unavailable`. */
  send<T>(request: Request<T>): Promise<Answered<T>>;
}

export interface ConnectionOptions {
  readonly life: Life;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly weather: () => Weather;
  readonly trace: Trace;
  /** The commands of the process that are under way now. */
  readonly open: ReadonlySet<Operation>;
}

type Outcome<T> = { readonly answer: T } | 'no_answer' | 'refused' | 'unsent';

export function createConnection(options: ConnectionOptions): Connection {
  const { life, scheduler, chance, trace, open } = options;

  function attempt<T>(request: Request<T>, drawn: Attempt): Promise<Outcome<T>> {
    const operation = underWay.getStore();
    const who = operation === undefined ? life.name : `${life.name}#${operation.id}`;
    return new Promise((resolve) => {
      if (!life.passes()) return;
      const concerned = [...open];
      let over = false;
      const settle = (outcome: Outcome<T>): void => {
        if (over) return;
        over = true;
        if (life.passes()) life.resume(() => resolve(outcome));
      };
      const depart = (): void => {
        if (over || !life.alive) return;
        if (request.sendBy?.isPast()) {
          trace.note(who, `${request.label} is not sent any more`);
          settle('unsent');
          return;
        }
        if (drawn.executed === 'none' && !drawn.refused) trace.note(who, `${request.label} is lost`);
        if (Number.isFinite(drawn.patience)) scheduler.after(drawn.patience, () => settle('no_answer'));
        travel();
      };
      const travel = (): void =>
        scheduler.after(drawn.travel, () => {
          if (drawn.refused) trace.note(who, `${request.label} is refused`);
          if (drawn.refused) scheduler.after(drawn.answer ?? 0, () => settle('refused'));
          if (drawn.executed === 'none') return;
          const execution: Execution = {
            part: drawn.executed,
            late: over,
            travelled: drawn.travel,
            operation,
          };
          request.execute(execution, (answer) => {
            if (operation !== undefined) noteOn(operation, request);
            for (const each of concerned) each.lastExecuted = scheduler.now();
            const fate = `${drawn.answer === undefined ? ', no answer' : ''}${execution.late ? ', late' : ''}`;
            trace.note(who, `${request.label} ⇒ ${request.show(answer)}${fate}`);
            if (drawn.answer !== undefined) scheduler.after(drawn.answer, () => settle({ answer }));
          });
        });
      request.signal?.addEventListener('abort', () => settle('no_answer'), { once: true });
      if (drawn.held === 0) depart();
      else scheduler.after(drawn.held, () => life.resume(depart));
    });
  }

  function noteOn(operation: Operation, { writes }: { readonly writes: boolean }): void {
    if (writes) operation.wrote = true;
    else operation.looked.push(scheduler.now());
  }

  return {
    async send(request) {
      let retried = false;
      for (let sent = 1; ; sent++) {
        const outcome = await attempt(request, drawAttempt(chance, options.weather()));
        if (typeof outcome === 'object') return { answer: outcome.answer, retried };
        if (outcome === 'unsent' && !retried) throw lateness({ isPast: () => true });
        retried ||= outcome === 'no_answer';
        if (sent >= request.attempts || outcome === 'unsent') {
          const unknown = request.writes && retried;
          throw new MemoryError(unknown ? 'outcome_unknown' : 'unavailable', 'no answer came');
        }
        await life.pause(chance.fraction() * 100);
      }
    },
  };
}
