import { MemoryError } from '../../src/errors.ts';
import { type Around, fullAfter } from '../stage/store-wrappers.ts';
import type { StoreKind, TestClient } from '../stage/test-tree.ts';
import { dieAt, everyDeath } from './killed-run.ts';
import { newProcess, openPlace, type Place, takeTime } from './tenant.ts';
import type { Verb } from './verbs.ts';
import { faultsIn, look, type Seen, untoldIn } from './witnesses.ts';

/** The distance to the next request in a thorough run, which begins at a drawn one; with `KILLS=all` every one is met. */
export const THOROUGH_STEP: number = process.env['KILLS'] === 'all' ? 1 : 5;

/** An operator's verb and a writer's deed at once. */
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
    const seen = await look(place);
    if (typeof seen.texts === 'string') against({ unreadable: seen.texts });
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

/** Something that cuts a verb off, and the process that runs it again. */
interface Cut {
  readonly how: string;
  readonly around: Around;
  readonly again: (place: Place) => Promise<TestClient>;
}

export interface CutVerb extends Pick<Meeting, 'kind' | 'verb'> {
  /** Chooses where the verb is cut off, of all places. */
  readonly choose: <T>(places: readonly T[]) => readonly T[];
}

export interface CutReport {
  readonly cuts: number;
  readonly faults: readonly string[];
}

/**
 * Kills the process of the verb at some of its requests, lets another one run the verb to its end, and answers what the
 * witnesses say against it: nothing where all is as if nobody had been killed.
 */
export function killAt(given: CutVerb): Promise<CutReport> {
  return runAgain(given, (requests) =>
    everyDeath(requests).map((death) => ({
      how: `dead after ${death.after} requests, the next one ${death.reaches ? 'sent' : 'not sent'}`,
      around: dieAt(death),
      again: ({ site }) => newProcess(site),
    })),
  );
}

/**
 * Has the store take no write from some requests of the verb on, lets the same process run it again when there is room,
 * and answers what the witnesses say against it: nothing where all is as if there had always been room.
 */
export function fillAt(given: CutVerb): Promise<CutReport> {
  return runAgain(given, (requests) =>
    Array.from({ length: requests }, (_, after) => ({
      how: `full after ${after} requests`,
      around: fullAfter(after),
      async again({ site, operator }) {
        takeTime(site, operator);
        return operator;
      },
    })),
  );
}

async function runAgain(
  { kind, verb, choose }: CutVerb,
  cutsOf: (requests: number) => readonly Cut[],
): Promise<CutReport> {
  const whole = await prepared(kind, verb);
  const before = whole.operator.calls.length;
  await verb.run(whole);
  const cuts = choose(cutsOf(whole.operator.calls.length - before));
  const expected = await look(whole);
  const faults: string[] = [];
  for (const { how, around, again } of cuts) {
    const cut = await prepared(kind, verb);
    cut.operator.intercept(around);
    await outcomeOf(() => verb.run(cut));
    const place = { ...cut, operator: await again(cut) };
    // Leases run out, and what was written is no longer young.
    await cut.site.time.pause(CUT_FOR_MS);
    const left = (await verb.judgeDeath?.(place)) ?? [];
    const { answer = [], failure } = await outcomeOf(() => verb.run(place));
    const against = (fault: unknown): void => {
      faults.push(`${how}: ${JSON.stringify(fault)}`);
    };
    const seen = await look(place);
    const known = verb.halfDone === undefined ? [] : [verb.halfDone];
    for (const fault of [...left, ...answer, ...faultsIn(place, seen, known)]) against(fault);
    for (const fault of (await verb.judge?.(place)) ?? []) against(fault);
    if (failure !== undefined && !(verb.refusals ?? []).includes(failure.code)) against({ failure });
    const [ended, unharmed] = [seen, expected].map(({ texts, keys }) => JSON.stringify({ texts, keys }));
    const isHalfDone = seen.findings.some((finding) => finding.kind === verb.halfDone);
    if (!isHalfDone && ended !== unharmed) against({ ended, unharmed });
  }
  return { cuts: cuts.length, faults };
}

const CUT_FOR_MS = 120_000;

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

/** Looks at tenants where nobody meets anybody: after the deed alone, and after verb and deed one after the other. */
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
