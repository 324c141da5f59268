import { MemoryError } from '../../src/errors.ts';
import { type Death, dieAt, everyDeath } from '../stage/killed-run.ts';
import type { StoreKind } from '../stage/test-tree.ts';
import { newProcess, openPlace, type Place, takeTime } from './tenant.ts';
import type { Verb } from './verbs.ts';
import { faultsIn, look, type Seen, untoldIn } from './witnesses.ts';

/** The distance to the next request in a thorough run, which begins at a drawn one; with `KILLS=all` every one is met. */
export const THOROUGH_STEP: number = process.env['KILLS'] === 'all' ? 1 : 2;

/** What an operator and a writer do at once. */
export interface Meeting {
  readonly kind: StoreKind;
  readonly verb: Verb;
  readonly deed: (place: Place) => Promise<unknown>;
  /** The first request at which they meet, from 0, and how far the next one is, of so many that the verb sends alone. */
  readonly at: (requests: number) => { readonly first: number; readonly step: number };
}

/**
 * Has the writer act before a request of the verb, each time in a place of its own, and answers what the witnesses say
 * against it: nothing where each verb and deed ends as if one had come after the other.
 */
export async function meet({
  kind,
  verb,
  deed,
  at,
}: Meeting): Promise<{ readonly met: number; readonly faults: readonly string[] }> {
  const { alone, both, requests } = await ordersOf(kind, verb, deed);
  const { first, step } = at(requests);
  const serial = new Set(both.map(textsIn));
  const faults: string[] = [];
  let met = 0;
  for (let request = first; ; request += step) {
    const place = await prepared(kind, verb);
    let [sent, isMet] = [0, false];
    let refused: MemoryError | undefined;
    place.operator.intercept(async (_, proceed) => {
      await place.site.time.pause(2);
      if (sent++ === request) {
        isMet = true;
        ({ failure: refused } = await outcomeOf(() => deed(place)));
      }
      return proceed();
    });
    const { answer = [], failure } = await outcomeOf(() => verb.run(place));
    if (!isMet) return { met, faults };
    met++;
    takeTime(place.site, place.operator);
    const against = (fault: unknown): void => {
      faults.push(
        `before request ${request} of ${sent}, ${failure?.code ?? 'done'}: ${JSON.stringify(fault)}`,
      );
    };
    const seen = await look(place).catch((error: unknown) => String(error));
    if (typeof seen === 'string') {
      against({ unreadable: seen });
      continue;
    }
    const known = both.flatMap(({ findings }) => findings.map(({ kind: each }) => each));
    for (const fault of [...answer, ...faultsIn(place, seen, known)]) against(fault);
    if (failure !== undefined && !(verb.refusals ?? []).includes(failure.code))
      against({ failure: String(failure) });
    for (const fault of (await verb.judge?.(place)) ?? []) against(fault);
    // A deed of several steps that is refused at one of them has a part in no order.
    if (refused !== undefined || verb.isMoving) continue;
    const mayBeAlone = failure !== undefined || verb.mayLeaveAll === true;
    const isSerial = serial.has(textsIn(seen)) || (mayBeAlone && textsIn(seen) === textsIn(alone));
    if (!isSerial) against({ neitherOrder: seen.texts, orders: both.map(({ texts }) => texts) });
    if (untoldIn(seen) > Math.max(...both.map(untoldIn))) against({ untold: seen.findings });
  }
}

/**
 * Kills the process of the verb at some of its requests, lets another one run the verb to its end, and answers what the
 * witnesses say against it: nothing where all is as if nobody had been killed.
 */
export async function killAt({
  kind,
  verb,
  choose,
}: Pick<Meeting, 'kind' | 'verb'> & {
  readonly choose: (deaths: readonly Death[]) => readonly Death[];
}): Promise<{ readonly killed: number; readonly faults: readonly string[] }> {
  const whole = await prepared(kind, verb);
  const before = whole.operator.calls.length;
  await verb.run(whole);
  const deaths = choose(everyDeath(whole.operator.calls.length - before));
  const expected = await look(whole);
  const faults: string[] = [];
  for (const death of deaths) {
    const dead = await prepared(kind, verb);
    dead.operator.intercept(dieAt(death));
    await outcomeOf(() => verb.run(dead));
    const place = { ...dead, operator: await newProcess(dead.site) };
    // Its leases run out, and what it wrote is no longer young.
    await dead.site.time.pause(DEAD_FOR_MS);
    const { answer = [], failure } = await outcomeOf(() => verb.run(place));
    const against = (fault: unknown): void => {
      const { after, reaches } = death;
      const how = reaches ? 'sent' : 'not sent';
      faults.push(`dead after ${after} requests, the next one ${how}: ${JSON.stringify(fault)}`);
    };
    const seen = await look(place);
    for (const fault of [...answer, ...faultsIn(place, seen, [])]) against(fault);
    for (const fault of (await verb.judge?.(place)) ?? []) against(fault);
    if (failure !== undefined && !(verb.refusals ?? []).includes(failure.code)) against({ failure });
    const [left, unharmed] = [seen, expected].map(({ texts, keys }) => JSON.stringify({ texts, keys }));
    if (left !== unharmed) against({ left, unharmed });
  }
  return { killed: deaths.length, faults };
}

const DEAD_FOR_MS = 120_000;

interface Outcome<T> {
  readonly answer?: T;
  readonly failure?: MemoryError;
}

async function outcomeOf<T>(run: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { answer: await run() };
  } catch (failure) {
    if (failure instanceof MemoryError) return { failure };
    throw failure;
  }
}

async function prepared(kind: StoreKind, { prepare }: Verb): Promise<Place> {
  const place = await openPlace(kind);
  await prepare?.(place);
  return place;
}

/** What is seen where nobody meets anybody: of the deed alone, and of verb and deed one behind the other. */
async function ordersOf(
  kind: StoreKind,
  verb: Verb,
  deed: Meeting['deed'],
): Promise<{ readonly alone: Seen; readonly both: readonly Seen[]; readonly requests: number }> {
  let requests = 0;
  const seenAfter = async (...steps: readonly ((place: Place) => Promise<unknown>)[]): Promise<Seen> => {
    const place = await prepared(kind, verb);
    for (const step of steps) await outcomeOf(() => step(place));
    return look(place);
  };
  const counted = async (place: Place): Promise<void> => {
    const before = place.operator.calls.length;
    await verb.run(place);
    requests = place.operator.calls.length - before;
  };
  const both = [await seenAfter(deed, verb.run), await seenAfter(counted, deed)];
  return { alone: await seenAfter(deed), both, requests };
}

const textsIn = ({ texts }: Seen): string => JSON.stringify(texts);
